"""Netlink as bytes: requests out, messages and errors in. No I/O.

    datagram = message*     message = header (16 bytes), payload
    payload  = fixed part, attribute*     attribute = length u16, kind u16, value; padded to 4

Promise: whatever bytes come in, the only error is MalformedMessageError. An answer is matched to
its request by sequence number, so one that comes late (its request was given up) is ignored.
Limit: the meaning of the attributes is known only to the modules that send and read them.
"""

import errno
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from netclaim.errors import HostError
from netclaim.kernel.netlink import uapi

HEADER: Final = struct.Struct("=IHHII")  # length, kind, flags, sequence, port
ATTRIBUTE: Final = struct.Struct("=HH")  # length with this header, kind
ERROR_CODE: Final = struct.Struct("=i")  # 0, or a negated errno
KIND_MASK: Final = 0x3FFF  # the two upper bits of an attribute's kind are flags
NESTED: Final = 0x8000
SEQUENCE_MASK: Final = 0xFFFF_FFFF  # the header's field is 32 bits wide
# The kernel's words for a kind of link without its module; other refusals with the same errno have
# words of their own.
UNKNOWN_KIND: Final = "Unknown device type"


class MalformedMessageError(HostError):
    """The kernel sent something that is not netlink as we know it."""


class KernelError(HostError):
    """The kernel refused a request; `errno` is its reason and `detail` its own explanation.

    Who must act depends on `errno`, so a caller that knows what was tried may raise another error.
    """

    def __init__(self, about: str, code: int, detail: str = "") -> None:
        name = errno.errorcode.get(code)
        words = detail or (os.strerror(code) if name else "unknown error")
        super().__init__(f"{about}: {words} ({name or code})")
        self.about = about
        self.errno = code
        self.detail = detail


class Request(msgspec.Struct, frozen=True):
    """A request to the kernel; `about` describes it in words for an error message.

    A dump is answered by a list that ends with NLMSG_DONE, anything else by at most one message
    and an ack. `unsupported` is the meaning of EOPNOTSUPP, if it is known.
    """

    kind: int
    payload: bytes
    about: str
    flags: int = 0
    dump: bool = False
    unsupported: str = ""


class Message(msgspec.Struct, frozen=True):
    """One message from the kernel."""

    kind: int
    flags: int
    sequence: int
    payload: bytes


def messages(datagram: bytes) -> Iterator[Message]:
    """Take a datagram apart. It is checked as far as it is iterated."""
    start, end = 0, len(datagram)
    while start < end:
        if end - start < HEADER.size:
            raise MalformedMessageError(f"{end - start} stray bytes after the last netlink message")
        length, kind, flags, sequence, _ = HEADER.unpack_from(datagram, start)
        if not HEADER.size <= length <= end - start:
            raise MalformedMessageError(
                f"a netlink message of {length} bytes, {end - start} received"
            )
        yield Message(kind, flags, sequence, datagram[start + HEADER.size : start + length])
        start += _aligned(length)


def attributes(payload: bytes, start: int = 0) -> list[tuple[int, bytes]]:
    """List the attributes from `start` on; use dict() of it if no kind comes twice."""
    found = []
    end = len(payload)
    unpack_from = ATTRIBUTE.unpack_from  # this loop is most of the cost of a dump
    while start + 4 <= end:
        length, kind = unpack_from(payload, start)
        if length < 4 or start + length > end:
            raise MalformedMessageError(
                f"a netlink attribute of {length} bytes, {end - start} left"
            )
        found.append((kind & KIND_MASK, payload[start + 4 : start + length]))
        start += (length + 3) & ~3
    return found


def number(value: bytes) -> int:
    """Read an unsigned number of any width that the kernel uses, which is 64 bits at most."""
    if len(value) > 8:
        raise MalformedMessageError(f"a netlink number of {len(value)} bytes")
    return int.from_bytes(value, sys.byteorder)


def signed(value: bytes) -> int:
    return int.from_bytes(value, sys.byteorder, signed=True)


def text_of(value: bytes) -> str:
    """Read a string, with or without its NUL; bytes that are not UTF-8 are shown as escapes."""
    return value.split(b"\0", 1)[0].decode(errors="backslashreplace")


