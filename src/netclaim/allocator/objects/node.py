"""Nodes, and what chooses among them: a name, labels, or all of them.

Promise: a node selector means what it means to the scheduler: its terms are alternatives, an empty
term chooses nothing, every requirement of a term has to hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from netclaim.allocator.errors import AllocationError
from netclaim.model.api.base import JsonObject, ObjectError
from netclaim.model.api.dra.slice import NodeScope

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"  # beside preferences
NAME_FIELD: Final = "metadata.name"  # the only field of a node that can be selected by


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node, as far as allocation needs it."""

    name: str
    labels: Mapping[str, str]

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> "Node":
        try:
            meta = obj["metadata"]
            return cls(meta["name"], dict(meta.get("labels") or {}))
        except (KeyError, TypeError, AttributeError) as error:
            raise ObjectError("Node", repr(error)) from error


@dataclass(frozen=True, slots=True, eq=False)
class NodeChoice:
    """The nodes from which devices can be used; without any choice, none."""

    name: str = ""
    everywhere: bool = False
    selector: JsonObject | None = None

    @classmethod
    def of(cls, scope: NodeScope) -> "NodeChoice":
        return cls(scope.node_name, scope.all_nodes, scope.node_selector)

    @property
    def chosen(self) -> bool:
        return bool(self.name) or self.everywhere or self.selector is not None

    def matches(self, node: Node) -> bool:
        if self.name:
            return node.name == self.name
        if self.everywhere:
            return True
        return self.selector is not None and selector_matches(self.selector, node)


def required_affinity(spec: Mapping[str, Any]) -> JsonObject | None:
    """Return the node selector that a pod's spec requires; None if it requires none."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    found: JsonObject | None = affinity.get(REQUIRED)
    return found


def selector_matches(selector: Mapping[str, Any], node: Node) -> bool:
    """Whether a v1 NodeSelector chooses a node."""
    return any(_term_matches(term, node) for term in selector.get("nodeSelectorTerms") or ())


def _term_matches(term: Mapping[str, Any], node: Node) -> bool:
    by_label = term.get("matchExpressions") or ()
    by_field = term.get("matchFields") or ()
    if not by_label and not by_field:
        return False
    fields = {NAME_FIELD: node.name}
    return all(_holds(one, node.labels) for one in by_label) and all(
        _holds(one, fields) for one in by_field
    )


def _holds(requirement: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    value = values.get(requirement["key"])
    listed = requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return value in listed
        case "NotIn":
            return value not in listed
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, value, listed)
    raise AllocationError(f"a node selector has the unknown operator {requirement['operator']!r}")


def _compares(operator: str, value: str | None, listed: Any) -> bool:
    try:
        number, limit = int(value or ""), int(listed[0])
    except (ValueError, IndexError):
        return False
    return number > limit if operator == "Gt" else number < limit
