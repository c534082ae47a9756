"""A device as a selector sees it: the variable `device`.

Promise: attributes and capacities are laid out by domain and name, as in the scheduler; a name
without a domain is in the driver's own. A version is a semantic version, a capacity a quantity.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.values.amount import Amount
from netclaim.allocator.cel.values.semver import Semver
from netclaim.allocator.cel.values.value import DomainMap, Value
from netclaim.model.api.dra.slice import DeviceAttribute, PublishedDevice

DeviceView: TypeAlias = Mapping[str, Value]


def device_view(driver: str, device: PublishedDevice) -> DeviceView:
    """Lay out a device of a slice; an EvaluationError names what no selector can see."""
    return {
        "driver": driver,
        "allowMultipleAllocations": device.allow_multiple_allocations,
        "attributes": _by_domain(
            driver, ((name, _attribute(name, one)) for name, one in device.attributes.items())
        ),
        "capacity": _by_domain(
            driver, ((name, Amount.parse(one.value)) for name, one in device.capacity.items())
        ),
    }


def _by_domain(driver: str, entries: Iterator[tuple[str, Value]]) -> DomainMap:
    found: dict[str, dict[str, Value]] = {}
    for name, value in entries:
        domain, slash, identifier = name.partition("/")
        inner = found.setdefault(domain if slash else driver, {})
        inner[identifier if slash else name] = value
    return DomainMap(found)


def _attribute(name: str, attribute: DeviceAttribute) -> Value:
    if attribute.version is not None:
        version = Semver.parse(attribute.version)
        if version is None:
            raise EvaluationError(
                f"attribute {name}: {attribute.version!r} is not a semantic version"
            )
        return version
    kind, value = attribute.typed
    if not kind:
        raise EvaluationError(f"attribute {name}: unsupported attribute value")
    return value
