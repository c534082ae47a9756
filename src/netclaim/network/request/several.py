"""Refuse what is said once and cannot hold for several interfaces: a name, an address, a MAC.

A request may have several devices, and an entry of `config` may be for several requests. Promise:
each refusal says what to write instead. Limit: within one claim; no I/O. Two interfaces that are
written apart may have what they like.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from netclaim.errors import RequestError
from netclaim.model import Claim, OpaqueConfig
from netclaim.network.request.dialect import INTERFACE_KEYS
from netclaim.network.request.entries import Entry
from netclaim.network.request.ifnames import is_pattern, pattern_like
from netclaim.network.request.interface_request import InterfaceRequest
from netclaim.network.request.into_config.wishes import WISHES
from netclaim.paths import Path

STATIC: Final = "static"  # the IPAM plugin that gives everybody the same addresses

# What only one interface can have, and what to do where several would. An MTU is for all of them.
EACH: Final = "or write a request for each device"
STATIC_ADDRESSES: Final = f"static addresses; use host-local, {EACH}"


def several_faults(claim: Claim, requests: Sequence[InterfaceRequest]) -> Iterator[RequestError]:
    """Yield what is wrong with the claim's interfaces, none of which is numbered yet."""
    yield from _shared_entries(claim, requests)
    yield from _plain_names(requests)
    yield from _addresses(requests)


def _shared_entries(claim: Claim, requests: Sequence[InterfaceRequest]) -> Iterator[RequestError]:
    """A configuration that names an interface can serve one request only."""
    ifnames = {request.device.base_request: request.ifname for request in requests}
    for number, config in enumerate(claim.configs):
        devices = claim.devices
        served = dict.fromkeys(d.base_request for d in devices if config.applies_to(d.request))
        if len(served) < 2 or config.source != "FromClaim":
            continue
        names = [ifnames[request] for request in served if request in ifnames]
        if not all(map(is_pattern, names or [_written_ifname(config)])):
            yield RequestError(
                f"a configuration applies to one request, but this one to {', '.join(served)}; "
                f"write one entry for each, with its name in `requests`, or a pattern as ifName, "
                f"for example net%d",
                path=(Entry.of_claim(number, next(iter(served)), config.requests),),
            )


def _written_ifname(config: OpaqueConfig) -> str:
    """What an entry names its interface, if that cannot be read for another reason."""
    return next((str(config.parameters[k]) for k in INTERFACE_KEYS if k in config.parameters), "")


def _plain_names(requests: Sequence[InterfaceRequest]) -> Iterator[RequestError]:
    counts = Counter(request.device.request for request in requests)
    refused: set[str] = set()
    for request in requests:
        name = request.device.request
        if counts[name] > 1 and name not in refused and not is_pattern(request.ifname):
            refused.add(name)
            yield RequestError(
                f"the request {request.device.base_request} has {counts[name]} devices, but "
                f"{request.ifname} is the name of one interface; write a pattern, for example "
                f"{pattern_like(request.ifname)}",
                path=request.ifname_path,
            )


def _addresses(requests: Sequence[InterfaceRequest]) -> Iterator[RequestError]:
    """Addresses that are written once, for interfaces of which each needs its own."""
    found = [each for request in requests for each in _single(request)]
    counts = Counter(_place(path) for path, _ in found)
    for place, (path, what) in {_place(path): (path, what) for path, what in found}.items():
        if counts[place] > 1:
            yield RequestError(f"{counts[place]} interfaces would have the same {what}", path=path)


def _single(request: InterfaceRequest) -> Iterator[tuple[Path, str]]:
    """Where something is written that one interface can have, and what."""
    for wish in WISHES:
        if wish.single and wish.name in request.wish_paths:
            what = f"{wish.single}; leave {wish.name} out, {EACH}"
            yield request.wish_paths[wish.name], what
    for plugin, path in zip(request.network.plugins, request.plugin_paths, strict=True):
        if plugin.ipam_type == STATIC and plugin.config["ipam"].get("addresses"):
            yield (*path, "ipam", "addresses"), STATIC_ADDRESSES


def _place(path: Path) -> Hashable:
    """The same for what stands in the same place, whichever request it was read for."""
    match path:
        case (Entry() as entry, *inner):
            return (entry.number, *inner)
        case _:
            return path