def attribute(kind: int, value: bytes) -> bytes:
    length = ATTRIBUTE.size + len(value)
    return ATTRIBUTE.pack(length, kind) + value + bytes(_aligned(length) - length)


def nested(kind: int, *children: bytes) -> bytes:
    """Encode an attribute made of attributes."""
    return attribute(kind | NESTED, b"".join(children))


def u8(kind: int, value: int) -> bytes:
    return attribute(kind, value.to_bytes(1, sys.byteorder))


def u16(kind: int, value: int) -> bytes:
    return attribute(kind, value.to_bytes(2, sys.byteorder))


def u32(kind: int, value: int) -> bytes:
    return attribute(kind, value.to_bytes(4, sys.byteorder))


def text(kind: int, value: str) -> bytes:
    """Encode a string with its NUL."""
    return attribute(kind, value.encode() + b"\0")


class Exchange:
    """Requests that are sent together, and everything the kernel answers to them.

    Send `outgoing`, `feed` every datagram that comes until `done`. The kernel carries out every
    request of a batch in order, also those after one that failed.
    """

    def __init__(self, requests: Sequence[Request], first_sequence: int) -> None:
        numbered = {
            (first_sequence + position) & SEQUENCE_MASK: request
            for position, request in enumerate(requests)
        }
        self.outgoing = b"".join(_encode(*item) for item in numbered.items())
        self.replies: list[Message] = []
        self.errors: list[KernelError] = []
        self.interrupted = False  # the list changed while it was dumped, so ask again
        self._waiting = numbered

    @property
    def done(self) -> bool:
        """Whether every request has its last answer."""
        return not self._waiting

    def feed(self, datagram: bytes) -> None:
        """Take a received datagram."""
        for message in messages(datagram):
            request = self._waiting.get(message.sequence)
            if request is None:
                continue
            if message.kind in {uapi.NLMSG_ERROR, uapi.NLMSG_DONE}:
                del self._waiting[message.sequence]
                error = _error_of(message, request)
                if error is not None:
                    self.errors.append(error)
            elif message.kind not in {uapi.NLMSG_NOOP, uapi.NLMSG_OVERRUN}:
                self.replies.append(message)
            if request.dump and message.flags & uapi.NLM_F_DUMP_INTR:
                self.interrupted = True


def _encode(sequence: int, request: Request) -> bytes:
    answer = uapi.NLM_F_DUMP if request.dump else uapi.NLM_F_ACK
    flags = request.flags | uapi.NLM_F_REQUEST | answer
    length = HEADER.size + len(request.payload)
    padding = bytes(_aligned(length) - length)
    return HEADER.pack(length, request.kind, flags, sequence, 0) + request.payload + padding


def _error_of(message: Message, request: Request) -> KernelError | None:
    """Read the verdict that ends a request; None means success."""
    payload = message.payload
    if len(payload) < ERROR_CODE.size:
        raise MalformedMessageError("a netlink verdict without its error code")
    (code,) = ERROR_CODE.unpack_from(payload)
    if code == 0:
        return None
    detail = ""
    if message.flags & uapi.NLM_F_ACK_TLVS:
        found = dict(attributes(payload, _attributes_start(message)))
        detail = text_of(found.get(uapi.NLMSGERR_ATTR_MSG, b""))
    if -code == errno.EOPNOTSUPP and detail in ("", UNKNOWN_KIND):
        detail = request.unsupported or detail
    return KernelError(request.about, abs(code), detail)


def _attributes_start(message: Message) -> int:
    """Find the explanation: after the code, and in an error after the request it repeats."""
    if message.kind == uapi.NLMSG_DONE:
        return ERROR_CODE.size
    if len(message.payload) < ERROR_CODE.size + HEADER.size:
        raise MalformedMessageError("a netlink error without the header of its request")
    if message.flags & uapi.NLM_F_CAPPED:
        return ERROR_CODE.size + HEADER.size
    repeated, *_ = HEADER.unpack_from(message.payload, ERROR_CODE.size)
    return ERROR_CODE.size + _aligned(max(repeated, HEADER.size))


def _aligned(length: int) -> int:
    return (length + 3) & ~3
