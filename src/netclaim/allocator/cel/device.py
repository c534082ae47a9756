"""A device as a selector sees it: the variable `device`.

Promise: attributes and capacities by domain and name, as the scheduler lays them out: a name
without a domain is in the driver's own. A version is a semantic version, a capacity a quantity.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from netclaim.allocator.cel.amount import Amount
from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.semver import Semver
from netclaim.allocator.cel.values import DomainMap, Value

__all__ = ["DeviceView", "device_view"]

DeviceView: TypeAlias = Mapping[str, Value]


def device_view(driver: str, device: Mapping[str, Any]) -> DeviceView:
    """Lay out a device of a v1 ResourceSlice; an EvaluationError names what no selector can see."""
    attributes = device.get("attributes") or {}
    capacity = device.get("capacity") or {}
    return {
        "driver": driver,
        "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
        "attributes": _by_domain(
            driver, ((name, _attribute(name, value)) for name, value in attributes.items())
        ),
        "capacity": _by_domain(
            driver, ((name, Amount.parse(value["value"])) for name, value in capacity.items())
        ),
    }


def _by_domain(driver: str, entries: Iterator[tuple[str, Value]]) -> DomainMap:
    found: dict[str, dict[str, Value]] = {}
    for name, value in entries:
        domain, slash, identifier = name.partition("/")
        inner = found.setdefault(domain if slash else driver, {})
        inner[identifier if slash else name] = value
    return DomainMap(found)


def _attribute(name: str, value: Mapping[str, Any]) -> Value:
    for kind in ("int", "bool", "string"):
        if value.get(kind) is not None:
            return value[kind]
    text = value.get("version")
    if text is None:
        raise EvaluationError(f"attribute {name}: unsupported attribute value")
    version = Semver.parse(text)
    if version is None:
        raise EvaluationError(f"attribute {name}: {text!r} is not a semantic version")
    return version
