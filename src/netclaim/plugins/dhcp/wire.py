"""DHCP's packets at one interface of a container, which needs no address for them.

Promise: the kernel filters what comes: only IPv4 datagrams to a client's port arrive here, and none
that were sent to another machine. The socket sees them before the container's packet rules do, and
what it sends passes none. Limit: links that are Ethernet.
"""

import asyncio
import ctypes
import errno
import socket
import struct
from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import Final, NamedTuple

from netclaim.dhcp.message import ETHERNET
from netclaim.dhcp.packet import EVERYBODY, unwrap, wrap
from netclaim.errors import HostError, PeerError
from netclaim.kernel import Netns
from netclaim.kernel.host.closing import Closing
from netclaim.kernel.host.netns import socket_in

ETH_P_IP, ETH_P_ARP = 0x0800, 0x0806
# hardware and protocol with their lengths, request, then MAC and address of sender and target
ARP: Final = struct.Struct("!HHBBH6s4s6s4s")
EVERY_MAC: Final = b"\xff" * 6
PACKET_BYTES: Final = 2048  # more than an Ethernet packet of the usual MTU has
SOL_PACKET, PACKET_AUXDATA = 263, 8  # linux/socket.h, linux/if_packet.h
AUXDATA: Final = struct.Struct("=IIIHHHH")
CHECKSUM_LATER: Final = 1 << 3  # TP_STATUS_CSUMNOTREADY: the card would have made it
SO_ATTACH_FILTER: Final = 26  # asm-generic/socket.h
# Of linux/filter.h: load a byte, a half word, four times the header's length; compare; return.
INSTRUCTION: Final = struct.Struct("=HBBI")
LDB_ABS, LDH_ABS, LDH_IND, LDX_MSH = 0x30, 0x28, 0x48, 0xB1
JEQ, JSET, RETURN = 0x15, 0x45, 0x06
ALL_BYTES: Final = 0x40000
FILTER: Final = (
    (LDB_ABS, 0, 0, 9),  # the protocol
    (JEQ, 0, 6, 17),  # UDP
    (LDH_ABS, 0, 0, 6),  # the fragment
    (JSET, 4, 0, 0x1FFF),  # not the first one
    (LDX_MSH, 0, 0, 0),
    (LDH_IND, 0, 0, 2),  # the destination port
    (JEQ, 0, 1, 68),
    (RETURN, 0, 0, ALL_BYTES),
    (RETURN, 0, 0, 0),
)
# A link that is down or gone, and one that cannot take more at the moment: as if it were lost.
LOST: Final = frozenset({errno.ENETDOWN, errno.ENXIO, errno.ENODEV, errno.ENOBUFS, errno.EAGAIN})


class Received(NamedTuple):
    """What came for the client, and from which machine of the link."""

    content: bytes
    mac: str


class LinkLostError(PeerError):
    """The interface is gone."""


class Wire(Closing):
    """A packet socket at one interface."""

    def __init__(self, netns: Netns, ifname: str) -> None:
        """Listen from now on."""
        self._ifname = ifname
        kind = socket.SOCK_DGRAM | socket.SOCK_NONBLOCK
        self._socket = socket_in(netns, socket.AF_PACKET, kind, 0)
        try:
            _filter(self._socket, FILTER)
            self._socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self._socket.bind((ifname, ETH_P_IP))
        except OSError as error:
            self._socket.close()
            if error.errno in LOST:
                raise LinkLostError(f"there is no interface {ifname} in the container") from error
            raise HostError(f"cannot listen at {ifname}: {error.strerror}") from error

    def close(self) -> None:
        """Stop listening. A second call does nothing."""
        self._socket.close()

    def send(
        self, content: bytes, source: IPv4Address, to: IPv4Address | None, mac: str = ""
    ) -> None:
        """Send a message to a server whose MAC is known, or to all."""
        packet = wrap(content, source, to or EVERYBODY)
        machine = bytes.fromhex(mac.replace(":", "")) if to is not None and mac else EVERY_MAC
        self._send(packet, ETH_P_IP, machine)

    def announce(self, mac: str, address: IPv4Address) -> None:
        """Say by ARP who has an address from now on, to machines that knew another (RFC 5227).

        The kernel says it when an interface is switched on with its address, and this one was on.
        """
        own, nobody = bytes.fromhex(mac.replace(":", "")), bytes(len(EVERY_MAC))
        packet = ARP.pack(ETHERNET, ETH_P_IP, 6, 4, 1, own, address.packed, nobody, address.packed)
        self._send(packet, ETH_P_ARP, EVERY_MAC)

    async def receive(self) -> Received:
        """Wait for what comes for the client, from whomever."""
        while True:
            try:
                packet, aux, _, sender = self._socket.recvmsg(PACKET_BYTES, AUX_SPACE)
            except BlockingIOError:
                await _readable(self._socket)
                continue
            except OSError as error:  # the link was switched off, say; it may come back
                if error.errno not in LOST:
                    raise HostError(f"cannot listen at {self._ifname}: {error.strerror}") from error
                continue
            _, _, direction, _, mac = sender
            if direction not in {socket.PACKET_HOST, socket.PACKET_BROADCAST}:
                continue
            datagram = unwrap(packet, checked=not _checksum_later(aux))
            if datagram is not None:
                return Received(datagram.content, mac.hex(":"))

    def _send(self, packet: bytes, protocol: int, mac: bytes) -> None:
        try:
            self._socket.sendto(packet, (self._ifname, protocol, 0, 0, mac))
        except OSError as error:
            if error.errno not in LOST:
                raise HostError(f"cannot send at {self._ifname}: {error.strerror}") from error


AUX_SPACE: Final = socket.CMSG_SPACE(AUXDATA.size)


def _checksum_later(aux: Sequence[tuple[int, int, bytes]]) -> bool:
    for level, kind, data in aux:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA) and len(data) >= AUXDATA.size:
            return bool(AUXDATA.unpack_from(data)[0] & CHECKSUM_LATER)
    return False


def _filter(sock: socket.socket, program: Sequence[tuple[int, int, int, int]]) -> None:
    code = ctypes.create_string_buffer(b"".join(INSTRUCTION.pack(*each) for each in program))
    sock.setsockopt(
        socket.SOL_SOCKET,
        SO_ATTACH_FILTER,
        struct.pack("HL", len(program), ctypes.addressof(code)),
    )


async def _readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sock.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sock.fileno())
