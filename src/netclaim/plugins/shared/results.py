"""What the plugins that make one link answer."""

from copy import copy
from typing import Final

import msgspec

from netclaim.cni import DNS, Interface, IPConfig, Result
from netclaim.kernel import Link
from netclaim.kernel.requests.ip import IpAddress
from netclaim.kernel.state.link_identity import LinkIdentity
from netclaim.plugins.engine.pod import Pod

BLANK: Final = IPConfig("0.0.0.0/0")


def one_link(pod: Pod, link: Link | LinkIdentity, lease: Result, *, dns: DNS) -> Result:
    """Return the result of a plugin that made one link, which has all addresses."""
    return Result(
        interfaces=(Interface(name=link.name, mac=link.mac, sandbox=pod.path),),
        ips=tuple(on_interface(ip, 0) for ip in lease.ips),
        routes=lease.routes,
        dns=dns,
    )


def on_interface(ip: IPConfig, index: int) -> IPConfig:
    """Return the same address for an interface of the result, by its place in the list."""
    return _changed(ip, interface=index)


def ip_config(address: IpAddress, prefix_length: int, gateway: IpAddress) -> IPConfig:
    """Return an address for a result."""
    return _changed(BLANK, address=f"{address}/{prefix_length}", gateway=str(gateway))


def _changed(ip: IPConfig, **parts: str | int) -> IPConfig:
    """Return a copy with other parts, which are canonical: to read them again takes 15 us."""
    changed = copy(ip)
    for name, value in parts.items():
        msgspec.structs.force_setattr(changed, name, value)
    return changed
