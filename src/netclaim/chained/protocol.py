"""What netclaim-attach and the driver say to each other, as bytes.

A request is `netclaim/1 COMMAND`, lines of `key=value`, `length=N`, an empty line, and N bytes:
what the program got on its standard input. An answer is `ok`, `again`, or `error CODE` and a
message. COLLECT and RETIRE are for people (`netclaim driver gc`, `retire`): their `ok` is followed
by lines.

Promise: whatever bytes are fed, only MalformedRequestError comes out, and for an answer only
MalformedAnswerError. No I/O.
"""

import enum
from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from netclaim.errors import PeerError
from netclaim.plain_text import sentence

HEAD_MAX: Final = 64 * 1024  # bytes; CNI_ARGS are the longest part, with a few hundred
BODY_MAX: Final = 1 << 20  # bytes; as much as the program takes from its standard input
MESSAGE_MAX: Final = 32 * 1024  # bytes of an answer; the program reads 64 KiB
TRY_AGAIN_LATER: Final = 11  # CNI's code
OTHER_FAULT: Final = 999  # what CNI's own plugins use for anything else
LISTING_MAX: Final = 1 << 20  # bytes; ten thousand lines, where a node has some hundred things
VERSION: Final = "netclaim/1"


class MalformedRequestError(PeerError):
    """The bytes that came over the socket are not a request."""


class MalformedAnswerError(PeerError):
    """The bytes that came back over the socket are not an answer."""


class Command(enum.StrEnum):
    """What may be asked: CNI's commands, and some of our own.

    WAIT holds a container until its pod is ready. COLLECT has leftovers removed, or listed. RETIRE
    announces that no other driver will come, and lists what has to be released before this one may
    leave.
    """

    ADD = "ADD"
    CHECK = "CHECK"
    DEL = "DEL"
    GC = "GC"
    WAIT = "WAIT"
    COLLECT = "COLLECT"
    RETIRE = "RETIRE"


class Request(msgspec.Struct, frozen=True):
    """One call of the program; a field that it did not send is empty."""

    command: Command
    container_id: str = ""  # the sandbox's
    netns: str = ""
    ifname: str = ""
    args: Mapping[str, str] = msgspec.field(default_factory=dict)
    uid: str = ""  # the pod's; only WAIT sends it here, the others in `args`
    stdin: bytes = b""
    dry_run: bool = False  # for COLLECT: list what would be removed
    instance: str = ""  # for RETIRE: which of a driver's processes is meant

    @property
    def pod_uid(self) -> str:
        """The pod's UID, from either field."""
        return self.uid or self.args.get("K8S_POD_UID", "")

    @property
    def pod_namespace(self) -> str:
        return self.args.get("K8S_POD_NAMESPACE", "")


class Ok(msgspec.Struct, frozen=True):
    """The pod may go on."""


class Again(msgspec.Struct, frozen=True):
    """This instance is leaving; ask the next one, on the same path."""


class Refusal(msgspec.Struct, frozen=True):
    """The pod may not go on; `code` is one of CNI's own, or 100 and above."""

    message: str
    code: int = OTHER_FAULT


class Listing(msgspec.Struct, frozen=True):
    """The answer to COLLECT and RETIRE, for people: what was asked for is done."""

    lines: tuple[str, ...] = ()


Answer: TypeAlias = Ok | Again | Refusal | Listing
OK: Final = Ok()
AGAIN: Final = Again()


