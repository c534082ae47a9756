"""Requests about links, as bytes: create, change, delete, look up, list.

Promise: a link is described completely, so that one request makes it in the right namespace with
its final name; for what is not given the kernel's own default holds.
Limit: of each kind of link there are only the settings that we use.
"""

import socket
import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import Request, attribute, nested, text, u8, u16, u32

IFINFOMSG: Final = struct.Struct("=BxHiII")  # family, type, index, flags, changed flags
RTGENMSG: Final = struct.Struct("=B3x")  # family

NO_COUNTERS: Final = u32(uapi.IFLA_EXT_MASK, uapi.RTEXT_FILTER_SKIP_STATS)  # half of an answer
MACVLAN_MODES: Final = {"private": 1, "vepa": 2, "bridge": 4, "passthru": 8}
IPVLAN_MODES: Final = {"l2": 0, "l3": 1, "l3s": 2}
MODULES: Final = {"vlan": "8021q"}  # for the kinds whose module has another name


class LinkKind(msgspec.Struct, frozen=True):
    """A kind of link to create, with the settings that only this kind has."""

    name: str
    data: bytes = b""

    @property
    def is_missing(self) -> str:
        """The message if the kernel does not know the kind."""
        module = MODULES.get(self.name, self.name)
        return f"this kernel has no {self.name} links (module {module})"


@cache
def macvlan(mode: str = "bridge", *, broadcast_queue: int = 0) -> LinkKind:
    """Describe a link with its own MAC on a parent; `mode` is a key of MACVLAN_MODES."""
    data = u32(uapi.IFLA_MACVLAN_MODE, MACVLAN_MODES[mode])
    if broadcast_queue:
        data += u32(uapi.IFLA_MACVLAN_BC_QUEUE_LEN, broadcast_queue)
    return LinkKind("macvlan", data)


def ipvlan(mode: str = "l2") -> LinkKind:
    """Describe a link that shares its parent's MAC; `mode` is a key of IPVLAN_MODES."""
    return LinkKind("ipvlan", u16(uapi.IFLA_IPVLAN_MODE, IPVLAN_MODES[mode]))


def vlan(vlan_id: int) -> LinkKind:
    """Describe an 802.1Q link on a parent."""
    return LinkKind("vlan", u16(uapi.IFLA_VLAN_ID, vlan_id))


def veth(
    peer_name: str,
    *,
    peer_netns_fd: int | None = None,
    peer_mac: str = "",
    peer_mtu: int | None = None,
    peer_txqlen: int | None = None,
) -> LinkKind:
    """Describe one end of a pair; the other is `peer_name`, in another namespace if given."""
    peer = _ifinfo() + _link_attributes(
        name=peer_name, netns_fd=peer_netns_fd, mac=peer_mac, mtu=peer_mtu
    )
    if peer_txqlen is not None:
        peer += u32(uapi.IFLA_TXQLEN, peer_txqlen)
    return LinkKind("veth", nested(uapi.VETH_INFO_PEER, peer))


def bridge(*, vlan_filtering: bool = False) -> LinkKind:
    """Describe a bridge with the kernel's defaults, or one that distinguishes VLANs."""
    return LinkKind("bridge", u8(uapi.IFLA_BR_VLAN_FILTERING, 1) if vlan_filtering else b"")


def dummy() -> LinkKind:
    """Describe a link that leads nowhere."""
    return LinkKind("dummy")


def ifb() -> LinkKind:
    """Describe a link that returns what is redirected to it, through its own queue."""
    return LinkKind("ifb")


def vrf(table: int) -> LinkKind:
    """Describe a routing domain, whose ports use the routes of `table`."""
    return LinkKind("vrf", u32(uapi.IFLA_VRF_TABLE, table))


@lru_cache(maxsize=256)  # the links of a node's pods are much alike
def create_link(
    name: str,
    kind: LinkKind,
    *,
    index: int = 0,
    parent_index: int | None = None,
    netns_fd: int | None = None,
    mac: str = "",
    mtu: int | None = None,
    txqlen: int | None = None,
    master_index: int | None = None,
    up: bool = False,
) -> Request:
    """Make a link at once in the right namespace, with its final name, MAC and MTU.

    `parent_index` is looked up in the namespace of the socket, whatever `netns_fd` is. Fails if
    the name is taken there. The kernel does not report the new link's index; if `index` is given,
    requests about the link can be sent together with this one.
    """
    info = [text(uapi.IFLA_INFO_KIND, kind.name)]
    if kind.data:
        info.append(nested(uapi.IFLA_INFO_DATA, kind.data))
    flags = uapi.IFF_UP if up else 0
    payload = _ifinfo(index, flags, flags) + _link_attributes(
        name=name, netns_fd=netns_fd, mac=mac, mtu=mtu, txqlen=txqlen, master_index=master_index
    )
    if parent_index is not None:
        payload += u32(uapi.IFLA_LINK, parent_index)
    return Request(
        uapi.RTM_NEWLINK,
        payload + nested(uapi.IFLA_LINKINFO, *info),
        f"create {kind.name} link {name}",
        uapi.NLM_F_CREATE | uapi.NLM_F_EXCL,
        unsupported=kind.is_missing,
    )


