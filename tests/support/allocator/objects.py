"""Objects for allocators, ours and the real one: v1, and valid to the API server.

`Names` keeps cases apart that share a cluster: the driver's name is in everything that is not
namespaced, so claims of one case cannot see the devices of another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from netclaim.allocator import (
    Allocator,
    Claim,
    Holders,
    Node,
    Slice,
    with_rules,
)
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.dra.taint import DeviceTaintRule

Object: TypeAlias = dict[str, Any]
Answer: TypeAlias = list[list[str]] | str | None  # results by claim; "error"; or it cannot be

API = "resource.k8s.io/v1"
ZONES = {"a": "one", "b": "one", "c": "two"}


@dataclass(frozen=True)
class Names:
    """How a case calls what others must not meet."""

    driver: str = "dra.example.com"
    node_prefix: str = "node-"
    claim_prefix: str = ""

    def node(self, letter: str) -> str:
        """Return the full name of node `a`, `b` or `c`."""
        return f"{self.node_prefix}{letter}"

    def nodes(self) -> list[Object]:
        """Return the three nodes; a and b are in zone one, c is in zone two."""
        return [node_object(self.node(letter), zone) for letter, zone in ZONES.items()]


@dataclass(frozen=True)
class Case:
    """What an allocator is given. `held` claims are allocated already."""

    slices: Sequence[Object]
    classes: Sequence[Object]
    claims: Sequence[Object]
    held: Sequence[Object]
    nodes: Sequence[Object]
    fractional: bool = False  # the feature DRAFractionalCapacityRange
    rules: Sequence[Object] = ()  # DeviceTaintRules

    def allocator(self) -> Allocator:
        """Return our allocator on these objects."""
        return Allocator(
            with_rules(map(Slice.read, self.slices), map(DeviceTaintRule.read, self.rules)),
            [DeviceClass.read(one) for one in self.classes],
            Holders(Claim.read(one) for one in self.held),
            fractional=self.fractional,
        )

    def read_claims(self) -> list[Claim]:
        """Return the claims to allocate."""
        return [Claim.read(one) for one in self.claims]

    def read_nodes(self) -> list[Node]:
        """Return the nodes, in order."""
        return [Node.read(one) for one in self.nodes]

    @property
    def wants_all(self) -> bool:
        """Whether a request is for all devices, which any broken pool fails."""
        groups = (group for claim in self.read_claims() for group in claim.requests)
        return any(request.mode == "All" for group in groups for request in group)

    @property
    def broken(self) -> bool:
        """Whether a node can see a pool that is incomplete or invalid."""
        matcher = self.allocator().matcher
        return any(not pool.usable for node in self.read_nodes() for pool in matcher.pools(node))

    def answers(self, shown: Callable[[Object], list[str]] | None = None) -> dict[str, Answer]:
        """Return what our allocator says for each node; by `results` unless told."""
        show = shown or results
        decision = self.allocator().decide(self.read_claims(), self.read_nodes())
        said: dict[str, Answer] = {one["metadata"]["name"]: None for one in self.nodes}
        said |= dict.fromkeys(decision.failures, "error")
        for node, placement in decision.placements.items():
            said[node] = [show(one.object) for one in placement.allocations()]
        return said


def results(allocation: Object) -> list[str]:
    """Return an allocation's results in short: `request=pool/device`, and what is consumed."""
    found = allocation["devices"]["results"]
    return [
        " ".join([f"{one['request']}={one['pool']}/{one['device']}", *_consumed(one)])
        for one in found
    ]


def _consumed(result: Object) -> list[str]:
    consumed = result.get("consumedCapacity") or {}
    return [f"{name}={amount}" for name, amount in sorted(consumed.items())]


def results_and_config(allocation: Object) -> list[str]:
    """Return also whose configuration is for which requests: `FromClaim claim 0 for r0`."""
    config = [
        f"{one['source']} {one['opaque']['parameters']['by']}"
        f" for {','.join(one.get('requests', ['all']))}"
        for one in allocation["devices"].get("config", ())
    ]
    return [*results(allocation), *config]


