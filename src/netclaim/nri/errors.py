"""What can go wrong between a plugin and a runtime; a new connection is the next try for all of it.

PeerError
├── ProtocolError           bytes that break the wire's rules; the connection is useless now
│   └── MessageTooBigError  our own message breaks the rules; nothing of it was sent
├── ConnectionLostError     the connection ended before the answer
├── CallTimeoutError        no answer, or no registration, in time
├── StatusError             the other side answered, with an error status
└── HookTimeoutError        a hook was cut off to answer the runtime in time
"""

from netclaim.errors import PeerError


class ProtocolError(PeerError):
    """Bytes that break the wire's rules."""


class MessageTooBigError(ProtocolError):
    """A message above the limit, refused before any of it is sent."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"a ttrpc message of {length} bytes is over the limit of {limit}")
        self.length = length
        self.limit = limit


class ConnectionLostError(PeerError):
    """The connection ended before the answer came."""


class CallTimeoutError(PeerError):
    """What was due did not come in time. The other side may still be at work on it."""

    def __init__(self, what: str, timeout_s: float) -> None:
        super().__init__(f"{what} did not arrive within {timeout_s:g} s")
        self.timeout_s = timeout_s


class StatusError(PeerError):
    """The other side refused; the message is its own."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message or f"status code {code}")
        self.code = code


class HookTimeoutError(PeerError):
    """A hook took so long that the runtime was about to go on without it."""

    def __init__(self, hook: str, limit_s: float) -> None:
        super().__init__(f"{hook} did not finish within {limit_s:.1f} s")
        self.hook = hook
        self.limit_s = limit_s
