"""An allocation, as the scheduler writes it into a claim's status.

Promise: it has the same fields: results in the order in which they were picked, the configuration
of the chosen classes before the claim's own, and a node selector that keeps the pod where its
devices are. Limit: `allocationTimestamp` is added when the status is written.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from netclaim.allocator.objects.claim import Claim, Request
from netclaim.allocator.objects.device import Device
from netclaim.allocator.objects.node import NAME_FIELD, Node
from netclaim.allocator.search.backtrack import Found, Pick
from netclaim.model.api.base import JsonObject
from netclaim.model.api.dra.claim import AllocatedDevices, AllocationResult, DeviceResult
from netclaim.model.api.dra.config import DeviceConfig
from netclaim.model.api.dra.device_class import DeviceClass


@dataclass(frozen=True, slots=True)
class Allocation:
    claim: Claim
    result: AllocationResult

    @property
    def object(self) -> JsonObject:
        """The object for `status.allocation`."""
        made: JsonObject = msgspec.json.decode(msgspec.json.encode(self.result))
        return made


def allocation_of(
    claim: Claim,
    found: Found,
    node: Node,
    classes: Mapping[str, DeviceClass],
    new_share_id: Callable[[], str],
) -> Allocation:
    """Write down what was found for a claim on a node."""
    results = tuple(
        _result(claim.requests[pick.group][pick.alternative], pick, new_share_id)
        for pick in found.picks
    )
    chosen = [group[one] for group, one in zip(claim.requests, found.chosen, strict=True)]
    config = tuple(
        _for_all(one, chosen)
        for one in (*_class_config(chosen, classes), *_claim_config(claim, chosen))
    )
    selector = _node_selector([pick.device for pick in found.picks], node)
    return Allocation(claim, AllocationResult(AllocatedDevices(results, config), selector))


def _result(request: Request, pick: Pick, new_share_id: Callable[[], str]) -> DeviceResult:
    device = pick.device
    consumed = pick.consumed if device.shareable else {}
    return DeviceResult(
        request=request.full_name,
        driver=device.id.driver,
        pool=device.id.pool,
        device=device.id.device,
        share_id=new_share_id() if device.shareable else "",
        admin_access=request.admin_access,
        tolerations=request.tolerations,
        consumed_capacity={name: str(amount) for name, amount in consumed.items()},
        binding_conditions=device.binding_conditions,
        binding_failure_conditions=device.binding_failure_conditions,
    )


def _class_config(
    chosen: Sequence[Request], classes: Mapping[str, DeviceClass]
) -> Iterator[DeviceConfig]:
    """Yield each class's configuration once, with all requests that use the class."""
    for name in dict.fromkeys(request.class_name for request in chosen):
        names = tuple(request.full_name for request in chosen if request.class_name == name)
        for config in classes[name].spec.config:
            yield DeviceConfig("FromClass", names, config.opaque)


def _claim_config(claim: Claim, chosen: Sequence[Request]) -> Iterator[DeviceConfig]:
    """Yield the claim's configuration, without what is for alternatives that were not chosen."""
    for config in claim.config:
        if not config.requests or any(_names(config.requests, one) for one in chosen):
            yield DeviceConfig("FromClaim", config.requests, config.opaque)


def _for_all(config: DeviceConfig, chosen: Sequence[Request]) -> DeviceConfig:
    """Return a configuration without `requests` if it names every request, as 1.37 does."""
    if all(_names(config.requests, request) for request in chosen):
        return DeviceConfig(config.source, (), config.opaque)
    return config


def _names(named: Sequence[str], request: Request) -> bool:
    """Whether a request, or the alternative that was chosen for it, is among some names."""
    return request.name in named or request.full_name in named


def _node_selector(devices: Sequence[Device], node: Node) -> JsonObject | None:
    """Return where the devices can be used from; None if everywhere."""
    if any(device.nodes.name or device.binds_to_node for device in devices):
        only = {"key": NAME_FIELD, "operator": "In", "values": [node.name]}
        return {"nodeSelectorTerms": [{"matchFields": [only]}]}
    term: dict[str, list[Any]] = {}
    for kind in ("matchFields", "matchExpressions"):
        for requirement in _requirements(devices, kind):
            known = term.setdefault(kind, [])
            if not any(_same(requirement, one) for one in known):
                known.append(requirement)
    return {"nodeSelectorTerms": [term]} if term else None


def _requirements(devices: Sequence[Device], kind: str) -> Iterator[JsonObject]:
    for device in devices:
        for term in (device.nodes.selector or {}).get("nodeSelectorTerms") or ():
            yield from term.get(kind) or ()


def _same(one: JsonObject, other: JsonObject) -> bool:
    """Whether two requirements say the same; the order of their values does not count."""
    return (
        one["key"] == other["key"]
        and one["operator"] == other["operator"]
        and set(one.get("values") or ()) == set(other.get("values") or ())
    )
