"""What the plugins that make one link answer."""

from copy import copy

import msgspec

from netclaim.cni import DNS, Interface, IPConfig, Result
from netclaim.kernel import Link
from netclaim.plugins.pod import Pod

__all__ = ["on_interface", "one_link"]


def one_link(pod: Pod, link: Link, lease: Result, *, dns: DNS) -> Result:
    """Return the result of a plugin that made one link, which has all addresses."""
    return Result(
        interfaces=(Interface(name=link.name, mac=link.mac, sandbox=pod.path),),
        ips=tuple(on_interface(ip, 0) for ip in lease.ips),
        routes=lease.routes,
        dns=dns,
    )


def on_interface(ip: IPConfig, index: int) -> IPConfig:
    """Return the same address for an interface of the result, by its place in the list."""
    placed = copy(ip)  # as it is: reading its parts again takes ten times as long
    msgspec.structs.force_setattr(placed, "interface", index)
    return placed
