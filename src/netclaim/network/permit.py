"""Permit: hold what a claim asks for against the policy of its namespace and of its class.

Promise: everything that a claim set is judged, whatever it is; all refusals of a request are
reported together. Limit: No I/O. The table is `judge`'s.
"""

import ipaddress
from collections.abc import Collection, Iterator, Mapping, Sequence

from netclaim.errors import RequestError
from netclaim.network.errors import PolicyError, raise_all
from netclaim.network.judge import judge
from netclaim.network.parameter_keys import ALLOWABLE, PARAMETERS, WISHES
from netclaim.network.parameters import InterfaceRequest
from netclaim.network.policy import Level
from netclaim.network.standing import Standing, address_fault, needs_level, needs_own
from netclaim.network.wishes import Wishes
from netclaim.paths import Path

__all__ = ["permit", "wish_faults"]


def permit(
    request: InterfaceRequest, standing: Standing, *, found: Sequence[RequestError] = ()
) -> None:
    """Raise unless the claim may have what it asks for.

    `found` are mistakes that are known already, raised with the refusals; where they are, nothing
    more is said.
    """
    judged = [
        *_parameter_faults(request, standing),
        *judge(
            request.network,
            request.plugin_paths,
            standing,
            ifname=request.ifname,
            trusted=request.trusted,
        ),
    ]
    mistaken = {fault.path for fault in found}
    faults = [*found, *(fault for fault in judged if fault.path not in mistaken)]
    refused = {fault.path for fault in faults}
    wished = {
        key: where
        for key, where in request.claimed.items()
        if key in WISHES and where not in refused
    }
    faults += wish_faults(request.wishes, wished, standing, vouched=request.allowed or ())
    raise_all(faults)


def wish_faults(
    wishes: Wishes, claimed: Mapping[str, Path], standing: Standing, *, vouched: Collection[str]
) -> Iterator[RequestError]:
    """Yield what is wrong with the wishes that a claim made, by key and where they were written.

    `vouched` are those that its class allows. No class means the node's own addresses by that.
    """
    if standing.level is Level.PRIVILEGED:
        return
    if "mac" in claimed and "mac" not in vouched and standing.not_own:
        yield needs_own(claimed["mac"], standing)
    for ip in wishes.ips if "ips" in claimed else ():
        interface = ipaddress.ip_interface(ip)
        if str(interface.ip) in standing.node_addresses:
            message = f"{interface.ip} is the node's own address on the link {standing.link!r}"
            yield PolicyError(f"{message}; choose another", path=claimed["ips"])
        elif "ips" not in vouched:
            fault = address_fault(str(interface), claimed["ips"], standing)
            if fault is not None:
                yield fault


def _parameter_faults(request: InterfaceRequest, standing: Standing) -> Iterator[RequestError]:
    """Judge the keys beside the network: whether the claim may set them at all."""
    if standing.level is Level.PRIVILEGED:
        return
    for key in ALLOWABLE:
        where = request.claimed.get(key)
        if where is None or _is_vouched(request, key):
            continue
        if request.allowed is not None or request.class_has_config:
            yield PolicyError(
                f"the DeviceClass does not let claims set it; leave it out, or ask a cluster admin "
                f"to add {key} to the class's `allow`",
                path=where,
            )
        elif standing.level < PARAMETERS[key].level:
            yield needs_level(PARAMETERS[key].level, where, standing)


def _is_vouched(request: InterfaceRequest, key: str) -> bool:
    """Whether the class lets its claims set a key."""
    return request.allowed is not None and key in request.allowed
