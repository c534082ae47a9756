"""static: the addresses that the configuration names.

Configuration: `ipam.addresses` (`address` with its prefix, `gateway`), `ipam.routes`, `ipam.dns`.
Those in CNI_ARGS (IP, GATEWAY, separated by commas) come on top. Addresses given by capability
(`ips`), else in `args.cni.ips`, take the place of all these.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from netclaim.cni import DNS, IPConfig, Result, Route
from netclaim.cni.version import CHAINING, at_least
from netclaim.kernel.requests.ip import Interface, IpAddress
from netclaim.plugins.engine.conf import (
    Conf,
    read_args,
    read_cidr,
    read_conf,
    read_ip,
)
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Asked, Invocation, Plugin
from netclaim.plugins.shared.asked_addresses import AskedAddresses, AskedArgs
from netclaim.plugins.shared.configure import refuse_routes


class AddressConf(Conf, frozen=True):
    """One entry of `addresses`."""

    unused = ("version",)

    address: Annotated[
        str,
        KeyRule(
            "the address with its prefix length",
            check=read_cidr,
            missing="for example 10.10.1.7/24",
        ),
    ] = ""
    gateway: Annotated[str, KeyRule("the gateway", check=read_ip)] = ""


class IpamKeys(Conf, frozen=True):
    """What stands under `ipam`."""

    unused = ("name",)

    addresses: Annotated[tuple[AddressConf, ...], KeyRule("the addresses")] = ()
    routes: Annotated[tuple[Route, ...], KeyRule("routes of the container")] = ()
    dns: Annotated[DNS, KeyRule("name servers, part of the result")] = DNS()


class StaticConf(Conf, frozen=True):
    """The configuration as it is written."""

    ipam: IpamKeys | None = None
    runtime_config: AskedAddresses = AskedAddresses()
    args: AskedArgs = AskedArgs()


class Static(Plugin):
    ipam_conf = IpamKeys

    @classmethod
    def refuse(cls, raw: Mapping[str, Any], asked: Asked) -> None:  # noqa: ARG003 -- for some
        """Raise where a route cannot be."""
        refuse_routes((read_conf(raw, StaticConf).ipam or IpamKeys()).routes)

    async def add(self, invocation: Invocation) -> Result:
        """Return what is configured."""
        conf = invocation.conf(StaticConf)
        ips = tuple(
            IPConfig(str(address), str(gateway) if gateway else "")
            for address, gateway in _addresses(conf, invocation)
        )
        ipam = conf.ipam or IpamKeys()
        return Result(ips=ips, routes=ipam.routes, dns=ipam.dns)

    async def delete(self, invocation: Invocation) -> None:
        """Nothing is kept, so nothing is released."""

    async def check(self, invocation: Invocation) -> None:
        """See that what is configured is what the result has."""
        conf = invocation.conf(StaticConf)
        there = {read_cidr(ip.address).ip: ip.gateway for ip in invocation.required_previous().ips}
        for address, gateway in _addresses(conf, invocation):
            if gateway and address.ip in there and there[address.ip] != str(gateway):
                raise PluginError(f"{address.ip} has another gateway in prevResult")


def _addresses(
    conf: StaticConf, invocation: Invocation
) -> list[tuple[Interface, IpAddress | None]]:
    if conf.ipam is None:
        raise PluginError("ipam is missing")
    instead = conf.runtime_config.ips or conf.args.cni.ips
    by_argument = _by_argument(invocation)
    addresses: list[tuple[Interface, IpAddress | None]] = []
    if instead:
        addresses += [(read_cidr(address), None) for address in instead]
    else:
        addresses += [
            (read_cidr(one.address), read_ip(one.gateway) if one.gateway else None)
            for one in conf.ipam.addresses
        ]
        addresses += by_argument
    families = [address.version for address, _ in addresses]
    if len(families) > len(set(families)) and not at_least(invocation.version, CHAINING):
        raise PluginError(f"CNI {invocation.version} allows only one address of each family")
    return addresses


def _by_argument(invocation: Invocation) -> list[tuple[Interface, IpAddress | None]]:
    """Read the addresses in CNI_ARGS, each with the last gateway that is in its network."""
    args = read_args(invocation.endpoint.args, {"IP", "GATEWAY"})
    gateways = [read_ip(one) for one in _listed(args.get("GATEWAY", ""))]
    addresses = [read_cidr(one) for one in _listed(args.get("IP", ""))]
    return [
        (address, next((one for one in reversed(gateways) if one in address.network), None))
        for address in addresses
    ]


def _listed(written: str) -> list[str]:
    return [one.strip() for one in written.split(",")] if written else []
