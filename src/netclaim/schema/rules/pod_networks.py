"""The rules for PodNetworks: the expressions of their CustomResourceDefinition, and the same here.

An API server judges a PodNetwork by the schema and the CEL expressions of its definition, which is
in the chart. Each rule has the expression and a function that gives the same answer; a test
compares the expressions with the definition, another the answers with a real API server's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from netclaim.model.api.own_kinds.pod_network import (
    ALLOWABLE,
    EVICT_AFTER,
    EVICT_AFTER_MAX,
    IFNAME_MAX,
    NAME_MAX,
    PROVIDER,
    TYPES,
)
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.refusal import Fault, invalid, missing, unsupported
from netclaim.schema.rules.claims import check_expression
from netclaim.schema.rules.names import LABEL
from netclaim.schema.rules.pods import check_requirement

VLAN_MAX: Final = 4094  # 4095 is reserved
MTU_MIN, MTU_MAX = 68, 65536  # as claims may ask for
MACVLAN_MODES: Final = ("bridge", "private", "vepa", "passthru")
IPVLAN_MODES: Final = ("l2", "l3", "l3s")
LINKED: Final = ("macvlan", "ipvlan", "vlan", "hostDevice")  # types that need a link of the node
OF_CONFIG: Final = ("mode", "bridge", "vlan", "mtu", "ipam", "routes", "dns")  # not beside `config`


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `cel` is for an API server, where `self` is the spec; `holds` is for us."""

    field: str  # of the spec, which the message is about
    cel: str
    message: str
    holds: Callable[[JsonObject], bool]


def _listed(values: tuple[str, ...]) -> str:
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"


def _type_in(*types: str) -> Callable[[JsonObject], bool]:
    return lambda spec: spec.get("type") in types


def _has_one(parent: JsonObject) -> bool:
    return ("name" in parent) != ("selector" in parent)


RULES: Final = (
    Rule(
        "type",
        f"has(self.type) || (has(self.provider) && self.provider != '{PROVIDER}')",
        f"type is required; one of {', '.join(TYPES)}",
        lambda spec: "type" in spec or spec.get("provider", PROVIDER) != PROVIDER,
    ),
    Rule(
        "parent",
        f"!has(self.type) || !(self.type in {_listed(LINKED)}) || has(self.parent)",
        "this type of network is on a link of the node; write parent.name or parent.selector",
        lambda spec: spec.get("type") not in LINKED or "parent" in spec,
    ),
    Rule(
        "parent",
        "!has(self.type) || self.type != 'bridge' || !has(self.parent)",
        "a bridge is made on the node and has no parent; leave it out",
        lambda spec: spec.get("type") != "bridge" or "parent" not in spec,
    ),
    Rule(
        "parent",
        "!has(self.parent) || has(self.parent.name) != has(self.parent.selector) ||"
        " (has(self.parent.overrides) && !has(self.parent.name))",
        "write either name or selector; both may be left out if there are overrides",
        lambda spec: (
            _has_one(spec.get("parent", {"name": ""}))
            or ("overrides" in spec["parent"] and "name" not in spec["parent"])
        ),
    ),
    Rule(
        "parent",
        "!has(self.parent) || !has(self.parent.overrides) ||"
        " self.parent.overrides.all(o, has(o.name) != has(o.selector))",
        "write either name or selector into each of the overrides",
        lambda spec: all(map(_has_one, spec.get("parent", {}).get("overrides", ()))),
    ),
    Rule(
        "vlan",
        "has(self.vlan) ? has(self.type) && self.type in ['vlan', 'bridge']"
        " : !has(self.type) || self.type != 'vlan'",
        "the type vlan needs a vlan, bridge can have one, and the others have none",
        lambda spec: (
            _type_in("vlan", "bridge")(spec) if "vlan" in spec else spec.get("type") != "vlan"
        ),
    ),
    Rule(
        "mode",
        "!has(self.mode) || (has(self.type) &&"
        f" (self.type == 'macvlan' && self.mode in {_listed(MACVLAN_MODES)} ||"
        f" self.type == 'ipvlan' && self.mode in {_listed(IPVLAN_MODES)}))",
        f"macvlan has the modes {', '.join(MACVLAN_MODES)}, and ipvlan {', '.join(IPVLAN_MODES)};"
        " the other types have none",
        lambda spec: (
            "mode" not in spec
            or (_type_in("macvlan")(spec) and spec["mode"] in MACVLAN_MODES)
            or (_type_in("ipvlan")(spec) and spec["mode"] in IPVLAN_MODES)
        ),
    ),
    Rule(
        "bridge",
        "!has(self.bridge) || (has(self.type) && self.type == 'bridge')",
        "only a network of the type bridge has it",
        lambda spec: "bridge" not in spec or spec.get("type") == "bridge",
    ),
    Rule(
        "config",
        "has(self.config) == (has(self.type) && self.type == 'cni')",
        "a network of the type cni has a CNI configuration in config, and no other type has one",
        lambda spec: ("config" in spec) == (spec.get("type") == "cni"),
    ),
    Rule(
        "config",
        "!has(self.config) || !(" + " || ".join(f"has(self.{field})" for field in OF_CONFIG) + ")",
        f"write {', '.join(OF_CONFIG)} into the configuration itself",
        lambda spec: "config" not in spec or not any(field in spec for field in OF_CONFIG),
    ),
    Rule(
        "routes",
        "!has(self.routes) || has(self.ipam)",
        "routes need addresses; write ipam too",
        lambda spec: "routes" not in spec or "ipam" in spec,
    ),
)
NAME_CEL: Final = (
    "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')"
    f" && size(self.metadata.name) <= {NAME_MAX}"
)
NAME_MESSAGE: Final = "the name of a network is a DNS label: it becomes the name of a request"
IFNAME_CEL: Final = f"has(self.spec.ifName) || size(self.metadata.name) <= {IFNAME_MAX}"
IFNAME_MESSAGE: Final = (
    f"an interface's name has at most {IFNAME_MAX} characters, and the network's has more;"
    " write spec.ifName"
)


