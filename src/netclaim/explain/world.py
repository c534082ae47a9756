"""The objects of a cluster or of files, as what decides about claims.

Promise: all values are frozen; an object that is not what its kind says is a RequestError, with
file and line if it is from a file. A node that slices name, but no Node object describes, has no
label but its name. Limit: of what a pod requires of its node, it reads nodeSelector, required node
affinity and tolerations.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from netclaim.allocator import (
    AllocationError,
    Claim,
    Node,
    Slice,
    with_rules,
)
from netclaim.allocator.objects.extended import Wish, extended_resources, offered
from netclaim.allocator.objects.node import required_affinity, selector_matches
from netclaim.check.networks import made_of_networks, withheld
from netclaim.errors import RequestError
from netclaim.manifests.kinds import POD_SPECS, SCALED
from netclaim.manifests.objects import Object, ObjectKey
from netclaim.model.api.base import JsonObject
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.dra.taint import KEEPS_AWAY, DeviceTaintRule, Taint, Toleration
from netclaim.model.on_node.pod import ENDED

T = TypeVar("T")

HOSTNAME: Final = "kubernetes.io/hostname"  # kubelet gives every node this label, with its name
# What the DaemonSet controller adds to each of its pods.
DAEMON_TOLERATIONS: Final = tuple(
    Toleration(key=f"node.kubernetes.io/{name}", operator="Exists", value="", effect=effect)
    for name, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)


@dataclass(frozen=True, slots=True)
class Use:
    """How a pod names a claim: by its name, or by that of a template."""

    entry: str
    claim: str = ""
    template: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A node, and what keeps pods away from it."""

    node: Node
    taints: tuple[Taint, ...] = ()
    cordoned: bool = False


@dataclass(frozen=True, slots=True)
class Workload:
    """A pod, or what makes pods that are all alike."""

    key: ObjectKey
    uses: tuple[Use, ...]
    replicas: int = 1  # at a time
    on_every_node: bool = False  # one pod for each node that takes it, whatever `replicas` says
    over: bool = False
    node_name: str = ""
    node_selector: Mapping[str, str] | None = None
    node_affinity: JsonObject | None = None  # the terms that are required
    tolerations: tuple[Toleration, ...] = ()
    wishes: tuple[Wish, ...] = ()  # for extended resources, unless a claim was made of them

    def refuses(self, place: Place) -> str:
        """Say why its pods cannot be on a node, whatever devices that has; empty if they can."""
        for label, value in (self.node_selector or {}).items():
            if place.node.labels.get(label) != value:
                return f"the node does not have the label {label}={value} of nodeSelector"
        if obstacle := self._stays_away_from(place.node):
            return obstacle
        if place.cordoned and not self.on_every_node:
            return "the node is cordoned"
        for taint in place.taints:
            if not any(one.tolerates(taint) for one in self.tolerations):
                value = f"={taint.value}" if taint.value else ""
                return f"the pod does not tolerate taint {taint.key}{value}:{taint.effect}"
        return ""

    def _stays_away_from(self, node: Node) -> str:
        try:
            if self.node_affinity is None or selector_matches(self.node_affinity, node):
                return ""
        except (AllocationError, KeyError) as error:
            return f"the required node affinity cannot be read: {error}"
        return "the node does not match the required node affinity"


@dataclass(frozen=True, slots=True)
class World:
    """Everything that decides about claims; claims, templates and workloads are by their names."""

    slices: tuple[Slice, ...]
    classes: tuple[DeviceClass, ...]
    places: tuple[Place, ...]
    claims: Mapping[ObjectKey, Claim]
    templates: Mapping[ObjectKey, Claim]  # each as a claim of its name
    workloads: Mapping[ObjectKey, Workload]
    users: Mapping[ObjectKey, tuple[str, ...]]  # for whom claims are reserved
    offered: Mapping[str, str]  # extended resources, with the class of each
    withheld: Mapping[ObjectKey, str]  # templates of networks that there are not, and why


