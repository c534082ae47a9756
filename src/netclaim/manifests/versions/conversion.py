"""The same object in another version of resource.k8s.io; the canonical form is v1.

Functions on dicts, without I/O. The versions differ in three places: v1beta1 and v1alpha3 keep a
request's fields beside its name where v1 puts them under `exactly`; they keep a device's fields
under `basic` where v1 has them beside its name; and v1alpha3 writes a capacity as a plain quantity
where v1 has an object with a `value`. Statuses and device classes are the same in all versions.

Promise: there and back gives what was there, null and unknown fields included. Limit: this converts
shapes and drops nothing; `migration` deals with what a version does not know.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, TypeGuard, get_args

from netclaim.manifests.fields import ShapeError, edit
from netclaim.manifests.kinds import CLAIM_SPECS, GROUP
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path

Version: TypeAlias = Literal["v1", "v1beta2", "v1beta1", "v1alpha3"]
VERSIONS: Final[tuple[Version, ...]] = get_args(Version)  # newest first

FLAT_VERSIONS: Final = ("v1alpha3", "v1beta1")
REQUESTS: Final[Mapping[str, str]] = {
    kind: f"{'.'.join(map(str, spec))}.devices.requests.*" for kind, spec in CLAIM_SPECS.items()
}
BESIDE_EXACTLY: Final = ("name", "firstAvailable")


def is_version(text: str) -> TypeGuard[Version]:
    return text in VERSIONS


def to_v1(found: JsonObject, kind: str, version: Version) -> JsonObject:
    """Return an object as it is in v1, with `apiVersion` and `kind` set."""
    if version in FLAT_VERSIONS and kind in REQUESTS:
        found = edit(found, REQUESTS[kind], _nest_request)
    if version in FLAT_VERSIONS and kind == "ResourceSlice":
        if version == "v1alpha3":
            found = edit(found, "spec.devices.*.basic.capacity.*", _capacity_object)
        found = edit(found, "spec.devices.*", _unwrap_device)
    return {**found, "apiVersion": f"{GROUP}/v1", "kind": kind}


def from_v1(found: JsonObject, kind: str, to: Version) -> JsonObject:
    """Return an object of v1 as it is in the version `to`."""
    if to in FLAT_VERSIONS and kind in REQUESTS:
        found = edit(found, REQUESTS[kind], _flatten_request)
    if to in FLAT_VERSIONS and kind == "ResourceSlice":
        if to == "v1alpha3":
            found = edit(found, "spec.devices.*.capacity.*", _capacity_quantity)
        found = edit(found, "spec.devices.*", _wrap_device)
    return {**found, "apiVersion": f"{GROUP}/{to}", "kind": kind}


def _nest_request(request: Any, at: Path) -> JsonObject:
    fields = _object(request, at)
    outer = {key: value for key, value in fields.items() if key in BESIDE_EXACTLY}
    inner = {key: value for key, value in fields.items() if key not in outer}
    if not inner:
        return outer
    if "exactly" in inner:
        if len(inner) > 1:
            raise ShapeError("has `exactly` and, next to it, fields that belong in it", at)
        return fields
    name = {key: value for key, value in outer.items() if key == "name"}
    return {**name, "exactly": inner, **outer}


def _flatten_request(request: Any, at: Path) -> JsonObject:
    fields = _object(request, at)
    inner = _object(fields.get("exactly") or {}, (*at, "exactly"))
    _check_apart(inner, fields, (*at, "exactly"))
    flat: JsonObject = {}
    for key, value in fields.items():
        flat |= inner if key == "exactly" else {key: value}
    return flat


def _unwrap_device(device: Any, at: Path) -> JsonObject:
    fields = _object(device, at)
    inner = _object(fields.get("basic") or {}, (*at, "basic"))
    _check_apart(inner, fields, (*at, "basic"))
    outer = {key: value for key, value in fields.items() if key not in ("basic", "name")}
    name = {key: value for key, value in fields.items() if key == "name"}
    return {**name, **inner, **outer}


def _wrap_device(device: Any, at: Path) -> JsonObject:
    fields = _object(device, at)
    name = {key: value for key, value in fields.items() if key == "name"}
    # Older servers require `basic`, also for a device without attributes.
    return {**name, "basic": {key: value for key, value in fields.items() if key != "name"}}


def _capacity_object(quantity: Any, at: Path) -> Any:
    if isinstance(quantity, list | bool) or quantity is None:
        raise ShapeError("is not a quantity", at)
    return quantity if isinstance(quantity, dict) else {"value": quantity}


def _capacity_quantity(capacity: Any, at: Path) -> Any:
    fields = _object(capacity, at)
    if "value" not in fields:
        raise ShapeError("has no value", at)
    if more := [key for key in fields if key != "value"]:
        raise ShapeError(f"is a plain quantity in v1alpha3 and cannot have {', '.join(more)}", at)
    return fields["value"]


def _check_apart(inner: JsonObject, outer: JsonObject, at: Path) -> None:
    """Refuse two fields that would become one, since one of them would be dropped."""
    for key in inner.keys() & outer.keys():
        raise ShapeError("is set twice; also one level up", (*at, key))


def _object(value: Any, at: Path) -> JsonObject:
    if not isinstance(value, dict):
        raise ShapeError("is not an object", at)
    return value
