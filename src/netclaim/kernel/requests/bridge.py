"""Requests about a bridge's ports, their options and their VLANs, as bytes.

Promise: several VLANs take one request. Limit: a port is given by its own index, not the bridge's.
"""

import socket
import struct
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import (
    MalformedMessageError,
    Message,
    Request,
    attribute,
    attributes,
    nested,
    u8,
    u16,
    u32,
)
from netclaim.kernel.requests.links import IFINFOMSG

VLAN_INFO: Final = struct.Struct("=HH")  # flags, id


class PortVlan(msgspec.Struct, frozen=True):
    """A VLAN that a port is a member of."""

    id: int
    native: bool = False  # untagged frames belong to it, and leave untagged


def set_port(index: int, *, hairpin: bool, isolated: bool) -> Request:
    """Set whether a port sends frames back where they came from, and is isolated from others."""
    switches = nested(
        uapi.IFLA_PROTINFO,
        u8(uapi.IFLA_BRPORT_MODE, hairpin),
        u8(uapi.IFLA_BRPORT_ISOLATED, isolated),
    )
    return Request(uapi.RTM_SETLINK, _port(index) + switches, f"set bridge port {index}")


def add_port_vlans(index: int, vlans: Sequence[PortVlan]) -> Request:
    """Make a port a member of VLANs."""
    native = uapi.BRIDGE_VLAN_INFO_PVID | uapi.BRIDGE_VLAN_INFO_UNTAGGED
    infos = ((native if vlan.native else 0, vlan.id) for vlan in vlans)
    return Request(uapi.RTM_SETLINK, _vlans(index, infos), f"add VLANs to bridge port {index}")


def delete_port_vlans(index: int, ids: Sequence[int]) -> Request:
    """Remove a port from VLANs."""
    infos = ((0, vlan_id) for vlan_id in ids)
    about = f"delete VLANs of bridge port {index}"
    return Request(uapi.RTM_DELLINK, _vlans(index, infos), about)


def dump_port_vlans() -> Request:
    """Ask for the VLANs of every port of every bridge."""
    payload = _port(0) + u32(uapi.IFLA_EXT_MASK, uapi.RTEXT_FILTER_BRVLAN)
    return Request(uapi.RTM_GETLINK, payload, "list the VLANs of bridge ports", dump=True)


def read_port_vlans(message: Message) -> tuple[int, tuple[int, ...]]:
    """Read the index of a port, and the ids of its VLANs."""
    if len(message.payload) < IFINFOMSG.size:
        raise MalformedMessageError("a bridge port message without its fixed part")
    _, _, index, _, _ = IFINFOMSG.unpack_from(message.payload)
    found = dict(attributes(message.payload, IFINFOMSG.size))
    infos = (
        value
        for kind, value in attributes(found.get(uapi.IFLA_AF_SPEC, b""))
        if kind == uapi.IFLA_BRIDGE_VLAN_INFO
    )
    return index, tuple(_vlan_id(info) for info in infos)


def _vlan_id(info: bytes) -> int:
    if len(info) < VLAN_INFO.size:
        raise MalformedMessageError(f"the description of a VLAN has {len(info)} bytes")
    _, vlan_id = VLAN_INFO.unpack_from(info)
    return int(vlan_id)


def _port(index: int) -> bytes:
    return IFINFOMSG.pack(socket.AF_BRIDGE, 0, index, 0, 0)


def _vlans(index: int, infos: Iterable[tuple[int, int]]) -> bytes:
    described = (attribute(uapi.IFLA_BRIDGE_VLAN_INFO, VLAN_INFO.pack(*info)) for info in infos)
    to_the_bridge = u16(uapi.IFLA_BRIDGE_FLAGS, uapi.BRIDGE_FLAGS_MASTER)
    return _port(index) + nested(uapi.IFLA_AF_SPEC, to_the_bridge, *described)
