"""A kernel that sends anything at all: a value, nothing, or MalformedMessageError."""

import ipaddress
import socket
import struct
from collections.abc import Callable
from typing import Final

import pytest

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import (
    Exchange,
    MalformedMessageError,
    Message,
    Request,
    attribute,
    nested,
    text,
    u8,
    u16,
    u32,
)
from netclaim.kernel.requests.bridge import read_port_vlans
from netclaim.kernel.requests.ip import IFADDRMSG, NHMSG, RTMSG, add_address, add_route
from netclaim.kernel.requests.links import IFINFOMSG
from netclaim.kernel.requests.rules import read_rule
from netclaim.kernel.requests.traffic import read_redirection, read_token_bucket, redirect_all
from netclaim.kernel.state.addresses import read_address
from netclaim.kernel.state.card.vf_settings import read_vfs
from netclaim.kernel.state.changes.monitor import read_events
from netclaim.kernel.state.copies.address_copies import read_taken_address
from netclaim.kernel.state.copies.link_copies import read_settings
from netclaim.kernel.state.copies.route_copies import read_taken_route
from netclaim.kernel.state.links import read_link
from netclaim.kernel.state.routes import GROUP_MEMBER, RTNEXTHOP, read_next_hops, read_routes
from tests.pure.kernel.state.card.test_vf_settings import PAYLOAD as FUNCTIONS
from tests.pure.kernel.test_netlink import encoded, verdict
from tests.support.fuzzing import try_all

V4: Final = ipaddress.ip_interface("192.0.2.7/24")
V6: Final = ipaddress.ip_interface("2001:db8::7/64")
MAC: Final = bytes.fromhex("020000000001")

