"""Convert claims that are written for dranet into claims on netclaim's driver.

The driver's name, the attributes in selectors and constraints, and what netclaim has nothing for in
the parameters are changed; the rest stays as it is, because netclaim reads dranet's parameters. A
request gets its link alone, as dranet gives it. Promise: an object that does not name dranet's
driver is left alone, and everything that is left out is named with the reason.
Limit: an attribute that is compared with a value which netclaim writes otherwise is named, and its
selector stays as it is. No I/O.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from netclaim.convert.dranet.selectors import DRANET, constraint, expression, names_driver
from netclaim.convert.remarks import Remark, about
from netclaim.manifests.kinds import CLAIM_SPECS, CONFIGS
from netclaim.manifests.objects import Object, inside
from netclaim.model.claims.claim import JsonObject
from netclaim.network import DRIVER_NAME
from netclaim.network.devices.shares import WHOLE_LINK
from netclaim.network.policy.levels import Level
from netclaim.network.policy.table import SETTINGS
from netclaim.network.request.dranet import DHCP, INTERFACE, is_dranets, translate
from netclaim.paths import Path

CONSTRAINTS: Final = ("matchAttribute", "distinctAttribute")
ADDRESSES: Final = (
    "what the node has on the link follows it into the pod; a claim may have a link that the node"
    " uses only in a namespace that is privileged, or by its class"
)
NEEDS_PRIVILEGED: Final = (
    "a claim may have this only in a namespace that is privileged, or by its class"
)


@dataclass(slots=True)
class _Conversion:
    """One object on its way."""

    one: Object
    remarks: list[Remark] = field(default_factory=list)

    def say(self, path: Path, text: str, *, lost: bool = False) -> None:
        self.remarks.append(about(self.one, path, text, lost=lost))

    def lose(self, path: Path, text: str) -> None:
        self.say(path, text, lost=True)


def names_dranet(one: Object) -> bool:
    """Whether a class, claim or template is written for dranet's driver."""
    return one.kind in CONFIGS and one.is_known and _mentions(one.written)


def converted(one: Object, classes: Sequence[str]) -> tuple[JsonObject, list[Remark]]:
    """Return an object for netclaim's driver; `classes` are the names of dranet's DeviceClasses."""
    work = _Conversion(one)
    changed = _rewritten(work, one.written, ())
    if one.kind in CLAIM_SPECS:
        changed = _inside(changed, CLAIM_SPECS[one.kind], lambda spec: _alone(work, spec, classes))
    return changed, work.remarks


def dranets_classes(objects: Sequence[Object]) -> tuple[str, ...]:
    """Return the names of the classes that are for dranet's driver; it is usual to call one so."""
    found = (one.name for one in objects if one.kind == "DeviceClass" and names_dranet(one))
    return tuple(dict.fromkeys([*found, DRANET]))


def asks_dranet(one: Object, classes: Sequence[str]) -> bool:
    """Whether a claim asks for a link of dranet's without naming the driver itself."""
    if one.kind not in CLAIM_SPECS or not one.is_known:
        return False
    requests = inside(one.object, (*CLAIM_SPECS[one.kind], "devices")).get("requests")
    return any(_class_of(each) in classes for each in _each_request(requests))


def _mentions(value: Any) -> bool:
    """Whether some text names the driver."""
    if isinstance(value, dict):
        return any(_mentions(inner) for key, inner in value.items() if key != "metadata")
    if isinstance(value, list):
        return any(map(_mentions, value))
    return isinstance(value, str) and names_driver(value)