def read_world(found: Iterable[Object]) -> World:
    """Read objects; of two with the same name, the later one counts.

    What the controller would make of PodNetworks is there, if it is not in the objects already.
    """
    found = tuple(found)
    known = [one for one in found if one.is_known or one.is_taint_rule]
    by_key = {one.key: one for one in (*known, *made_of_networks(found))}

    def read(kind: str, reader: Callable[[Mapping[str, Any]], T]) -> dict[ObjectKey, T]:
        return {key: _read(one, reader) for key, one in by_key.items() if key.kind == kind}

    rules = read("DeviceTaintRule", DeviceTaintRule.read).values()
    slices = tuple(with_rules(read("ResourceSlice", Slice.read).values(), rules))
    classes = tuple(read("DeviceClass", DeviceClass.read).values())
    workloads = {key: one for kind in POD_SPECS for key, one in read(kind, _workload).items()}
    return World(
        slices=slices,
        classes=classes,
        places=tuple(_places(read("Node", _place).values(), slices)),
        claims=read("ResourceClaim", Claim.read),
        templates=read("ResourceClaimTemplate", _template),
        workloads=workloads,
        users=read("ResourceClaim", _users),
        offered=offered(classes),
        withheld=withheld(found),
    )


def _read(found: Object, reader: Callable[[Mapping[str, Any]], T]) -> T:
    try:
        return reader(found.object)
    except RequestError as error:
        title = f": {found.kind} {found.name}" if found.document is not None else ""
        raise RequestError(f"{found.where()}{title}: {error}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RequestError(
            f"{found.where()}: not a valid {found.kind}: a field is missing or of the wrong type;"
            " `netclaim check` shows which"
        ) from error


def _places(known: Iterable[Place], slices: Iterable[Slice]) -> Iterable[Place]:
    """Yield the nodes, including those that only slices name."""
    names = set()
    for place in known:
        names.add(place.node.name)
        yield place
    for one in slices:
        if one.nodes.name and one.nodes.name not in names:
            names.add(one.nodes.name)
            yield Place(Node(one.nodes.name, {HOSTNAME: one.nodes.name}))


def _place(obj: Mapping[str, Any]) -> Place:
    spec = obj.get("spec") or {}
    taints = map(Taint.read, spec.get("taints") or ())
    kept = tuple(taint for taint in taints if taint.effect in KEEPS_AWAY)
    return Place(Node.read(obj), kept, bool(spec.get("unschedulable")))


def _template(obj: Mapping[str, Any]) -> Claim:
    meta = obj["metadata"]
    named = {"name": meta["name"], "namespace": meta.get("namespace") or ""}
    return Claim.read({"metadata": named, "spec": obj["spec"].get("spec") or {}})


def _users(obj: Mapping[str, Any]) -> tuple[str, ...]:
    reserved = ResourceClaim.read(obj).status.reserved_for
    return tuple(f"{one.resource.removesuffix('s')} {one.name}" for one in reserved)


def _workload(obj: Mapping[str, Any]) -> Workload:
    kind = obj["kind"]
    spec = obj
    for step in POD_SPECS[kind]:
        spec = spec.get(str(step)) or {}
    status = obj.get("status") or {}
    made = {
        one["name"]: one.get("resourceClaimName") or ""
        for one in (status.get("resourceClaimStatuses") or () if kind == "Pod" else ())
    }
    tolerations = tuple(Toleration.read(one) for one in spec.get("tolerations") or ())
    uses = [_use(one, made) for one in spec.get("resourceClaims") or ()]
    extended = (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName") or ""
    if extended:
        uses.append(Use("extended-resources", extended))
    return Workload(
        key=Object({}, dict(obj)).key,
        uses=tuple(uses),
        replicas=_replicas(obj),
        on_every_node=kind == "DaemonSet",
        over=kind == "Pod" and status.get("phase") in ENDED,
        node_name=spec.get("nodeName") or "",
        node_selector=dict(spec.get("nodeSelector") or {}),
        node_affinity=required_affinity(spec),
        tolerations=(*tolerations, *(DAEMON_TOLERATIONS if kind == "DaemonSet" else ())),
        wishes=() if extended else tuple(wish for wish in extended_resources(spec) if wish.amount),
    )


def _replicas(obj: Mapping[str, Any]) -> int:
    """Return how many pods there are at a time."""
    spec = obj.get("spec") or {}
    if obj["kind"] in SCALED:
        return _number(spec.get("replicas"), 1)
    if obj["kind"] == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    if obj["kind"] in ("Job", "CronJob"):
        at_a_time = _number(spec.get("parallelism"), 1)
        return min(at_a_time, _number(spec.get("completions"), at_a_time))
    return 1


def _number(value: Any, default: int) -> int:
    return default if value is None else int(value)


def _use(obj: Mapping[str, Any], made: Mapping[str, str]) -> Use:
    claim = obj.get("resourceClaimName") or made.get(obj["name"]) or ""
    return Use(obj["name"], claim, obj.get("resourceClaimTemplateName") or "")