def check_pod_network(obj: JsonObject, at: Path) -> Iterator[Fault]:
    """Yield what is wrong with a PodNetwork; `at` is the path of its spec."""
    name, spec = str(obj["metadata"].get("name", "")), obj.get("spec", {})
    if "spec" not in obj:
        yield missing(at)
        return
    if name and not (LABEL.fullmatch(name) and len(name) <= NAME_MAX):
        yield invalid(("metadata", "name"), name, NAME_MESSAGE)
    if "ifName" not in spec and len(name) > IFNAME_MAX:
        yield invalid((*at, "ifName"), "", IFNAME_MESSAGE)
    yield from _check_values(spec, at)
    for rule in RULES:
        if not rule.holds(spec):
            yield invalid((*at, rule.field), spec.get(rule.field), rule.message)


def _check_values(spec: JsonObject, at: Path) -> Iterator[Fault]:
    """Check each field by itself, as the schema of the definition does."""
    if "type" in spec and spec["type"] not in TYPES:
        yield unsupported((*at, "type"), spec["type"], TYPES)
    for index, key in enumerate(spec.get("allow", ())):
        if key not in ALLOWABLE:
            yield unsupported((*at, "allow", index), key, ALLOWABLE)
    if not 1 <= spec.get("vlan", 1) <= VLAN_MAX:
        yield invalid((*at, "vlan"), spec["vlan"], f"must be from 1 to {VLAN_MAX}")
    if not MTU_MIN <= spec.get("mtu", MTU_MIN) <= MTU_MAX:
        yield invalid((*at, "mtu"), spec["mtu"], f"must be from {MTU_MIN} to {MTU_MAX}")
    if not 1 <= (seconds := spec.get(EVICT_AFTER, 1)) <= EVICT_AFTER_MAX:
        yield invalid((*at, EVICT_AFTER), seconds, f"must be from 1 to {EVICT_AFTER_MAX}")
    if not 1 <= len(spec.get("ifName", "-")) <= IFNAME_MAX:
        yield invalid((*at, "ifName"), spec["ifName"], f"must have 1 to {IFNAME_MAX} characters")
    yield from _check_objects(spec, at)


def _check_objects(spec: JsonObject, at: Path) -> Iterator[Fault]:
    for field in ("ipam", "settings", "config"):
        value: Any = spec.get(field, {})
        if not isinstance(value, dict):
            yield invalid((*at, field), value, "must be an object")
        elif field == "ipam" and field in spec and not isinstance(value.get("type"), str):
            yield missing((*at, field, "type"))
    for index, route in enumerate(spec.get("routes", ())):
        if not route.get("dst"):
            yield missing((*at, "routes", index, "dst"))
    yield from _check_parent(spec.get("parent", {}), (*at, "parent"))
    for index, wanted in enumerate(spec.get("namespaces", {}).get("matchExpressions", ())):
        yield from check_requirement(wanted, (*at, "namespaces", "matchExpressions", index))


def _check_parent(parent: JsonObject, at: Path) -> Iterator[Fault]:
    if expression := parent.get("selector"):
        yield from check_expression(expression, (*at, "selector"))
    for index, each in enumerate(parent.get("overrides", ())):
        where: Path = (*at, "overrides", index)
        if "nodeSelector" not in each:
            yield missing((*where, "nodeSelector"))
        for number, wanted in enumerate(each.get("nodeSelector", {}).get("matchExpressions", ())):
            path = (*where, "nodeSelector", "matchExpressions", number)
            yield from check_requirement(wanted, path)
        if expression := each.get("selector"):
            yield from check_expression(expression, (*where, "selector"))
