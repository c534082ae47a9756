"""Follow the claims of the whole cluster, of which only a few matter.

The API server cannot select claims by the node that they were allocated on. Promise: an event whose
text lacks `word` is ignored without being decoded, and nothing is kept of any, so that memory does
not grow with the cluster; a claim that matters is yielded as it is at the start, and after each
change at least once. If the server is cut off, silent or refuses, it is tried again with growing
pauses. What cannot be decoded is ignored: anybody can write a claim, and nobody else must wait for
it.
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
from netclaim.model.claim import JsonObject

ANY: Final = "0"  # a version: all objects in the server's cache, then their changes
REFUSALS_MAX: Final = 5  # in a row; a server that is just starting refuses everybody for a moment


class _Meta(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(name="resourceVersion")


class _Head(msgspec.Struct, frozen=True):
    metadata: _Meta

    @property
    def version(self) -> str:
        return self.metadata.resource_version


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Seen(msgspec.Struct, frozen=True):
    """The version that the watch has reached, and the claim if it is one that matters."""

    version: str
    claim: JsonObject | None = None


_event_decoder = msgspec.json.Decoder(_Event)
_head_decoder = msgspec.json.Decoder(_Head)


async def follow_claims(
    source: Source,
    selection: Selection,
    word: bytes,
    *,
    opened: Callable[[], None],
    pace: Pace | None = None,
) -> AsyncGenerator[JsonObject, None]:
    """Yield the claims whose text has `word`, without end. `opened` is called when it works."""
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
    """Yield the events that can be decoded."""
    for line in lines:
        if (seen := await _read(line, word)) is not None:
            yield seen


async def _read(line: bytes, word: bytes) -> _Seen | None:
    """Decode an event; None if that fails. Raises the error that an event reports."""
    if word not in line and (version := _version(line)):
        return _Seen(version)
    try:
        event = await read_event(line)
        version = event.object["metadata"]["resourceVersion"]
    except (MalformedReplyError, KeyError, TypeError):
        return None
    matters = word in line and event.type in {"ADDED", "MODIFIED"} and not event.fault
    return _Seen(version, event.object if matters else None)


def _version(line: bytes) -> str:
    """Return the version of an event's object, without decoding that; empty if there is none."""
    try:
        event = _event_decoder.decode(line)
        return "" if event.type == "ERROR" else _head_decoder.decode(event.object).version
    except UNREADABLE:
        return ""