def set_link(
    index: int,
    *,
    name: str = "",
    up: bool | None = None,
    promiscuous: bool | None = None,
    all_multicast: bool | None = None,
    netns_fd: int | None = None,
    mac: str = "",
    mtu: int | None = None,
    txqlen: int | None = None,
    master_index: int | None = None,
    alias: str | None = None,
) -> Request:
    """Change a link. `master_index` 0 takes it out of its master, `alias` "" removes the alias.

    The kernel moves it to the other namespace first, and switches it on last.
    """
    switches = (
        (uapi.IFF_UP, up),
        (uapi.IFF_PROMISC, promiscuous),
        (uapi.IFF_ALLMULTI, all_multicast),
    )
    flags = sum(flag for flag, on in switches if on)
    changed = sum(flag for flag, on in switches if on is not None)
    payload = _ifinfo(index, flags, changed) + _link_attributes(
        name=name, netns_fd=netns_fd, mac=mac, mtu=mtu, txqlen=txqlen, master_index=master_index
    )
    if alias is not None:
        payload += attribute(uapi.IFLA_IFALIAS, alias.encode())
    return Request(uapi.RTM_SETLINK, payload, f"change link {index}")


def set_link_flags(index: int, flags: int, changed: int) -> Request:
    """Change the flags (IFF_*) of a link that are in `changed`."""
    payload = _ifinfo(index, flags, changed)
    return Request(uapi.RTM_SETLINK, payload, f"change the flags of link {index}")


def set_link_parts(index: int, parts: bytes) -> Request:
    """Change what the attributes in `parts` describe."""
    payload = _ifinfo(index)
    return Request(uapi.RTM_SETLINK, payload + parts, f"change link {index}")


def change_altnames(kind: int, index: int, names: Sequence[bytes]) -> Request:
    """Give a link alternative names (RTM_NEWLINKPROP) or remove them (RTM_DELLINKPROP).

    They are bytes, since the kernel allows any.
    """
    written = (attribute(uapi.IFLA_ALT_IFNAME, name) for name in names)
    payload = _ifinfo(index)
    payload += nested(uapi.IFLA_PROP_LIST, *written)
    return Request(kind, payload, f"change the alternative names of link {index}")


def delete_link(index: int) -> Request:
    """Remove a link, together with its peer and any links on it."""
    payload = _ifinfo(index)
    return Request(uapi.RTM_DELLINK, payload, f"delete link {index}")


def delete_link_named(name: str) -> Request:
    """Remove a link by its name; before the ack, a reply reports that it left its namespace."""
    payload = _ifinfo() + text(uapi.IFLA_IFNAME, name)
    return Request(uapi.RTM_DELLINK, payload, f"delete link {name}", flags=uapi.NLM_F_ECHO)


def get_link(name: str) -> Request:
    payload = _ifinfo() + text(uapi.IFLA_IFNAME, name)
    return Request(uapi.RTM_GETLINK, payload + NO_COUNTERS, f"look up link {name}")


def get_link_at(index: int) -> Request:
    payload = _ifinfo(index)
    return Request(uapi.RTM_GETLINK, payload + NO_COUNTERS, f"look up link {index}")


def dump_links() -> Request:
    """Ask for every link, without the state of each VF: some cards must be asked for each one."""
    payload = _ifinfo()
    return Request(uapi.RTM_GETLINK, payload + NO_COUNTERS, "list links", dump=True)


def get_nsid(netns_fd: int) -> Request:
    """Ask for the number by which the socket's namespace knows another one."""
    payload = RTGENMSG.pack(socket.AF_UNSPEC) + u32(uapi.NETNSA_FD, netns_fd)
    return Request(uapi.RTM_GETNSID, payload, "look up the number of a network namespace")


def _ifinfo(index: int = 0, flags: int = 0, changed: int = 0) -> bytes:
    return IFINFOMSG.pack(socket.AF_UNSPEC, 0, index, flags, changed)


def _link_attributes(
    *,
    name: str = "",
    netns_fd: int | None = None,
    mac: str = "",
    mtu: int | None = None,
    txqlen: int | None = None,
    master_index: int | None = None,
) -> bytes:
    payload = text(uapi.IFLA_IFNAME, name) if name else b""
    if netns_fd is not None:
        payload += u32(uapi.IFLA_NET_NS_FD, netns_fd)
    if mac:
        payload += attribute(uapi.IFLA_ADDRESS, bytes.fromhex(mac.replace(":", "")))
    if mtu is not None:
        payload += u32(uapi.IFLA_MTU, mtu)
    if txqlen is not None:
        payload += u32(uapi.IFLA_TXQLEN, txqlen)
    if master_index is not None:
        payload += u32(uapi.IFLA_MASTER, master_index)
    return payload
