"""Follow the claims of the whole cluster, of which only a few matter.

The API server cannot select claims by the node that they were allocated on. Promise: an event whose
text lacks `word` is ignored without being decoded, and nothing is kept of any, so that memory does
not grow with the cluster; a claim that matters is yielded as it is at the start, and after each
change at least once, as text: anybody can write the word into a claim. If the server is cut off,
silent or refuses, it is tried again with growing pauses. Parameters that cannot be decoded, for
example since they are nested a thousand deep, are replaced by what says so, and a claim that cannot
be read even so is ignored: anybody can write a claim, and nobody else must wait for it.
Limit: claims that are gone are not reported. A server that forbids this from the start, or keeps
forbidding it, raises ForbiddenError.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from typing import Final

import msgspec

from netclaim.errors import PeerError
from netclaim.json_text import UNREADABLE
from netclaim.kube.decode import read_event
from netclaim.kube.errors import (
    ForbiddenError,
    MalformedReplyError,
    NotFoundError,
    UnauthorizedError,
    UnreachableError,
)
from netclaim.kube.resource import Selection
from netclaim.kube.watch import Pace, Source

ANY: Final = "0"  # a version: all objects in the server's cache, then their changes
REFUSALS_MAX: Final = 5  # in a row; a server that is just starting refuses everybody for a moment


class _Meta(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(name="resourceVersion")


class _Head(msgspec.Struct, frozen=True):
    metadata: _Meta


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Seen(msgspec.Struct, frozen=True):
    """The version that the watch has reached, and the claim's text if it is one that matters."""

    version: str
    claim: bytes | None = None


_event_decoder = msgspec.json.Decoder(_Event)
_head_decoder = msgspec.json.Decoder(_Head)


async def follow_claims(
    source: Source,
    selection: Selection,
    word: bytes,
    *,
    opened: Callable[[], None],
    pace: Pace | None = None,
) -> AsyncGenerator[bytes, None]:
    """Yield the JSON of claims whose text has `word`, without end; calls `opened` when it works."""
    pace = pace or Pace()
    version, failures, worked = ANY, 0, False
    while True:
        timeout_s = pace.watch_s * pace.chance.uniform(1.0, 1.5)
        try:
            async with source.watch(
                selection,
                resource_version=version,
                timeout_s=timeout_s,
                idle_s=timeout_s + pace.grace_s,
            ) as stream:
                opened()
                heard, worked = False, True
                async for lines in stream:
                    async for seen in _readable(lines, word):
                        version, heard, failures = seen.version, True, 0
                        if seen.claim is not None:
                            yield seen.claim
            if not heard:
                raise UnreachableError("the watch of claims ended without an event")
        except NotFoundError:
            raise
        except PeerError as error:
            failures += 1
            refused = isinstance(error, ForbiddenError | UnauthorizedError)
            if refused and (not worked or failures >= REFUSALS_MAX):
                raise
            if not isinstance(error, UnreachableError):
                version = ANY  # perhaps it was too old
            await pace.sleep(pace.pause_s(failures, 0.0))


async def _readable(lines: Iterable[bytes], word: bytes) -> AsyncIterator[_Seen]:
    """Yield the events that can be read."""
    for line in lines:
        if (seen := _read(line, word) or await _read_in_parts(line, word)) is not None:
            yield seen


def _read(line: bytes, word: bytes) -> _Seen | None:
    """Decode what is needed of an event; None for one that reports an error, or if that fails."""
    try:
        event = _event_decoder.decode(line)
        if event.type == "ERROR":
            return None
        version = _head_decoder.decode(event.object).metadata.resource_version
    except UNREADABLE:
        return None
    return _Seen(version, bytes(event.object) if _matters(event.type, line, word) else None)


async def _read_in_parts(line: bytes, word: bytes) -> _Seen | None:
    """The same for what cannot be decoded whole. Raises the error that an event reports."""
    try:
        event = await read_event(line)
        version = event.object["metadata"]["resourceVersion"]
    except (MalformedReplyError, KeyError, TypeError):
        return None
    matters = _matters(event.type, line, word) and not event.fault
    return _Seen(version, msgspec.json.encode(event.object) if matters else None)


def _matters(kind: str, line: bytes, word: bytes) -> bool:
    return word in line and kind in {"ADDED", "MODIFIED"}
