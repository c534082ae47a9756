"""Links and addresses of a namespace in the form of `ip a` and `ip -br link`, without the program.

Limit: only the lines that people read; no queueing disciplines, lifetimes or statistics.
"""

import socket
from collections.abc import Iterable
from typing import Final

from netclaim.kernel import Address, Link, Netns, Rtnl, list_addresses, list_links
from netclaim.kernel.netlink import uapi

FLAGS: Final = {  # linux/if.h, in the order in which ip(8) writes them
    0x8: "LOOPBACK",
    0x2: "BROADCAST",
    0x80: "NOARP",
    0x1000: "MULTICAST",
    0x1: "UP",
    0x10000: "LOWER_UP",
}
SCOPES: Final = {uapi.RT_SCOPE_UNIVERSE: "global", 253: "link", 254: "host"}
LINK_TYPES: Final = {uapi.ARPHRD_ETHER: "ether", 772: "loopback"}  # 772 is ARPHRD_LOOPBACK


async def ip_addresses(netns: Netns, name: str = "") -> str:
    """Return the output of `ip a` in a namespace, or of `ip a show NAME`."""
    with Rtnl.open(netns) as rtnl:
        links, addresses = await list_links(rtnl), await list_addresses(rtnl)
    shown = [link for link in links if name in ("", link.name)]
    return "\n".join(line for link in shown for line in _lines(link, links, addresses))


async def ip_links(netns: Netns) -> tuple[tuple[str, str, str, str], ...]:
    """Return the fields of `ip -br link` in a namespace: name, state, MAC and flags."""
    with Rtnl.open(netns) as rtnl:
        links = await list_links(rtnl)
    return tuple(
        (_name(link, links), link.oper_state.upper(), link.mac, _flags(link)) for link in links
    )


def _lines(link: Link, links: Iterable[Link], addresses: Iterable[Address]) -> Iterable[str]:
    state = link.oper_state.upper()
    head = f"{link.index}: {_name(link, links)}: {_flags(link)} mtu {link.mtu} state {state}"
    yield head
    yield f"    link/{LINK_TYPES.get(link.arphrd, 'other')} {link.mac}"
    for address in addresses:
        if address.index == link.index:
            family = "inet" if address.family == socket.AF_INET else "inet6"
            yield f"    {family} {address} scope {SCOPES.get(address.scope, 'other')} {link.name}"


def _name(link: Link, links: Iterable[Link]) -> str:
    """Return a link's name, with its parent or peer behind an @."""
    if not link.parent_index:
        return link.name
    if link.parent_nsid is not None:
        return f"{link.name}@if{link.parent_index}"
    parent = next((other.name for other in links if other.index == link.parent_index), "?")
    return f"{link.name}@{parent}"


def _flags(link: Link) -> str:
    return f"<{','.join(name for flag, name in FLAGS.items() if link.flags & flag)}>"
