"""Permit: hold what a claim asks for against the policy of its namespace and of its class.

Promise: everything that a claim set is judged, whatever it is; all refusals of a request are
reported together. No I/O. The table is `judge`'s.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from netclaim.errors import RequestError
from netclaim.network.errors import PolicyError, raise_all
from netclaim.network.judge.addresses import address_fault
from netclaim.network.judge.carried import wished
from netclaim.network.judge.network import judge
from netclaim.network.judge.own_hops import own_hop_faults
from netclaim.network.judge.settings import settings_faults
from netclaim.network.policy.levels import Level
from netclaim.network.policy.standing import Standing, needs_level, needs_own
from netclaim.network.policy.table import SETTINGS
from netclaim.network.request.into_config.wishes import WISHES, Wishes
from netclaim.network.request.keys import ALLOWABLE, PARAMETERS
from netclaim.network.request.parameters import InterfaceRequest
from netclaim.paths import Path


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
            chosen=bool(request.wishes.ips),
        ),
    ]
    mistaken = {fault.path for fault in found}
    faults = [*found, *(each for each in judged if not _is_known(each, mistaken))]
    refused = {fault.path for fault in faults}
    asked = {
        wish.name: request.claimed[wish.name]
        for wish in WISHES
        if wish.name in request.claimed and request.claimed[wish.name] not in refused
    }
    vouched = request.allowed or ()
    faults += wish_faults(request.wishes, asked, standing, vouched=vouched)
    if not refused:
        faults += own_hop_faults(
            request.network,
            request.plugin_paths,
            request.wishes,
            asked,
            standing,
            trusted=request.trusted,
            vouched=vouched,
        )
    raise_all(faults)


def _is_known(fault: RequestError, mistaken: Collection[Path]) -> bool:
    """Whether a fault was found before: at this path, or as what cannot be read."""
    return fault.path in mistaken or (bool(mistaken) and not isinstance(fault, PolicyError))


def wish_faults(
    wishes: Wishes, claimed: Mapping[str, Path], standing: Standing, *, vouched: Collection[str]
) -> Iterator[RequestError]:
    """Yield what is wrong with the wishes that a claim made, by key and where they were written.

    `vouched` are those that its class allows. No class means the node's own addresses by that.
    """
    if standing.level is Level.PRIVILEGED:
        return
    for wish in WISHES:
        if wish.name not in claimed or wish.name in vouched:
            continue
        if standing.level < wish.rule.level:
            yield needs_level(wish.rule.level, claimed[wish.name], standing)
        elif wish.rule.own and standing.not_own:
            yield needs_own(claimed[wish.name], standing)
    for ip in wishes.ips if "ips" in claimed else ():
        each = wished(ip, claimed["ips"])
        if fault := address_fault(each, standing, vouched="ips" in vouched):
            yield fault
    settings = {key: wishes.settings[key] for key in SETTINGS if key in claimed}
    yield from settings_faults(settings, claimed, standing, vouched=vouched)


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
