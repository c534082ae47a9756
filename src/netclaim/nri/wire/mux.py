"""NRI's multiplexer: several byte streams on one socket. Bytes in, frames out; no I/O.

A frame is a conn id and a length, each 4 bytes big-endian, then the payload. No frame opens or
closes a conn, and nothing holds a sender back.

Promise: however the bytes are cut, `Decoder` gives the same frames, in order, each once; what
`encode` makes is safe for the Go reader. Limit: a payload says nothing about the messages in it;
one message may span frames.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from netclaim.nri.errors import ProtocolError

PLUGIN_CONN = 1  # the plugin's service, called by the runtime
RUNTIME_CONN = 2  # the runtime's service, called by the plugin; 0 is reserved

PAYLOAD_MAX = 4 * 1024 * 1024 + 10  # the largest ttrpc message and its header; Go's limit too
FIRST_MAX = 4096  # the Go reader has a buffer of this size for a message's header and what follows

_HEADER = struct.Struct(">II")


@dataclass(frozen=True, slots=True)
class Frame:
    """A piece of one conn's byte stream; may be empty."""

    conn_id: int
    payload: bytes


def encode(conn_id: int, message: bytes) -> bytes:
    """Return the frames that carry one message: as much as fits in the first, then the rest.

    The Go reader fails (ENOMEM) on a frame larger than its buffer. That is 4096 bytes until it has
    read the message's header, and as much as is missing of the message after that. Many small
    frames instead of the rest in one would overrun its queue of 256, and it would hang up.
    """
    pieces = (message[:FIRST_MAX], message[FIRST_MAX:])
    return b"".join(_HEADER.pack(conn_id, len(piece)) + piece for piece in pieces if piece)


class Decoder:
    """Collects bytes until they make frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Take bytes; the iterator yields the frames that are now complete.

        It raises ProtocolError at a frame that is too big, after the frames before it. From then on
        it raises at once, because the stream cannot be continued.
        """
        self._buffer += chunk
        return self._frames()

    def _frames(self) -> Iterator[Frame]:
        while len(self._buffer) >= _HEADER.size:
            conn_id, length = _HEADER.unpack_from(self._buffer)
            if length > PAYLOAD_MAX:
                raise ProtocolError(
                    f"a mux frame of {length} bytes on conn {conn_id} is over the limit of "
                    f"{PAYLOAD_MAX}"
                )
            end = _HEADER.size + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[_HEADER.size : end])
            del self._buffer[:end]
            yield Frame(conn_id, payload)
