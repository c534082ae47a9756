"""The bytes about a bridge's ports, where the kernel of the test machine knows no VLANs."""

import struct

import pytest

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import (
    MalformedMessageError,
    Message,
    attribute,
    attributes,
    nested,
)
from netclaim.kernel.requests.bridge import (
    PortVlan,
    add_port_vlans,
    delete_port_vlans,
    dump_port_vlans,
    read_port_vlans,
    set_port,
)

LINK_FIXED = 16
AF_BRIDGE = 7


def parts(payload: bytes, kind: int) -> list[tuple[int, bytes]]:
    """Take apart what is nested in a request about port 5."""
    assert struct.unpack_from("=BxHi", payload) == (AF_BRIDGE, 0, 5)
    return attributes(dict(attributes(payload, LINK_FIXED))[kind])


def test_vlans_of_a_port_take_one_request() -> None:
    """Each has its flags (native: PVID and untagged) and its id; the bridge is told to do it."""
    request = add_port_vlans(5, [PortVlan(100, native=True), PortVlan(7)])
    assert request.kind == uapi.RTM_SETLINK
    assert parts(request.payload, uapi.IFLA_AF_SPEC) == [
        (uapi.IFLA_BRIDGE_FLAGS, struct.pack("=H", 1)),
        (uapi.IFLA_BRIDGE_VLAN_INFO, struct.pack("=HH", 0x6, 100)),
        (uapi.IFLA_BRIDGE_VLAN_INFO, struct.pack("=HH", 0, 7)),
    ]


def test_vlans_are_taken_away_by_their_ids() -> None:
    """The kernel's word for that is to delete the link, of the bridge's family."""
    request = delete_port_vlans(5, [1, 4094])
    assert request.kind == uapi.RTM_DELLINK
    assert parts(request.payload, uapi.IFLA_AF_SPEC)[1:] == [
        (uapi.IFLA_BRIDGE_VLAN_INFO, struct.pack("=HH", 0, 1)),
        (uapi.IFLA_BRIDGE_VLAN_INFO, struct.pack("=HH", 0, 4094)),
    ]


@pytest.mark.parametrize(("hairpin", "isolated"), [(True, False), (False, True)])
def test_a_ports_switches_are_bytes(hairpin: bool, isolated: bool) -> None:
    """Both are always told, so that one does not outlive its wish."""
    request = set_port(5, hairpin=hairpin, isolated=isolated)
    assert parts(request.payload, uapi.IFLA_PROTINFO) == [
        (uapi.IFLA_BRPORT_MODE, bytes([hairpin])),
        (uapi.IFLA_BRPORT_ISOLATED, bytes([isolated])),
    ]


def test_all_ports_are_listed_with_their_vlans() -> None:
    """VLANs are asked for by a filter, and read back as ids."""
    request = dump_port_vlans()
    assert request.dump
    filters = dict(attributes(request.payload, LINK_FIXED))
    assert filters[uapi.IFLA_EXT_MASK] == struct.pack("=I", 2)
    infos = [
        attribute(uapi.IFLA_BRIDGE_VLAN_INFO, struct.pack("=HH", 6, 1)),
        attribute(uapi.IFLA_BRIDGE_VLAN_INFO, struct.pack("=HH", 0, 20)),
    ]
    fixed = struct.pack("=BxHiII", AF_BRIDGE, 0, 5, 0, 0)
    message = Message(uapi.RTM_NEWLINK, 0, 1, fixed + nested(uapi.IFLA_AF_SPEC, *infos))
    assert read_port_vlans(message) == (5, (1, 20))
    assert read_port_vlans(Message(uapi.RTM_NEWLINK, 0, 1, fixed)) == (5, ())


@pytest.mark.parametrize(
    "payload",
    [
        b"short",
        struct.pack("=BxHiII", AF_BRIDGE, 0, 5, 0, 0)
        + nested(uapi.IFLA_AF_SPEC, attribute(uapi.IFLA_BRIDGE_VLAN_INFO, b"\1")),
    ],
)
def test_what_is_cut_short_is_malformed(payload: bytes) -> None:
    """Bytes that end too early raise nothing else."""
    with pytest.raises(MalformedMessageError):
        read_port_vlans(Message(uapi.RTM_NEWLINK, 0, 1, payload))
