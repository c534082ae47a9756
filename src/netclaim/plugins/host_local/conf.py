"""The configuration of host-local, read into values.

Promise: a `HostLocalConf` that exists can be served: its ranges are sound and apart.
Limit: pure; whether an address is free is not asked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, TypeAlias

from netclaim.cni import Route
from netclaim.cni.version import CHAINING, at_least
from netclaim.kernel.requests.ip import IpAddress
from netclaim.plugins.engine.conf import Conf, read_args, read_cidr, read_conf, read_ip
from netclaim.plugins.engine.errors import ConfError, PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Invocation, folded
from netclaim.plugins.host_local.ranges import RangeConf, RangeSet, check_apart, read_range_set
from netclaim.plugins.shared.asked_addresses import AskedArgs
from netclaim.plugins.shared.configure import refuse_routes

COMPARED_MAX: Final = 64  # ranges; with more, it is left to ADD to compare each with each


RangesConf: TypeAlias = tuple[tuple[RangeConf, ...], ...]


class IpamKeys(RangeConf, frozen=True):
    """What stands under `ipam`; the keys of a range are those of the old flat form."""

    unused = ("name", "dns")

    routes: Annotated[tuple[Route, ...], KeyRule("routes of the container")] = ()
    data_dir: Annotated[str, KeyRule("the directory on the node for leases")] = ""
    resolv_conf: Annotated[str, KeyRule("a file on the node that lists name servers")] = ""
    ranges: Annotated[
        RangesConf, KeyRule("sets of ranges; one address from each set is assigned")
    ] = ()

    def refuse(self) -> None:
        """Raise where the flat form, if it is used, makes no range."""
        if self.subnet:
            super().refuse()


class RuntimeOffer(Conf, frozen=True):
    """What the runtime offers by capability."""

    ip_ranges: Annotated[RangesConf, KeyRule("ranges, by a capability")] = ()
    ips: Annotated[tuple[str, ...], KeyRule("addresses, by a capability")] = ()


class Written(Conf, frozen=True):
    """The configuration as it is written."""

    name: str
    ipam: IpamKeys | None = None
    runtime_config: RuntimeOffer = RuntimeOffer()
    args: AskedArgs = AskedArgs()


class StoreKeys(Conf, frozen=True):
    """Of what stands under `ipam`, where the leases are."""

    data_dir: str = ""


class StoreConf(Conf, frozen=True):
    """Of the configuration, what it takes to release: more may make no sense any more."""

    name: str
    ipam: StoreKeys = StoreKeys()


@dataclass(frozen=True, slots=True)
class HostLocalConf:
    """What host-local is asked for."""

    network: str
    sets: tuple[RangeSet, ...]
    requested: tuple[IpAddress, ...]
    routes: tuple[Route, ...]
    data_dir: str  # empty: host-local's own
    resolv_conf: str


def read_host_local(invocation: Invocation) -> HostLocalConf:
    """Read the configuration of a call."""
    written = invocation.conf(Written)
    if written.ipam is None:
        raise ConfError("ipam is missing")
    endpoint = invocation.call.endpoint
    by_argument = read_args(endpoint.args, {"IP"}).get("IP", "") if endpoint is not None else ""
    return _read(written, written.ipam, invocation.version, by_argument)


def configured_ranges(config: Mapping[str, Any], version: str) -> HostLocalConf:
    """Read what the configuration of a plugin with addresses says, whatever a call asks for."""
    written = read_conf(folded(config), Written)
    if written.ipam is None:
        raise ConfError("ipam is missing")
    return _read(written, written.ipam, version)


def refuse_ranges(raw: Mapping[str, Any], version: str) -> None:
    """Raise ConfError unless addresses can be given out of a configuration, with folded keys."""
    written = read_conf({"name": "", **raw}, Written)
    if written.ipam is None:
        return
    try:
        written.ipam.refuse()
    except ConfError as error:
        raise ConfError(str(error), path=("ipam", *error.path)) from error
    refuse_routes(written.ipam.routes)
    listed = _listed(written, written.ipam)
    if not listed:
        message = "ranges is missing; for example [[{subnet: 10.10.1.0/24}]]"
        raise ConfError(message, path=("ipam", "ranges"))
    if _count(listed) <= COMPARED_MAX:
        try:
            _sets(listed, version)
        except ConfError as error:
            raise ConfError(str(error), path=("ipam", "ranges")) from error


def address_faults(config: Mapping[str, Any], version: str) -> Iterator[tuple[IpAddress, str]]:
    """Yield the addresses asked for that would not be given, free or not, and the reason."""
    written = read_conf(folded(config), Written)
    if written.ipam is None or _count(_listed(written, written.ipam)) > COMPARED_MAX:
        return
    conf = _read(written, written.ipam, version)
    asked = list(conf.requested)
    for ranges in conf.sets:
        wanted = next((ip for ip in asked if ranges.range_of(ip)), None)
        if wanted is None:
            continue
        asked.remove(wanted)
        if wanted == getattr(ranges.range_of(wanted), "gateway", None):
            yield wanted, f"{wanted} is the gateway's address"
        for other in asked:
            if ranges.range_of(other):
                yield other, f"{other} and {wanted} are in one set of ranges, which assigns one"
        asked = [ip for ip in asked if not ranges.range_of(ip)]
    known = "; ".join(map(str, conf.sets))
    for ip in asked:
        yield ip, f"{ip} is outside of the network's ranges, {known}"


def _read(written: Written, ipam: IpamKeys, version: str, by_argument: str = "") -> HostLocalConf:
    return HostLocalConf(
        network=written.name,
        sets=_sets(_listed(written, ipam), version),
        requested=_requested(written, by_argument),
        routes=ipam.routes,
        data_dir=ipam.data_dir,
        resolv_conf=ipam.resolv_conf,
    )


def _requested(written: Written, by_argument: str) -> tuple[IpAddress, ...]:
    """Collect the addresses that are asked for, each with or without a prefix."""
    asked = by_argument.split(",") if by_argument else []
    asked += [*written.args.cni.ips, *written.runtime_config.ips]
    return tuple(dict.fromkeys(_address(one) for one in asked))


def _address(written: str) -> IpAddress:
    return read_cidr(written).ip if "/" in written else read_ip(written)


def _listed(written: Written, ipam: IpamKeys) -> RangesConf:
    flat = ((ipam,),) if ipam.subnet else ()
    return (*written.runtime_config.ip_ranges, *flat, *ipam.ranges)


def _count(listed: RangesConf) -> int:
    return sum(max(1, len(each)) for each in listed)


@lru_cache(maxsize=128)  # the same for calls that differ in the address they ask for
def _sets(listed: RangesConf, version: str) -> tuple[RangeSet, ...]:
    if not listed:
        raise ConfError("ipam has no ranges")
    sets = []
    for n, one in enumerate(listed):
        try:
            sets.append(read_range_set(one))
        except PluginError as error:
            raise ConfError(f"range set {n}: {error}") from error
    families = [each.version for each in sets]
    if len(families) > len(set(families)) and not at_least(version, CHAINING):
        raise ConfError(f"CNI {version} allows only one address of each family")
    check_apart(tuple(sets))
    return tuple(sets)
