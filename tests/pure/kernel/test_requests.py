"""The bytes of requests, where the kernel of the test machine cannot be the judge of them."""

import ipaddress
import socket
import struct

import pytest

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import Request, attributes
from netclaim.kernel.requests.ip import add_address, add_route, delete_route
from netclaim.kernel.requests.links import LinkKind, create_link, ipvlan, macvlan, set_link, vlan

LINK_FIXED = 16
ADDRESS_FIXED = 8
ROUTE_FIXED = 12


def link_data(kind: LinkKind) -> list[tuple[int, bytes]]:
    """Dig the settings of the kind out of a request to create it."""
    request = create_link("net1", kind, parent_index=2)
    info = dict(attributes(dict(attributes(request.payload, LINK_FIXED))[uapi.IFLA_LINKINFO]))
    assert info[uapi.IFLA_INFO_KIND] == kind.name.encode() + b"\0"
    return attributes(info[uapi.IFLA_INFO_DATA])


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (macvlan("private"), (1, struct.pack("=I", 1))),
        (macvlan("vepa"), (1, struct.pack("=I", 2))),
        (macvlan("bridge"), (1, struct.pack("=I", 4))),
        (macvlan("passthru"), (1, struct.pack("=I", 8))),
        (ipvlan("l2"), (1, struct.pack("=H", 0))),
        (ipvlan("l3"), (1, struct.pack("=H", 1))),
        (ipvlan("l3s"), (1, struct.pack("=H", 2))),
        (vlan(4094), (1, struct.pack("=H", 4094))),
    ],
)
def test_kinds_carry_their_settings(kind: LinkKind, written: tuple[int, bytes]) -> None:
    """A mode or VLAN id has the number and the width that the kernel reads."""
    assert link_data(kind) == [written]


@pytest.mark.parametrize(
    ("up", "flags_and_mask"), [(True, (1, 1)), (False, (0, 1)), (None, (0, 0))]
)
def test_only_the_flag_that_is_given_changes(
    up: bool | None, flags_and_mask: tuple[int, int]
) -> None:
    """Switching a link changes the up flag alone, and not at all when it is not given."""
    assert struct.unpack_from("=II", set_link(5, up=up).payload, 8) == flags_and_mask


def test_what_is_not_given_is_not_sent() -> None:
    """A change of nothing has no attributes, so that it changes nothing."""
    assert set_link(5).payload[LINK_FIXED:] == b""


@pytest.mark.parametrize(
    ("address", "broadcast"),
    [
        ("10.0.0.1/24", "10.0.0.255"),
        ("10.0.0.1/31", None),
        ("10.0.0.1/32", None),
        ("fd::1/64", None),
    ],
)
def test_broadcast_where_there_is_one(address: str, broadcast: str | None) -> None:
    """Only an IPv4 network of more than two addresses has a broadcast address."""
    found = dict(attributes(add_address(3, ipaddress.ip_interface(address)).payload, ADDRESS_FIXED))
    packed = found.get(uapi.IFA_BROADCAST)
    assert (socket.inet_ntoa(packed) if packed else None) == broadcast


def scope_of(request: Request) -> int:
    """Read the scope out of the fixed part of a route."""
    return request.payload[6]


def test_the_scope_follows_from_the_gateway() -> None:
    """A route without gateway is for the link alone; IPv6 knows no scopes; what is given holds."""
    four, six = ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("fd00::/64")
    assert scope_of(add_route(four, link_index=2)) == uapi.RT_SCOPE_LINK
    assert scope_of(add_route(four, gateway=ipaddress.ip_address("10.0.0.1"))) == 0
    assert scope_of(add_route(six, link_index=2)) == 0
    assert scope_of(add_route(four, link_index=2, scope=200)) == 200
    assert scope_of(delete_route(four)) == 255


@pytest.mark.parametrize(
    ("table", "byte", "wide"), [(254, 254, None), (255, 255, None), (256, 0, 256)]
)
def test_a_great_table_has_its_own_attribute(table: int, byte: int, wide: int | None) -> None:
    """Tables up to 255 fit the fixed part; greater ones are sent beside it."""
    payload = add_route(ipaddress.ip_network("0.0.0.0/0"), link_index=2, table=table).payload
    found = dict(attributes(payload, ROUTE_FIXED))
    assert payload[4] == byte
    assert found.get(uapi.RTA_TABLE) == (None if wide is None else struct.pack("=I", wide))
    assert uapi.RTA_DST not in found
