"""One side of an NRI connection without its socket: mux and ttrpc together, both directions.

A side serves calls on one conn and makes calls on the other; the two sides mirror each other.

Promise: only ProtocolError comes out of `receive`, whatever bytes go in, and it names the fault.
Limit: this neither matches answers to calls nor keeps time; the connection does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from netclaim.nri.errors import ProtocolError
from netclaim.nri.wire import mux, ttrpc


@dataclass(frozen=True, slots=True)
class Service:
    """A ttrpc service and the conn on which it is called."""

    conn_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Side:
    """Which service each side of a connection answers."""

    serves: Service
    calls: Service


_PLUGIN = Service(mux.PLUGIN_CONN, "nri.pkg.api.v1alpha1.Plugin")
_RUNTIME = Service(mux.RUNTIME_CONN, "nri.pkg.api.v1alpha1.Runtime")
PLUGIN_SIDE = Side(serves=_PLUGIN, calls=_RUNTIME)
RUNTIME_SIDE = Side(serves=_RUNTIME, calls=_PLUGIN)


class Endpoint:
    """Turns bytes into requests to answer and responses to wait for, and the other way round."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._frames = mux.Decoder()
        self._served = ttrpc.Decoder()
        self._called = ttrpc.Decoder()
        self._last_received = 0
        self._next_id = 1

    def receive(self, chunk: bytes) -> Iterator[ttrpc.Request | ttrpc.Response]:
        """Take bytes; the iterator yields what is now complete.

        Raises ProtocolError, after which the connection cannot be used any more.
        """
        return self._events(self._frames.feed(chunk))

    def _events(self, frames: Iterator[mux.Frame]) -> Iterator[ttrpc.Request | ttrpc.Response]:
        for frame in frames:
            if frame.conn_id == self.side.serves.conn_id:
                yield from self._requests(frame.payload)
            elif frame.conn_id == self.side.calls.conn_id:
                yield from self._responses(frame.payload)
            # Any other conn is not open here; the mux drops what comes for it.

    def _requests(self, payload: bytes) -> Iterator[ttrpc.Request]:
        for message in self._served.feed(payload):
            if message.type == ttrpc.MessageType.REQUEST:
                self._check_id(message.stream_id)
                yield ttrpc.parse_request(message)
            else:
                self._refuse(message)

    def _responses(self, payload: bytes) -> Iterator[ttrpc.Response]:
        for message in self._called.feed(payload):
            if message.type == ttrpc.MessageType.RESPONSE:
                yield ttrpc.parse_response(message)
            else:
                self._refuse(message)

    def _check_id(self, stream_id: int) -> None:
        if stream_id % 2 == 0 or stream_id <= self._last_received:
            raise ProtocolError(
                f"request {stream_id} after {self._last_received}: ids are odd and only grow"
            )
        self._last_received = stream_id

    @staticmethod
    def _refuse(message: ttrpc.Message) -> None:
        """Refuse known kinds in the wrong place, and ignore unknown ones of later versions."""
        if message.type in set(ttrpc.MessageType):
            kind = ttrpc.MessageType(message.type).name.lower()
            raise ProtocolError(f"a {kind} message on stream {message.stream_id} where none can be")

    def request(self, method: str, payload: bytes, timeout_s: float) -> tuple[int, bytes]:
        """Return the id and bytes of a new call. MessageTooBigError leaves no gap in the ids."""
        request = ttrpc.Request(
            self._next_id, self.side.calls.name, method, payload, timeout_s=timeout_s
        )
        data = mux.encode(self.side.calls.conn_id, request.encode())
        self._next_id += 2
        return request.stream_id, data

    def respond(self, response: ttrpc.Response) -> bytes:
        """Return the bytes of an answer; one that is too big becomes a refusal that says so."""
        try:
            message = response.encode()
        except ProtocolError as error:
            message = ttrpc.failure(response.stream_id, ttrpc.Code.UNKNOWN, str(error)).encode()
        return mux.encode(self.side.serves.conn_id, message)
