"""An allocation, as the scheduler writes it into a claim's status.

Promise: the same fields: results in the order in which they were picked, the configuration of the
chosen classes before the claim's own, a node selector that keeps the pod where its devices are.
Limit: `allocationTimestamp` is for whoever writes the status.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netclaim.allocator.claim import Claim, DeviceClass, Request
from netclaim.allocator.device import Device
from netclaim.allocator.node import NAME_FIELD, Node
from netclaim.allocator.search import Found, Pick
from netclaim.model.claim import JsonObject

__all__ = ["Allocation", "allocation_of"]


@dataclass(frozen=True, slots=True)
class Allocation:
    """What a claim gets: the object for `status.allocation`."""

    claim: Claim
    object: JsonObject


def allocation_of(
    claim: Claim,
    found: Found,
    node: Node,
    classes: Mapping[str, DeviceClass],
    new_share_id: Callable[[], str],
) -> Allocation:
    """Write down what was found for a claim on a node."""
    results = [
        _result(claim.requests[pick.group][pick.alternative], pick, new_share_id)
        for pick in found.picks
    ]
    devices: JsonObject = {"results": results}
    chosen = [group[one] for group, one in zip(claim.requests, found.chosen, strict=True)]
    config = [*_class_config(chosen, classes), *_claim_config(claim, chosen)]
    if config:
        devices["config"] = [_for_all(one, chosen) for one in config]
    selector = _node_selector([pick.device for pick in found.picks], node)
    written: JsonObject = {"devices": devices}
    return Allocation(claim, {**written, "nodeSelector": selector} if selector else written)


def _result(request: Request, pick: Pick, new_share_id: Callable[[], str]) -> JsonObject:
    device = pick.device
    result: JsonObject = {
        "request": request.full_name,
        "driver": device.id.driver,
        "pool": device.id.pool,
        "device": device.id.device,
        **(device.binding or {}),
    }
    if request.admin_access:
        result["adminAccess"] = True
    if request.raw_tolerations:
        result["tolerations"] = list(request.raw_tolerations)
    if device.shareable:
        result["shareID"] = new_share_id()
        if pick.consumed:
            result["consumedCapacity"] = {name: str(one) for name, one in pick.consumed.items()}
    return result


def _class_config(
    chosen: Sequence[Request], classes: Mapping[str, DeviceClass]
) -> Iterator[JsonObject]:
    """Yield each class's configuration once, with all requests that use the class."""
    for name in dict.fromkeys(request.class_name for request in chosen):
        names = [request.full_name for request in chosen if request.class_name == name]
        for config in classes[name].config:
            yield {"source": "FromClass", "requests": names, **config}


def _claim_config(claim: Claim, chosen: Sequence[Request]) -> Iterator[JsonObject]:
    """Yield the claim's configuration, without what is for alternatives that were not chosen."""
    for config in claim.config:
        named = config.get("requests") or []
        if not named or any(_names(named, request) for request in chosen):
            yield {"source": "FromClaim", **config}


def _for_all(config: JsonObject, chosen: Sequence[Request]) -> JsonObject:
    """Return a configuration without `requests` if it names every request, as 1.37 does."""
    named = config.get("requests") or []
    if not named or all(_names(named, request) for request in chosen):
        return {key: value for key, value in config.items() if key != "requests"}
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