def _rewritten(work: _Conversion, value: Any, path: Path) -> Any:
    if isinstance(value, list):
        return [_rewritten(work, each, (*path, number)) for number, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    changed: JsonObject = {}
    for key, inner in value.items():
        at = (*path, key)
        if key == "expression" and isinstance(inner, str):
            changed[key] = expression(inner, partial(work.lose, at))
        elif key in CONSTRAINTS and isinstance(inner, str):
            changed[key] = constraint(inner, partial(work.lose, at))
        elif key == "opaque" and isinstance(inner, dict) and inner.get("driver") == DRANET:
            parameters = _parameters(work, inner.get("parameters"), (*at, "parameters"))
            changed[key] = {**inner, "driver": DRIVER_NAME, "parameters": parameters}
        else:
            changed[key] = _rewritten(work, inner, at)
    return changed


def _parameters(work: _Conversion, parameters: Any, path: Path) -> Any:
    """Return parameters without what the driver would refuse."""
    if not isinstance(parameters, dict) or not is_dranets(parameters):
        return parameters
    refused: list[Path] = []

    def fault(message: str, at: Path) -> None:
        refused.append(at[len(path) :])
        work.say(at, message, lost=True)

    translate(parameters, path, ifname="net1", fault=fault)
    kept = {key: value for key, value in parameters.items() if (key,) not in refused}
    kept = kept or {INTERFACE: {}}  # which says as much, and is read as parameters
    interface = kept.get(INTERFACE)
    if isinstance(interface, dict):
        kept[INTERFACE] = {
            key: value for key, value in interface.items() if (INTERFACE, key) not in refused
        }
    if not any((interface or {}).get(key) for key in ("addresses", DHCP)):
        work.say((*path, INTERFACE), ADDRESSES)
    if work.one.kind in CLAIM_SPECS:
        for key in _privileged(kept.get(INTERFACE)):
            work.say((*path, INTERFACE, key), NEEDS_PRIVILEGED)
    return kept


def _privileged(interface: Any) -> Iterator[str]:
    """Yield the settings of an interface that dranet allows everybody, and netclaim does not."""
    for key, value in interface.items() if isinstance(interface, dict) else ():
        if value and key in SETTINGS and SETTINGS[key].level is Level.PRIVILEGED:
            yield key


def _alone(work: _Conversion, spec: JsonObject, classes: Sequence[str]) -> JsonObject:
    """Return a claim's spec whose requests have their links alone, and parameters."""
    devices = spec.get("devices")
    if not isinstance(devices, dict) or not isinstance(devices.get("requests"), list):
        return spec
    base = CLAIM_SPECS[work.one.kind]
    before = inside(work.one.written, (*base, "devices")).get("requests") or []
    names = [
        str(old.get("name"))
        for old in before
        if isinstance(old, dict)
        and any(_class_of(each) in classes or _mentions(each) for each in _each_request([old]))
    ]
    requests = [
        _with_capacity(each) if isinstance(each, dict) and each.get("name") in names else each
        for each in devices["requests"]
    ]
    changed = {**devices, "requests": requests}
    configs = devices.get("config") if isinstance(devices.get("config"), list) else []
    spoken = [each for each in configs or () if _is_ours(each)]
    lacking = [name for name in names if not any(_is_for(each, name) for each in spoken)]
    if lacking:
        opaque = {"driver": DRIVER_NAME, "parameters": {INTERFACE: {}}}
        changed["config"] = [*(configs or ()), {"requests": lacking, "opaque": opaque}]
        work.say((*base, "devices", "requests"), ADDRESSES)
    return {**spec, "devices": changed}


def _with_capacity(request: JsonObject) -> JsonObject:
    """Ask for the link alone, which is how dranet gives it; by each alternative, if there are."""
    if isinstance(request.get("firstAvailable"), list):
        each = [_with_capacity(one) for one in request["firstAvailable"] if isinstance(one, dict)]
        return {**request, "firstAvailable": each}
    if isinstance(request.get("exactly"), dict):
        return {**request, "exactly": _with_capacity(request["exactly"])}
    return {**request, "capacity": {"requests": {WHOLE_LINK: "1"}}}


def _each_request(requests: Any) -> Iterator[JsonObject]:
    """Yield the parts of requests that name a class, in the form of any version."""
    for request in requests if isinstance(requests, list) else ():
        if not isinstance(request, dict):
            continue
        yield request
        if isinstance(request.get("exactly"), dict):
            yield request["exactly"]
        if isinstance(request.get("firstAvailable"), list):
            yield from _each_request(request["firstAvailable"])


def _class_of(request: JsonObject) -> str:
    return str(request.get("deviceClassName") or "")


def _is_ours(config: Any) -> bool:
    return inside({"": config}, ("", "opaque")).get("driver") == DRIVER_NAME


def _is_for(config: JsonObject, request: str) -> bool:
    named = config.get("requests")
    return not named or any(str(each).partition("/")[0] == request for each in named)


def _inside(found: JsonObject, path: Path, edit: Any) -> JsonObject:
    if not path:
        changed: JsonObject = edit(found)
        return changed
    step = str(path[0])
    inner = found.get(step)
    return {**found, step: _inside(inner, path[1:], edit)} if isinstance(inner, dict) else found