def node_object(name: str, zone: str) -> Object:
    """Return a node with a zone."""
    labels = {"kubernetes.io/hostname": name, "zone": zone}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def device(name: str, attributes: Mapping[str, Any] | None = None, **fields: Any) -> Object:
    """Return a device; an attribute's type is that of its value, a `v1.2.3` is a version."""
    typed = {key: _attribute(value) for key, value in (attributes or {}).items()}
    return {"name": name, "attributes": typed, **fields}


def _attribute(value: bool | int | str) -> Object:
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    return {"version": value[1:]} if value.startswith("v") else {"string": value}


def slice_object(
    names: Names,
    pool: str,
    where: Object,
    devices: Sequence[Object],
    *,
    order: int = 0,
    generation: int = 1,
    count: int = 1,
) -> Object:
    """Return a slice of a pool; slices are tried by `order`."""
    spec = {
        "driver": names.driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
        **where,
        "devices": list(devices),
    }
    name = f"{order}-{pool}-{generation}-{names.driver}"
    return {"apiVersion": API, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def counter_slice(
    names: Names,
    pool: str,
    where: Object,
    counters: Sequence[Object],
    generation: int = 1,
    count: int = 2,
) -> Object:
    """Return a slice of a pool that holds counters, which are `count` slices with this one."""
    made = slice_object(names, pool, where, (), order=5, generation=generation, count=count)
    made["metadata"]["name"] = f"counters-{made['metadata']['name']}"
    del made["spec"]["devices"]
    made["spec"]["sharedCounters"] = list(counters)
    return made


def rule_object(names: Names, number: int, taint: Object, **selector: str) -> Object:
    """Return a DeviceTaintRule for devices of the driver."""
    name = f"rule-{number}-{names.driver}"
    spec = {"deviceSelector": {"driver": names.driver, **selector}, "taint": taint}
    return {"apiVersion": API, "kind": "DeviceTaintRule", "metadata": {"name": name}, "spec": spec}


def in_zone(zone: str) -> Object:
    """Return a node selector for a zone."""
    requirement = {"key": "zone", "operator": "In", "values": [zone]}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}


def classes(names: Names) -> list[Object]:
    """Return the classes `any`, which brings configuration, and `fast`."""
    ours = f'device.driver == "{names.driver}"'
    fast = f'device.attributes["{names.driver}"].kind == "fast"'
    config = [{"opaque": {"driver": names.driver, "parameters": {"by": "class"}}}]
    return [
        class_object(f"any.{names.driver}", [ours], config),
        class_object(f"fast.{names.driver}", [ours, fast], []),
    ]


def class_object(name: str, expressions: Sequence[str], config: Sequence[Object]) -> Object:
    """Return a device class."""
    spec: Object = {"selectors": [{"cel": {"expression": text}} for text in expressions]}
    if config:
        spec["config"] = list(config)
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def exact(
    names: Names,
    *expressions: str,
    of: str = "any",
    count: int = 1,
    everything: bool = False,
    **fields: Any,
) -> Object:
    """Return what stands under `exactly`, or with a name in `firstAvailable`.

    `MINE` in an expression is the driver's attributes.
    """
    mine = f'device.attributes["{names.driver}"]'
    wanted: Object = {"deviceClassName": f"{of}.{names.driver}", **fields}
    wanted |= {"allocationMode": "All"} if everything else {"count": count}
    if expressions:
        texts = [text.replace("MINE", mine) for text in expressions]
        wanted["selectors"] = [{"cel": {"expression": text}} for text in texts]
    return wanted


def claim_object(
    names: Names, requests: Sequence[Object], index: int = 0, **devices: Any
) -> Object:
    """Return a claim; `devices` are constraints and config."""
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": f"{names.claim_prefix}claim-{index}", "namespace": "default"},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def held_claim(names: Names, devices: Sequence[tuple[str, str]]) -> Object:
    """Return a claim that has devices of these pools."""
    results = [{"request": "r0", "pool": pool, "device": name} for pool, name in devices]
    return held_results(names, results)


def held_results(names: Names, found: Sequence[Object]) -> Object:
    """Return a claim with such results, which need no driver."""
    results = [{**one, "driver": names.driver} for one in found]
    request = {"name": "r0", "exactly": exact(names, count=max(1, len(results)))}
    held = claim_object(names, [request])
    held["metadata"] |= {"name": f"{names.claim_prefix}held", "uid": "held"}
    return {**held, "status": {"allocation": {"devices": {"results": results}}}}
