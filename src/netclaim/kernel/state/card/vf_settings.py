"""What a card decides about each of its virtual functions: read, and set, by its physical function.

    IFLA_VFINFO_LIST ── IFLA_VF_INFO ┬ IFLA_VF_MAC, _SPOOFCHK, _TRUST, _RATE, _LINK_STATE
                        one each     └ IFLA_VF_VLAN, or IFLA_VF_VLAN_LIST for another protocol

Promise: what a card does not report is None; nothing is set that is not asked for. Any bytes give a
value or MalformedMessageError.
Limit: Ethernet; not the GUIDs of InfiniBand, nor how a function may ask for its hash key. The
kernel answers for all functions of a card at a time, for which some cards ask each one.
"""

import struct
from collections.abc import Iterator
from typing import Final

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import (
    MalformedMessageError,
    Message,
    Request,
    attribute,
    attributes,
    nested,
    u32,
)
from netclaim.kernel.requests.links import IFINFOMSG, set_link_parts

WITH_FUNCTIONS: Final = u32(uapi.IFLA_EXT_MASK, uapi.RTEXT_FILTER_VF | uapi.RTEXT_FILTER_SKIP_STATS)
SETTING: Final = struct.Struct("=II")  # number, value (linux/if_link.h, like all below)
RATES: Final = struct.Struct("=III")  # number, least, most
VLAN: Final = struct.Struct("=III")  # number, VLAN, priority
VLAN_INFO: Final = struct.Struct("=III2s2x")  # and the protocol, in network order
MAC: Final = struct.Struct("=I32s")  # as long as the longest address
MAC_BYTES: Final = 6
NOT_REPORTED: Final = 0xFFFF_FFFF
ETH_P_8021Q, ETH_P_8021AD = 0x8100, 0x88A8  # linux/if_ether.h
PROTOCOLS: Final = {"802.1Q": ETH_P_8021Q, "802.1ad": ETH_P_8021AD}
LINK_STATES: Final = {"auto": 0, "enable": 1, "disable": 2}


class VfVlan(msgspec.Struct, frozen=True):
    """The tag that the card adds to all that a function sends; VLAN 0 and priority 0 are none."""

    vlan: int
    priority: int = 0
    protocol: int = ETH_P_8021Q


class VfRates(msgspec.Struct, frozen=True):
    """What a function may send at most and is sure of, in Mbit/s; 0: there is no limit."""

    least: int = 0
    most: int = 0


class VfSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of one function; None: not reported, or not to be set."""

    mac: str | None = None
    vlan: VfVlan | None = None
    spoof_check: bool | None = None
    trust: bool | None = None
    rates: VfRates | None = None
    link_state: int | None = None


async def read_vf(rtnl: Rtnl, card_index: int, number: int) -> VfSettings | None:
    """Read the settings of a card's function; None if there is none of this number."""
    payload = IFINFOMSG.pack(0, 0, card_index, 0, 0) + WITH_FUNCTIONS
    about = f"look up the virtual functions of link {card_index}"
    replies = await rtnl.call(Request(uapi.RTM_GETLINK, payload, about))
    return read_vfs(replies[0]).get(number)


def read_vfs(message: Message) -> dict[int, VfSettings]:
    """Read the settings of all functions that a link message describes, by their numbers."""
    if len(message.payload) < IFINFOMSG.size:
        raise MalformedMessageError("a link message without its fixed part")
    listed = dict(attributes(message.payload, IFINFOMSG.size)).get(uapi.IFLA_VFINFO_LIST, b"")
    found = (dict(attributes(each)) for kind, each in attributes(listed))
    return {
        SETTING.unpack_from(_sized(each[uapi.IFLA_VF_MAC], MAC))[0]: _settings(each)
        for each in found
        if uapi.IFLA_VF_MAC in each  # which every function has
    }


