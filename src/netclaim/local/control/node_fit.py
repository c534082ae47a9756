"""Which nodes accept a pod, before devices are considered: labels, affinity, taints.

Promise: required terms mean what they mean to kube-scheduler. Limit: preferences, and affinity
between pods, are ignored. No I/O.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from netclaim.allocator import AllocationError, Node
from netclaim.allocator.objects.node import required_affinity, selector_matches
from netclaim.model.api.dra.taint import KEEPS_AWAY, Taint, Toleration
from netclaim.model.claims.claim import JsonObject


def node_takes(spec: JsonObject, node: JsonObject) -> bool:
    """Whether a node accepts pods with this spec."""
    return not _obstacle(spec, node)


def why_no_node(spec: JsonObject, nodes: Sequence[JsonObject]) -> str:
    """Return why none of the nodes accepts a pod: each reason once, with its nodes."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(_obstacle(spec, node), []).append(node["metadata"]["name"])
    message = "; ".join(f"{reason} ({', '.join(names)})" for reason, names in found.items())
    return f"0/{len(nodes)} nodes are available: {message}"


def _obstacle(spec: JsonObject, node: JsonObject) -> str:
    """Return what keeps pods with this spec off a node; empty if nothing does."""
    wanted = spec.get("nodeSelector") or {}
    labels = node["metadata"].get("labels") or {}
    wrong = [key for key, value in wanted.items() if labels.get(key) != value]
    if wrong:
        message = ", ".join(_label(key, wanted[key], labels) for key in wrong)
        return f"nodeSelector does not match: {message}"
    required = required_affinity(spec)
    if required is not None:
        try:
            if not selector_matches(required, Node.read(node)):
                return f"required node affinity does not match: {_terms(required)}"
        except (AllocationError, KeyError) as error:
            return f"required node affinity is invalid: {error}"
    tolerations = [Toleration.read(one) for one in spec.get("tolerations") or ()]
    for taint in map(Taint.read, node.get("spec", {}).get("taints", ())):
        if taint.effect in KEEPS_AWAY and not any(t.tolerates(taint) for t in tolerations):
            return f"taint {taint.key}:{taint.effect} is not tolerated"
    return ""


def _label(key: str, value: str, labels: Mapping[str, str]) -> str:
    return f"label {key} is {labels.get(key, 'missing')}, wanted {value}"


def _terms(required: Mapping[str, Any]) -> str:
    """Describe the terms of a node selector."""
    terms = []
    for term in required.get("nodeSelectorTerms") or ():
        parts = [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
        terms.append(" and ".join(map(_requirement, parts)) or "an empty term")
    return " or ".join(terms) or "no terms"


def _requirement(one: Mapping[str, Any]) -> str:
    values = ", ".join(one.get("values") or ())
    return f"{one.get('key')} {one.get('operator')}" + (f" [{values}]" if values else "")
