"""ttrpc, as far as NRI uses it: unary requests and responses. Bytes in, messages out; no I/O.

A message is a 10-byte big-endian header (length 4, stream id 4, type 1, flags 1) and a protobuf
body. A client numbers its requests with odd ids that only grow; the response has the same id, in
any order. There is no cancel message: a request carries its timeout instead.

Promise: however the bytes are cut, `Decoder` gives the same messages. Limit: no streaming calls,
no metadata, no status details.
"""

import enum
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from google.protobuf.message import DecodeError

from netclaim.model.text import cut
from netclaim.nri.errors import MessageTooBigError, ProtocolError
from netclaim.nri.proto import ttrpc_pb2 as pb

BODY_MAX = 4 * 1024 * 1024  # ttrpc's own limit, in both directions
# Bytes; so a refusal fits in one 4096-byte frame, and kubelet shows 1 KiB of it.
STATUS_TEXT_MAX = 3500

_HEADER = struct.Struct(">IIBB")


class MessageType(enum.IntEnum):
    """The kinds of message; a receiver ignores kinds that it does not know."""

    REQUEST = 1
    RESPONSE = 2
    DATA = 3  # streaming calls only


class Code(enum.IntEnum):
    """The status codes that we send; a peer may use any other."""

    OK = 0
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    UNIMPLEMENTED = 12


@dataclass(frozen=True, slots=True)
class Message:
    """A message with its body still encoded."""

    stream_id: int
    type: int
    body: bytes

    def encode(self) -> bytes:
        """Return header and body. Raises MessageTooBigError if the body must not be sent."""
        if len(self.body) > BODY_MAX:
            raise MessageTooBigError(len(self.body), BODY_MAX)
        return _HEADER.pack(len(self.body), self.stream_id, self.type, 0) + self.body


class Decoder:
    """Collects the bytes of one stream until they make messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> Iterator[Message]:
        """Take bytes; the iterator yields the messages that are now complete.

        It raises ProtocolError at a message that is too big, after the messages before it. From
        then on it raises at once, because the stream cannot be continued.
        """
        self._buffer += chunk
        return self._messages()

    def _messages(self) -> Iterator[Message]:
        while len(self._buffer) >= _HEADER.size:
            length, stream_id, kind, _flags = _HEADER.unpack_from(self._buffer)
            if length > BODY_MAX:
                raise ProtocolError(
                    f"a ttrpc message of {length} bytes on stream {stream_id} is over the limit of "
                    f"{BODY_MAX}"
                )
            end = _HEADER.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_HEADER.size : end])
            del self._buffer[:end]
            yield Message(stream_id, kind, body)


@dataclass(frozen=True, slots=True)
class Request:
    """A call. `timeout_s` counts from its sending; None means that the caller sets no limit."""

    stream_id: int
    service: str
    method: str
    payload: bytes
    timeout_s: float | None = None

    def encode(self) -> bytes:
        """Return the message; a timeout that rounds to zero is sent as one nanosecond."""
        nano = 0 if self.timeout_s is None else round(self.timeout_s * 1e9) or 1
        body = pb.Request(
            service=self.service, method=self.method, payload=self.payload, timeout_nano=nano
        )
        return Message(self.stream_id, MessageType.REQUEST, body.SerializeToString()).encode()


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to the request of the same id: a payload, or a code other than OK and why."""

    stream_id: int
    payload: bytes = b""
    code: int = Code.OK
    text: str = ""

    def encode(self) -> bytes:
        """Return the message; a success carries no status at all."""
        body = pb.Response(payload=self.payload)
        if self.code != Code.OK:
            body.status.code = self.code
            body.status.message = self.text
        return Message(self.stream_id, MessageType.RESPONSE, body.SerializeToString()).encode()


def failure(stream_id: int, code: Code, text: str) -> Response:
    """Make a refusal whose text is cut and cleaned so that it can always be sent."""
    return Response(stream_id, code=code, text=cut(text, STATUS_TEXT_MAX))


def parse_request(message: Message) -> Request:
    """Read a message of type REQUEST."""
    try:
        body = pb.Request.FromString(message.body)
    except DecodeError as error:
        raise ProtocolError(f"request {message.stream_id} has no readable body") from error
    timeout_s = body.timeout_nano / 1e9 if body.timeout_nano else None
    return Request(message.stream_id, body.service, body.method, body.payload, timeout_s)


def parse_response(message: Message) -> Response:
    """Read a message of type RESPONSE."""
    try:
        body = pb.Response.FromString(message.body)
    except DecodeError as error:
        raise ProtocolError(f"response {message.stream_id} has no readable body") from error
    return Response(message.stream_id, body.payload, body.status.code, body.status.message)