LINK: Final = IFINFOMSG.pack(socket.AF_UNSPEC, 1, 7, uapi.IFF_UP, 0) + b"".join(
    [
        text(uapi.IFLA_IFNAME, "eth1"),
        attribute(uapi.IFLA_ADDRESS, MAC),
        attribute(uapi.IFLA_PERM_ADDRESS, MAC),
        u32(uapi.IFLA_MTU, 1500),
        u32(uapi.IFLA_LINK, 3),
        u32(uapi.IFLA_LINK_NETNSID, 0),
        u32(uapi.IFLA_MASTER, 4),
        u8(uapi.IFLA_OPERSTATE, 6),
        u8(uapi.IFLA_CARRIER, 1),
        u32(uapi.IFLA_TXQLEN, 1000),
        text(uapi.IFLA_IFALIAS, "to the switch"),
        nested(uapi.IFLA_PROP_LIST, text(uapi.IFLA_ALT_IFNAME, "enp3s0")),
        nested(
            uapi.IFLA_LINKINFO,
            text(uapi.IFLA_INFO_KIND, "macvlan"),
            nested(uapi.IFLA_INFO_DATA, u32(uapi.IFLA_MACVLAN_MODE, 4)),
            text(uapi.IFLA_INFO_SLAVE_KIND, "bridge"),
        ),
    ]
)
PORT: Final = IFINFOMSG.pack(socket.AF_BRIDGE, 1, 7, 0, 0) + nested(
    uapi.IFLA_AF_SPEC,
    u16(uapi.IFLA_BRIDGE_FLAGS, 1),
    attribute(uapi.IFLA_BRIDGE_VLAN_INFO, struct.pack("=HH", 0, 10)),
)
ADDRESSES: Final = (
    add_address(7, V4, flags=uapi.IFA_F_PERMANENT).payload,
    add_address(7, V6, flags=uapi.IFA_F_TENTATIVE).payload,
    IFADDRMSG.pack(socket.AF_INET, 32, uapi.IFA_F_PERMANENT, 0, 7)
    + attribute(uapi.IFA_ADDRESS, V4.packed),
)
GATEWAY: Final = attribute(uapi.RTA_GATEWAY, V4.packed)
VIA: Final = attribute(uapi.RTA_VIA, struct.pack("=H", socket.AF_INET6) + V6.packed)
ROUTES: Final = (
    add_route(V4.network, link_index=7, gateway=V4.ip).payload,
    add_route(V6.network, link_index=7, source=V6.ip).payload,
    RTMSG.pack(socket.AF_INET, 0, 0, 0, 254, 3, 0, uapi.RTN_UNICAST, 0)
    + u32(uapi.RTA_TABLE, 1000)
    + u32(uapi.RTA_PRIORITY, 100)
    + attribute(uapi.RTA_PREFSRC, V4.packed)
    + nested(
        uapi.RTA_MULTIPATH,
        RTNEXTHOP.pack(RTNEXTHOP.size + len(GATEWAY), 0, 0, 7) + GATEWAY,
        RTNEXTHOP.pack(RTNEXTHOP.size + len(VIA), 0, 0, 8) + VIA,
    ),
)
NEXT_HOPS: Final = (
    NHMSG.pack(socket.AF_INET, 0, 3, 0, 0)
    + u32(uapi.NHA_ID, 7)
    + u32(uapi.NHA_OIF, 2)
    + attribute(uapi.NHA_GATEWAY, V4.packed),
    NHMSG.pack(socket.AF_UNSPEC, 0, 3, 0, 0)
    + u32(uapi.NHA_ID, 8)
    + attribute(uapi.NHA_GROUP, GROUP_MEMBER.pack(7, 0, 0, 0) * 2),
)
RULE: Final = (
    struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 32, 0, 0, 0, 0, 1, 0)
    + attribute(uapi.FRA_SRC, V4.packed)
    + u32(uapi.FRA_TABLE, 1000)
    + u32(uapi.FRA_PRIORITY, 100)
)
LIMIT: Final = (
    struct.pack("=BxxxiIII", socket.AF_UNSPEC, 7, 0, uapi.TC_H_ROOT, 0)
    + text(uapi.TCA_KIND, "tbf")
    + nested(uapi.TCA_OPTIONS, attribute(uapi.TCA_TBF_PARMS, bytes(range(36))))
)
REDIRECTION: Final = redirect_all(7, 8).payload
REQUESTS: Final = (
    Request(uapi.RTM_NEWLINK, b"abc", "do it"),
    Request(uapi.RTM_GETLINK, b"", "list it", dump=True),
)
DATAGRAMS: Final = (
    encoded(uapi.RTM_NEWLINK, 2, LINK) + encoded(uapi.NLMSG_DONE, 2, struct.pack("=i", 0)),
    encoded(uapi.RTM_DELLINK, 0, LINK),
    encoded(uapi.RTM_NEWADDR, 2, ADDRESSES[0]) + encoded(uapi.RTM_DELADDR, 2, ADDRESSES[1]),
    verdict(1, 0),
    verdict(1, -17, "it is there already", repeat=b"abc"),
    verdict(2, -1, "no"),
)
Readers = tuple[Callable[[Message], object], ...]
SUBJECTS: Final[dict[str, tuple[tuple[bytes, ...], int, Readers]]] = {
    "links": ((LINK, PORT), uapi.RTM_NEWLINK, (read_link, read_settings, read_port_vlans)),
    "virtual functions": ((FUNCTIONS,), uapi.RTM_NEWLINK, (read_vfs,)),
    "addresses": (ADDRESSES, uapi.RTM_NEWADDR, (read_address, lambda m: read_taken_address(m, 7))),
    "routes": (ROUTES, uapi.RTM_NEWROUTE, (read_routes, read_taken_route)),
    "next hops": (NEXT_HOPS, uapi.RTM_NEWNEXTHOP, (lambda m: read_next_hops([m]),)),
    "rules and limits": (
        (RULE, LIMIT, REDIRECTION),
        uapi.RTM_NEWRULE,
        (read_rule, read_token_bucket, read_redirection),
    ),
}


def take(datagram: bytes) -> object:
    """Take a datagram as the answer to two requests, and as an announcement."""
    exchange = Exchange(REQUESTS, 1)
    exchange.feed(datagram)
    return [str(error) for error in exchange.errors], read_events(datagram)


def test_datagrams() -> None:
    """An answer and an announcement may be any bytes."""
    try_all(take, DATAGRAMS, raises=MalformedMessageError)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_readers(subject: str) -> None:
    """So may what a message says of a link, an address, a route; a value can be shown, too."""
    payloads, kind, readers = SUBJECTS[subject]

    def read(payload: bytes) -> int:
        message = Message(kind, 0, 1, payload)
        refusals = 0
        for reader in readers:
            try:
                repr(reader(message))
            except MalformedMessageError:
                refusals += 1
        if refusals == len(readers):
            raise MalformedMessageError("by all")
        return refusals

    try_all(read, payloads, raises=MalformedMessageError)