def set_vf(card_index: int, number: int, wanted: VfSettings) -> Iterator[tuple[str, Request]]:
    """Yield a request for each setting, by its field: a card may refuse one and take others."""
    for field, part in _parts(number, wanted):
        body = nested(uapi.IFLA_VFINFO_LIST, nested(uapi.IFLA_VF_INFO, part))
        request = set_link_parts(card_index, body)
        about = f"set {field} of virtual function {number} of link {card_index}"
        yield field, msgspec.structs.replace(request, about=about)


def _parts(number: int, wanted: VfSettings) -> Iterator[tuple[str, bytes]]:
    if wanted.mac is not None:
        address = bytes.fromhex(wanted.mac.replace(":", ""))
        yield "mac", attribute(uapi.IFLA_VF_MAC, MAC.pack(number, address))
    if (tag := wanted.vlan) is not None:
        yield "vlan", _vlan_part(number, tag)
    if wanted.rates is not None:
        rates = RATES.pack(number, wanted.rates.least, wanted.rates.most)
        yield "rates", attribute(uapi.IFLA_VF_RATE, rates)
    for field, kind, value in (
        ("spoof_check", uapi.IFLA_VF_SPOOFCHK, wanted.spoof_check),
        ("trust", uapi.IFLA_VF_TRUST, wanted.trust),
        ("link_state", uapi.IFLA_VF_LINK_STATE, wanted.link_state),
    ):
        if value is not None:
            yield field, attribute(kind, SETTING.pack(number, value))


def _vlan_part(number: int, tag: VfVlan) -> bytes:
    if tag.protocol == ETH_P_8021Q:  # which every card that has VLANs takes in this form
        return attribute(uapi.IFLA_VF_VLAN, VLAN.pack(number, tag.vlan, tag.priority))
    protocol = tag.protocol.to_bytes(2, "big")
    info = VLAN_INFO.pack(number, tag.vlan, tag.priority, protocol)
    return nested(uapi.IFLA_VF_VLAN_LIST, attribute(uapi.IFLA_VF_VLAN_INFO, info))


def _settings(found: dict[int, bytes]) -> VfSettings:
    _, address = MAC.unpack_from(_sized(found[uapi.IFLA_VF_MAC], MAC))
    rates = found.get(uapi.IFLA_VF_RATE)
    spoof_check, trust = (
        _value(found, kind) for kind in (uapi.IFLA_VF_SPOOFCHK, uapi.IFLA_VF_TRUST)
    )
    return VfSettings(
        mac=address[:MAC_BYTES].hex(":"),
        vlan=_vlan(found),
        spoof_check=None if spoof_check is None else bool(spoof_check),
        trust=None if trust is None else bool(trust),
        rates=None if rates is None else VfRates(*RATES.unpack_from(_sized(rates, RATES))[1:]),
        link_state=_value(found, uapi.IFLA_VF_LINK_STATE),
    )


def _vlan(found: dict[int, bytes]) -> VfVlan | None:
    listed = dict(attributes(found.get(uapi.IFLA_VF_VLAN_LIST, b"")))
    if info := listed.get(uapi.IFLA_VF_VLAN_INFO):
        _, vlan, priority, protocol = VLAN_INFO.unpack_from(_sized(info, VLAN_INFO))
        return VfVlan(vlan, priority, int.from_bytes(protocol, "big"))
    if (tag := found.get(uapi.IFLA_VF_VLAN)) is not None:
        return VfVlan(*VLAN.unpack_from(_sized(tag, VLAN))[1:])
    return None


def _value(found: dict[int, bytes], kind: int) -> int | None:
    if kind not in found:
        return None
    _, value = SETTING.unpack_from(_sized(found[kind], SETTING))
    return None if value == NOT_REPORTED else int(value)


def _sized(value: bytes, form: struct.Struct) -> bytes:
    if len(value) < form.size:
        raise MalformedMessageError(f"a virtual function's setting of {len(value)} bytes")
    return value