class RequestDecoder:
    """Collects the bytes of one request."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, chunk: bytes) -> Request | None:
        """Take bytes; returns the request once it is complete.

        Raises MalformedRequestError, after which nothing more can be read.
        """
        self._received += chunk
        end = self._received.find(b"\n\n", 0, HEAD_MAX)
        if end < 0:
            if len(self._received) >= HEAD_MAX:
                raise MalformedRequestError(f"no end of the head within {HEAD_MAX} bytes")
            return None
        command, fields = _read_head(bytes(self._received[:end]))
        length = _read_length(fields.pop("length", ""))
        body = bytes(self._received[end + 2 :])
        if len(body) > length:
            raise MalformedRequestError(f"{len(body) - length} bytes after the end of the request")
        if len(body) < length:
            return None
        return Request(
            command=command,
            container_id=fields.get("container", ""),
            netns=fields.get("netns", ""),
            ifname=fields.get("ifname", ""),
            args=_read_args(fields.get("args", "")),
            uid=fields.get("uid", ""),
            stdin=body,
            dry_run=fields.get("dry-run", "") == "1",
            instance=fields.get("instance", ""),
        )


def _read_head(head: bytes) -> tuple[Command, dict[str, str]]:
    try:
        first, *lines = head.decode().split("\n")
    except UnicodeDecodeError as error:
        raise MalformedRequestError("the head is not UTF-8") from error
    version, _, word = first.partition(" ")
    if version != VERSION:
        raise MalformedRequestError(f"the request begins with {version[:40]!r}, not {VERSION}")
    if word not in set(Command):
        raise MalformedRequestError(f"unknown command {word[:40]!r}")
    fields: dict[str, str] = {}
    for line in lines:
        key, equals, value = line.partition("=")
        if not equals or key in fields:
            raise MalformedRequestError(f"line {line[:40]!r} is not key=value, or repeats a key")
        fields[key] = value  # a key of a later version is ignored
    return Command(word), fields


def _read_length(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise MalformedRequestError(f"length={text[:40]!r} is not a number of bytes")
    if int(text) > BODY_MAX:
        raise MalformedRequestError(
            f"{text} bytes of standard input; at most {BODY_MAX} are accepted"
        )
    return int(text)


def _read_args(text: str) -> dict[str, str]:
    """Read CNI_ARGS; of two with the same key the last counts, as in CNI's own library."""
    parts = (part.partition("=") for part in text.split(";"))
    return {key: value for key, equals, value in parts if equals}


def encode_answer(answer: Answer) -> bytes:
    """Return the bytes of an answer; a message that is too long is cut."""
    match answer:
        case Ok():
            return b"ok\n"
        case Again():
            return b"again\n"
        case Refusal(message=message, code=code):
            return (
                f"error {code}\n".encode()
                + sentence(message).encode(errors="replace")[:MESSAGE_MAX]
            )
        case Listing(lines=lines):
            return b"ok\n" + _listed(lines)


def encode_collect(*, dry_run: bool) -> bytes:
    option = "dry-run=1\n" if dry_run else ""
    return f"{VERSION} {Command.COLLECT}\n{option}length=0\n\n".encode()


def encode_retire(instance: str) -> bytes:
    """Return the bytes of a RETIRE, for this one of the driver's processes."""
    return f"{VERSION} {Command.RETIRE}\ninstance={instance}\nlength=0\n\n".encode()


def decode_answer(received: bytes) -> Answer:
    """Read a complete answer; raises MalformedAnswerError if it is not one."""
    head, _, body = received.decode(errors="replace").partition("\n")
    word, _, code = head.partition(" ")
    match word:
        case "ok":
            return Listing(tuple(body.splitlines())) if body else OK
        case "again":
            return AGAIN
        case "error" if code.isascii() and code.isdigit() and len(code) <= 9:
            return Refusal(body, int(code))
    raise MalformedAnswerError(f"the driver's answer begins with {head[:40]!r}")


def _listed(lines: tuple[str, ...]) -> bytes:
    """Return as many whole lines as fit; an end of line within a name does not break it."""
    plain = (sentence(line).encode(errors="replace") + b"\n" for line in lines)
    text = b"".join(plain)
    if len(text) <= LISTING_MAX:
        return text
    cut = text[:LISTING_MAX]
    return cut[: cut.rfind(b"\n") + 1] + b"...\n"
