"""The kinds and versions of resource.k8s.io that no longer exist, and what replaced them.

v1alpha1 (Kubernetes 1.26) and v1alpha2 (1.27 to 1.30) had a class with a driver's name, claims for
one class, and parameters in objects of their own. Since 1.31 a class is a DeviceClass with
selectors, a claim has requests, and both hold parameters. A driver's controller in the control
plane, with PodSchedulingContext between it and the scheduler, was removed in 1.32.

Promise: a result is in v1, and valid for an API server if the original was. Limit: CEL of
v1alpha2 (`attributes.string["x"]`) and parameters in other objects are named, never rewritten.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from netclaim.manifests.fields import ShapeError, edit, find
from netclaim.manifests.kinds import CLAIM_SPECS, GROUP
from netclaim.manifests.versions.remark import Migrated, Remark
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path

INSTEAD_OF_SUITABLE_NODES: Final = (
    "the driver's ResourceSlices say where devices are; a pod's nodeSelector can limit it to some"
)
DEAD_VERSIONS: Final = ("v1alpha1", "v1alpha2")
# Fields of classes and claims that have no successor, and what to do instead.
_INTO_CLASS: Final = "removed in 1.31: put the parameters into spec.config[].opaque.parameters"
OF_CLASS: Final[Mapping[str, str]] = {
    "parametersRef": _INTO_CLASS,
    "defaultClaimParametersRef": _INTO_CLASS,
    "suitableNodes": f"removed in 1.31: {INSTEAD_OF_SUITABLE_NODES}",
    "structuredParameters": "left out: since 1.31 all parameters are structured",
}
OF_CLAIM: Final[Mapping[str, str]] = {
    "parametersRef": (
        "removed in 1.31: put the parameters into devices.config[].opaque.parameters of this claim"
    ),
    "allocationMode": "since 1.31 a claim is allocated only when a pod needs it",
}
NOT_MISSED: Final = ("structuredParameters",)
REQUEST_NAME: Final = "resource"  # a v1alpha2 claim was one unnamed request
SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def revive(found: JsonObject, kind: str) -> Migrated:
    """Return in v1 what replaces an object whose kind or version no longer exists."""
    return _REVIVERS[kind](found)


def written_path(path: Path, kind: str) -> Path:
    """Return the path in an object of these versions for a path of v1."""
    if kind == "DeviceClass" and path[:2] == ("spec", "selectors"):
        return ("driverName",)
    spec = CLAIM_SPECS.get(kind)
    if spec is not None and path[: len(spec) + 1] == (*spec, "devices"):
        return (*spec, "resourceClassName")
    return path


def rename_poc_status(found: JsonObject) -> tuple[JsonObject, tuple[Remark, ...]]:
    """Give `status.deviceStatuses`, of the fork that KEP-4817 was tried on, its final names."""
    if not list(find(found, "status.deviceStatuses")):
        return found, ()
    status = {key: value for key, value in found["status"].items() if key != "deviceStatuses"}
    renamed = edit(found, "status.deviceStatuses.*", _device_status)["status"]["deviceStatuses"]
    at: Path = ("status", "deviceStatuses")
    if "devices" in status:
        raise ShapeError("is status.devices since 1.32, which is set too; merge them", at)
    text = "left out: status.devices are identified by driver, pool and device"
    requests = [Remark(path, text) for path in find(found, "status.deviceStatuses.*.request")]
    remarks = (Remark(at, "became status.devices in 1.32"), *requests)
    return {**found, "status": {**status, "devices": renamed}}, remarks


def _device_status(entry: Any, at: Path) -> JsonObject:
    if not isinstance(entry, dict):
        raise ShapeError("is not an object", at)
    names = {"deviceInfo": "data", "networkDeviceInfo": "networkData"}
    network_names = {"interface": "interfaceName", "mac": "hardwareAddress"}
    entry = edit(entry, "networkDeviceInfo", lambda one, _: _renamed(one, network_names, at))
    return {
        key: value
        for key, value in _renamed(entry, names, at).items()
        if key != "request" and value is not None
    }


def _renamed(found: Any, names: Mapping[str, str], at: Path) -> JsonObject:
    if not isinstance(found, dict | None):
        raise ShapeError("is not an object", at)
    return {names.get(key, key): value for key, value in (found or {}).items()}


def _resource_class(found: JsonObject) -> Migrated:
    driver = found.get("driverName")
    if not isinstance(driver, str) or not driver:
        raise ShapeError("a ResourceClass needs the name of a driver", ("driverName",))
    remarks = [Remark(("kind",), "ResourceClass became DeviceClass in 1.31; driverName a selector")]
    if not SUBDOMAIN.fullmatch(driver):
        remarks.append(
            Remark(
                ("driverName",),
                f"{driver!r} cannot be the name of a driver, which must be a DNS subdomain;"
                " the selector matches no device until you correct it",
            )
        )
    metadata, moved = _class_metadata(found)
    kept = {"apiVersion", "kind", "metadata", "driverName", *(remark.path[0] for remark in moved)}
    remarks += moved
    remarks += _gone({key: found[key] for key in found if key not in kept}, OF_CLASS)
    expression = f"device.driver == {json.dumps(driver)}"
    revived = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "DeviceClass",
        **({} if metadata is None else {"metadata": metadata}),
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
    return Migrated(revived, tuple(remarks))


def _class_metadata(found: JsonObject) -> tuple[Any, list[Remark]]:
    """Return a class's metadata, also with a name that was put beside it by mistake."""
    metadata, name = found.get("metadata"), found.get("name")
    if name is None or not isinstance(metadata, dict | None) or (metadata or {}).get("name"):
        return metadata, []
    return {**(metadata or {}), "name": name}, [Remark(("name",), "moved to metadata.name")]


