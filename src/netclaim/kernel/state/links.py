"""A link as a frozen value: read from a message, listed, looked up.

Promise: a value holds the kernel's answer at one moment; if a message lacks an optional part, that
value is empty. Any bytes give a value, None or MalformedMessageError.
Limit: the state of an SR-IOV card's VFs is not here (see `sysfs`): asking the kernel for it makes
some drivers query the card for every VF.
"""

import errno
import socket
from typing import Final

import msgspec

from netclaim.kernel.host.hardware.port_names import stands_for_function
from netclaim.kernel.host.netns import Netns
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import (
    KernelError,
    MalformedMessageError,
    Message,
    Request,
    attributes,
    number,
    signed,
    text_of,
)
from netclaim.kernel.requests.links import (
    IFINFOMSG,
    RTGENMSG,
    dump_links,
    get_link,
    get_link_at,
    get_nsid,
)

# IF_OPER_*, by number (RFC 2863).
OPER_STATES: Final = ("unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up")


class Link(msgspec.Struct, frozen=True):
    """A network link as the kernel describes it."""

    index: int
    name: str
    arphrd: int  # the hardware type, ARPHRD_*
    flags: int  # IFF_*
    altnames: tuple[str, ...] = ()
    alias: str = ""
    mac: str = ""
    perm_mac: str = ""  # the hardware's own; some drivers change it with the MAC
    mtu: int = 0
    txqlen: int = 0
    oper_state: str = "unknown"
    carrier: bool = False
    kind: str = ""  # "veth", "bridge", ...; empty for hardware
    port_kind: str = ""  # the kind of its master, if it is a port of one
    master_index: int = 0  # 0: none
    parent_index: int = 0  # the link below it, or its peer; 0: none
    parent_nsid: int | None = None  # the namespace in which `parent_index` counts; None: its own
    device: str = ""  # the hardware's name on its bus, such as a PCI address
    port_name: str = ""  # what its card calls the port

    @property
    def up(self) -> bool:
        """Whether an administrator switched it on; `oper_state` says whether it works."""
        return bool(self.flags & uapi.IFF_UP)

    @property
    def is_representor(self) -> bool:
        """Whether it stands for a function in its card's switch; the card's own link does not."""
        return stands_for_function(self.port_name)

    @property
    def loopback(self) -> bool:
        """Whether it is the namespace's loopback link."""
        return bool(self.flags & uapi.IFF_LOOPBACK)


async def list_links(rtnl: Rtnl) -> tuple[Link, ...]:
    """List the links of the client's namespace."""
    read = (read_link(message) for message in await rtnl.dump(dump_links()))
    return tuple(link for link in read if link is not None)


async def find_link(rtnl: Rtnl, name: str) -> Link | None:
    """Look up a link by its name or one of its alternative names."""
    return await _find(rtnl, get_link(name))


async def find_link_at(rtnl: Rtnl, index: int) -> Link | None:
    return await _find(rtnl, get_link_at(index))


async def netns_number(rtnl: Rtnl, netns: Netns) -> int | None:
    """Return the number that `parent_nsid` has for links whose peer is in `netns`.

    It is None if the client's namespace has no link to it. The kernel assigns numbers when it
    describes a link, so list the links first.
    """
    for message in await rtnl.call(get_nsid(netns.fd)):
        found = dict(attributes(message.payload, RTGENMSG.size))
        nsid = signed(found.get(uapi.NETNSA_NSID, b"\xff"))
        return None if nsid < 0 else nsid
    return None


def read_link(message: Message) -> Link | None:
    """Read the link that a message describes; None if it describes something else.

    A bridge sends messages of the same kind about its ports (family AF_BRIDGE, where "deleted"
    means that it left the bridge), a wireless driver about its radio. Neither describes a link.
    """
    if message.kind not in {uapi.RTM_NEWLINK, uapi.RTM_DELLINK}:
        return None
    if len(message.payload) < IFINFOMSG.size:
        raise MalformedMessageError("a link message without its fixed part")
    family, arphrd, index, flags, _ = IFINFOMSG.unpack_from(message.payload)
    found = dict(attributes(message.payload, IFINFOMSG.size))
    if family != socket.AF_UNSPEC or uapi.IFLA_WIRELESS in found:
        return None
    get = found.get
    info = dict(attributes(get(uapi.IFLA_LINKINFO, b"")))
    nsid = get(uapi.IFLA_LINK_NETNSID)
    state = number(get(uapi.IFLA_OPERSTATE, b""))
    return Link(
        index=index,
        name=text_of(get(uapi.IFLA_IFNAME, b"")),
        arphrd=arphrd,
        flags=flags,
        altnames=_altnames(get(uapi.IFLA_PROP_LIST, b"")),
        alias=text_of(get(uapi.IFLA_IFALIAS, b"")),
        mac=get(uapi.IFLA_ADDRESS, b"").hex(":"),
        perm_mac=get(uapi.IFLA_PERM_ADDRESS, b"").hex(":"),
        mtu=number(get(uapi.IFLA_MTU, b"")),
        txqlen=number(get(uapi.IFLA_TXQLEN, b"")),
        oper_state=OPER_STATES[state] if state < len(OPER_STATES) else "unknown",
        carrier=bool(number(get(uapi.IFLA_CARRIER, b""))),
        kind=text_of(info.get(uapi.IFLA_INFO_KIND, b"")),
        port_kind=text_of(info.get(uapi.IFLA_INFO_SLAVE_KIND, b"")),
        master_index=number(get(uapi.IFLA_MASTER, b"")),
        parent_index=number(get(uapi.IFLA_LINK, b"")),
        parent_nsid=None if nsid is None else signed(nsid),
        device=text_of(get(uapi.IFLA_PARENT_DEV_NAME, b"")),
        port_name=text_of(get(uapi.IFLA_PHYS_PORT_NAME, b"")),
    )


async def _find(rtnl: Rtnl, request: Request) -> Link | None:
    try:
        replies = await rtnl.call(request)
    except KernelError as error:
        if error.errno == errno.ENODEV:
            return None
        raise
    return next((link for link in map(read_link, replies) if link is not None), None)


def _altnames(properties: bytes) -> tuple[str, ...]:
    if not properties:
        return ()
    return tuple(
        text_of(value) for kind, value in attributes(properties) if kind == uapi.IFLA_ALT_IFNAME
    )
