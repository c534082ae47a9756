"""What a card says of its virtual functions, and how it is asked."""

import socket
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
from netclaim.kernel.requests.links import IFINFOMSG
from netclaim.kernel.state.card.vf_settings import (
    ETH_P_8021AD,
    VfRates,
    VfSettings,
    VfVlan,
    read_vfs,
    set_vf,
)

MAC = bytes.fromhex("020000000001") + bytes(26)
FIXED = IFINFOMSG.pack(socket.AF_UNSPEC, 1, 7, uapi.IFF_UP, 0)
# Function 1 in full, as the kernel writes it; 2 as by a driver that knows little.
FULL = nested(
    uapi.IFLA_VF_INFO,
    attribute(uapi.IFLA_VF_MAC, struct.pack("=I", 1) + MAC),
    attribute(uapi.IFLA_VF_VLAN, struct.pack("=III", 1, 100, 3)),
    attribute(uapi.IFLA_VF_SPOOFCHK, struct.pack("=II", 1, 1)),
    attribute(uapi.IFLA_VF_LINK_STATE, struct.pack("=II", 1, 2)),
    attribute(uapi.IFLA_VF_RATE, struct.pack("=III", 1, 10, 500)),
    attribute(uapi.IFLA_VF_TRUST, struct.pack("=II", 1, 0)),
    nested(
        uapi.IFLA_VF_VLAN_LIST,
        attribute(uapi.IFLA_VF_VLAN_INFO, struct.pack("=III2s2x", 1, 100, 3, b"\x88\xa8")),
    ),
)
SCANT = nested(
    uapi.IFLA_VF_INFO,
    attribute(uapi.IFLA_VF_MAC, struct.pack("=I", 2) + bytes(32)),
    attribute(uapi.IFLA_VF_VLAN, struct.pack("=III", 2, 0, 0)),
    attribute(uapi.IFLA_VF_SPOOFCHK, struct.pack("=II", 2, 0xFFFFFFFF)),
    attribute(uapi.IFLA_VF_TRUST, struct.pack("=II", 2, 0xFFFFFFFF)),
)
PAYLOAD = FIXED + nested(uapi.IFLA_VFINFO_LIST, FULL, SCANT)
SETTINGS = VfSettings(
    mac="02:00:00:00:00:01",
    vlan=VfVlan(100, 3, ETH_P_8021AD),
    spoof_check=True,
    trust=False,
    rates=VfRates(10, 500),
    link_state=2,
)


def told(payload: bytes) -> dict[int, VfSettings]:
    """Read a message about a link."""
    return read_vfs(Message(uapi.RTM_NEWLINK, 0, 0, payload))


def test_functions_are_read_by_their_numbers() -> None:
    """What a driver does not report is not known; a VLAN without a protocol is one of 802.1Q."""
    assert told(PAYLOAD) == {1: SETTINGS, 2: VfSettings(mac="00:00:00:00:00:00", vlan=VfVlan(0))}
    assert told(FIXED) == {}


def test_what_is_set_is_what_would_be_read() -> None:
    """One request for each setting, in the kernel's own form."""
    parts = []
    for _, request in set_vf(7, 1, SETTINGS):
        assert IFINFOMSG.unpack_from(request.payload)[2] == 7
        listed = dict(attributes(request.payload, IFINFOMSG.size))[uapi.IFLA_VFINFO_LIST]
        (info,) = attributes(listed)
        parts.append(info[1])
    payload = FIXED + nested(uapi.IFLA_VFINFO_LIST, nested(uapi.IFLA_VF_INFO, *parts))
    assert told(payload) == {1: SETTINGS}


def test_only_what_is_wanted_is_set() -> None:
    """A plain VLAN in the form that every card with VLANs takes."""
    assert list(set_vf(7, 1, VfSettings())) == []
    ((field, request),) = set_vf(7, 3, VfSettings(vlan=VfVlan(9, 1)))
    assert field == "vlan"
    assert attribute(uapi.IFLA_VF_VLAN, struct.pack("=III", 3, 9, 1)) in request.payload
    assert "virtual function 3" in request.about


@pytest.mark.parametrize("size", [0, 4, 35])
def test_a_setting_that_is_cut_short_is_no_setting(size: int) -> None:
    """It is an error of the kernel's, not of ours."""
    short = nested(uapi.IFLA_VF_INFO, attribute(uapi.IFLA_VF_MAC, bytes(size)))
    with pytest.raises(MalformedMessageError):
        told(FIXED + nested(uapi.IFLA_VFINFO_LIST, short))