def _claim(found: JsonObject) -> Migrated:
    spec, remarks = _claim_spec(found.get("spec"), ("spec",))
    if "status" in found:  # written by the cluster, in terms that no longer exist
        remarks += (Remark(("status",), "left out: the cluster writes a new status"),)
    head = {key: value for key, value in found.items() if key not in ("spec", "status")}
    return Migrated({**head, "apiVersion": f"{GROUP}/v1", "spec": spec}, remarks)


def _template(found: JsonObject) -> Migrated:
    outer = found.get("spec")
    if not isinstance(outer, dict):
        raise ShapeError("is not an object", ("spec",))
    spec, remarks = _claim_spec(outer.get("spec"), ("spec", "spec"))
    return Migrated(
        {**found, "apiVersion": f"{GROUP}/v1", "spec": {**outer, "spec": spec}}, remarks
    )


def _claim_spec(spec: Any, at: Path) -> tuple[JsonObject, tuple[Remark, ...]]:
    class_name = spec.get("resourceClassName") if isinstance(spec, dict) else None
    if not isinstance(class_name, str) or not class_name:
        raise ShapeError("a claim of this version needs a resourceClassName", at)
    text = f"became deviceClassName of a request in 1.31; the request is named {REQUEST_NAME!r}"
    remarks = [Remark((*at, "resourceClassName"), text)]
    is_usual = spec.get("allocationMode") == "WaitForFirstConsumer"
    usual = Remark((*at, "allocationMode"), "left out: since 1.31 every claim waits for its pod")
    remarks += [usual] if is_usual else []
    known = ("resourceClassName", "allocationMode") if is_usual else ("resourceClassName",)
    remarks += _gone({key: spec[key] for key in spec if key not in known}, OF_CLAIM, at)
    request = {"name": REQUEST_NAME, "exactly": {"deviceClassName": class_name}}
    return {"devices": {"requests": [request]}}, tuple(remarks)


def _gone(found: JsonObject, successors: Mapping[str, str], at: Path = ()) -> list[Remark]:
    """Remark on everything that is not taken over; null says nothing, so nobody misses it."""
    unknown = "this version has no such field, and nothing replaces it"
    return [
        Remark((*at, field), successors.get(field, unknown), lost=field not in NOT_MISSED)
        for field, value in found.items()
        if value is not None
    ]


def _nothing(text: str, *, lost: bool) -> Callable[[JsonObject], Migrated]:
    return lambda _found: Migrated(None, (Remark(("kind",), text, lost),))


_REVIVERS: Final[Mapping[str, Callable[[JsonObject], Migrated]]] = {
    "ResourceClass": _resource_class,
    "ResourceClaim": _claim,
    "ResourceClaimTemplate": _template,
    "ResourceSlice": _nothing(
        "slices of this version were removed in 1.31: the driver publishes its devices itself",
        lost=True,
    ),
    "PodScheduling": _nothing(
        "left out, removed in 1.27: the scheduler allocates without it", lost=False
    ),
    "PodSchedulingContext": _nothing(
        "left out, removed in 1.32: the scheduler allocates without it", lost=False
    ),
    "ResourceClaimParameters": _nothing(
        "removed in 1.31: put vendorParameters into spec.devices.config[].opaque.parameters of the"
        " claim and selectors into its requests",
        lost=True,
    ),
    "ResourceClassParameters": _nothing(
        "removed in 1.31: put vendorParameters into spec.config[].opaque.parameters of the"
        " DeviceClass and filters into its selectors",
        lost=True,
    ),
}
DEAD_KINDS: Final = tuple(
    kind
    for kind in _REVIVERS
    if kind not in ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
)
