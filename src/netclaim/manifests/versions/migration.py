"""Convert a manifest of any age of resource.k8s.io to one version, and report what is lost.

A remark that is `lost` means that the result asks for less than the original did: the caller must
not hide it. Limit: fields are judged by the newest schema of a version (v1alpha3 as of 1.33, the
others as of 1.37); an older release of Kubernetes may know fewer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from netclaim.manifests.fields import ShapeError, edit, find, without
from netclaim.manifests.kinds import GROUP, KINDS, POD_SPECS
from netclaim.manifests.near import near
from netclaim.manifests.versions.conversion import VERSIONS, Version, from_v1, is_version, to_v1
from netclaim.manifests.versions.legacy import (
    DEAD_KINDS,
    DEAD_VERSIONS,
    INSTEAD_OF_SUITABLE_NODES,
    rename_poc_status,
    revive,
)
from netclaim.manifests.versions.remark import Migrated, Remark
from netclaim.model.api.own_kinds.pod_network import API_VERSION as NETWORK_API_VERSION
from netclaim.model.api.own_kinds.pod_network import KIND as NETWORK_KIND
from netclaim.model.api.own_kinds.pod_network import SEEDS_API_VERSION
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path

# Kinds of their own: they have no v1 and are not part of any claim.
APART: Final = ("DeviceTaintRule", "ResourcePoolStatusRequest")


@dataclass(frozen=True, slots=True)
class _Rule:
    """Fields to leave out, and the remark about them."""

    pattern: str
    text: str
    lost: bool = True
    around: int = 0  # how many levels above the field must go with it to leave a valid object


_NO_CONTROLLER = "removed in 1.32: the scheduler allocates every claim, from ResourceSlices"
# v1alpha3 as of 1.31 only, by kind.
REMOVED: Final[Mapping[str, tuple[_Rule, ...]]] = {
    "DeviceClass": (_Rule("spec.suitableNodes", f"removed in 1.32: {INSTEAD_OF_SUITABLE_NODES}"),),
    "ResourceClaim": (
        _Rule("spec.controller", _NO_CONTROLLER, lost=False),
        _Rule("status.deallocationRequested", _NO_CONTROLLER, lost=False),
        _Rule("status.allocation.controller", _NO_CONTROLLER, lost=False),
    ),
    "ResourceClaimTemplate": (_Rule("spec.spec.controller", _NO_CONTROLLER, lost=False),),
    "ResourceSlice": (),
}


def _newer(*patterns: str, around: int = 0) -> tuple[_Rule, ...]:
    return tuple(_Rule(p, "v1alpha3 does not have this field", around=around) for p in patterns)


def _newer_in_claim(spec: str) -> tuple[_Rule, ...]:
    return (
        *_newer(f"{spec}.devices.requests.*.exactly.capacity"),
        *_newer(f"{spec}.devices.requests.*.firstAvailable.*.capacity"),
        *_newer(f"{spec}.devices.requests.*.exactly.derivedAttributes"),
        *_newer(f"{spec}.devices.requests.*.firstAvailable.*.derivedAttributes"),
        *_newer(f"{spec}.devices.constraints.*.distinctAttribute", around=1),
    )


# In v1's form, what v1alpha3 never had, by kind.
NEWER: Final[Mapping[str, tuple[_Rule, ...]]] = {
    "DeviceClass": _newer("spec.extendedResourceName"),
    "ResourceClaim": (
        *_newer_in_claim("spec"),
        *_newer(
            "status.allocation.allocationTimestamp",
            "status.allocation.devices.results.*.shareID",
            "status.allocation.devices.results.*.consumedCapacity",
            "status.allocation.devices.results.*.bindingConditions",
            "status.allocation.devices.results.*.bindingFailureConditions",
            "status.allocation.devices.results.*.skipNodeOperations",
            "status.devices.*.shareID",
        ),
    ),
    "ResourceClaimTemplate": _newer_in_claim("spec.spec"),
    "ResourceSlice": (
        *_newer(
            "spec.devices.*.allowMultipleAllocations",
            "spec.devices.*.bindsToNode",
            "spec.devices.*.bindingConditions",
            "spec.devices.*.bindingFailureConditions",
            "spec.devices.*.nodeAllocatableResourceMappings",
            "spec.devices.*.nodeAllocatableResources",
            "spec.devices.*.consumesCounters.*.compatibilityGroups",
            "spec.partitionTypeAttribute",
            "spec.skipNodeOperations",
            "spec.devices.*.capacity.*.requestPolicy",
        ),
        *_newer(
            "spec.devices.*.attributes.*.bools",
            "spec.devices.*.attributes.*.ints",
            "spec.devices.*.attributes.*.strings",
            "spec.devices.*.attributes.*.versions",
            around=1,
        ),
    ),
}


def migrate(found: JsonObject, to: Version) -> Migrated:
    """Return an object, or a list of objects, in the version `to`; other groups as they are."""
    kind = found.get("kind")
    group, _, version = str(found.get("apiVersion")).partition("/")
    if kind == "List":  # as `kubectl get -o yaml` prints several objects
        return _migrate_list(found, to)
    if group != GROUP:
        return _newer_pod(_in_our_group(found))
    if kind in APART:
        remark = Remark(("kind",), f"left as it is: a {kind} has its own versions")
        return Migrated(found, (remark,))
    if kind == "DeviceClass" and version in DEAD_VERSIONS:
        raise ShapeError(f"{version} has no {kind}, but a ResourceClass; write v1", ("apiVersion",))
    if kind in DEAD_KINDS or (kind in KINDS and version in DEAD_VERSIONS):
        revived = revive(found, kind)
        if revived.object is None:
            return revived
        return _to_version(revived.object, revived.object["kind"], to, revived.remarks)
    if kind is None:
        raise ShapeError(f"kind is missing; {GROUP} has {', '.join(KINDS)}", ("kind",))
    if kind not in KINDS:
        guess = near(str(kind), KINDS)
        meant = f'did you mean "{guess}"?' if guess else f"it has {', '.join(KINDS)}"
        raise ShapeError(f"{GROUP} has no kind {kind!r}; {meant}", ("kind",))
    if not is_version(version):
        raise ShapeError(
            f"{GROUP} has no version {version!r}; it has {', '.join(VERSIONS)}", ("apiVersion",)
        )
    kept, removed = _apply(REMOVED[kind] if version == "v1alpha3" else (), found)
    kept, renamed = rename_poc_status(kept)
    return _to_version(to_v1(kept, kind, version), kind, to, (*removed, *renamed))


def _in_our_group(found: JsonObject) -> JsonObject:
    """A PodNetwork as talks about KEP-3698 spell it becomes one of our group."""
    seeds = (found.get("apiVersion"), found.get("kind")) == (SEEDS_API_VERSION, NETWORK_KIND)
    return {**found, "apiVersion": NETWORK_API_VERSION} if seeds else found


def _to_version(found: JsonObject, kind: str, to: Version, remarks: tuple[Remark, ...]) -> Migrated:
    if to == "v1alpha3":
        found, lost = _apply(NEWER[kind], found)
        remarks = (*remarks, *lost)
    return Migrated(from_v1(found, kind, to), remarks)


def _migrate_list(found: JsonObject, to: Version) -> Migrated:
    if not isinstance(found.get("items"), list):
        return Migrated(found)
    items: list[JsonObject] = []
    remarks: list[Remark] = []
    for index, item in enumerate(found["items"]):
        at: Path = ("items", index)
        if not isinstance(item, dict):
            raise ShapeError("is not an object", at)
        try:
            migrated = migrate(item, to)
        except ShapeError as error:
            raise ShapeError(error.message, (*at, *error.path)) from error
        remarks += [Remark((*at, *r.path), r.text, r.lost) for r in migrated.remarks]
        if migrated.object is not None:
            items.append(migrated.object)
    return Migrated({**found, "items": items}, tuple(remarks))


def _newer_pod(found: JsonObject) -> Migrated:
    """Return a pod, or a workload with a pod template, that names its claims as since 1.31."""
    remarks: list[Remark] = []

    def lift(entry: Any, at: Path) -> Any:
        if not isinstance(entry, dict) or "source" not in entry:
            return entry
        source = entry["source"] or {}
        if not isinstance(source, dict):
            raise ShapeError("is not an object", (*at, "source"))
        remarks.append(
            Remark((*at, "source"), "removed in 1.31; its content is now next to the name")
        )
        return {key: value for key, value in entry.items() if key != "source"} | source

    for spec in dict.fromkeys(POD_SPECS.values()):
        pattern = f"{'.'.join(map(str, spec))}.resourceClaims"
        if any(find(found, pattern)):
            found = edit(found, f"{pattern}.*", lift)
    return Migrated(found, tuple(remarks))


def _apply(rules: tuple[_Rule, ...], found: JsonObject) -> tuple[JsonObject, tuple[Remark, ...]]:
    """Leave out what the rules find, and remark on each."""
    hits = [(rule, path) for rule in rules for path in find(found, rule.pattern)]
    kept = without(found, {path[: len(path) - rule.around] for rule, path in hits})
    return kept, tuple(Remark(path, rule.text, rule.lost) for rule, path in hits)
