"""Follow a selection of objects for as long as the process lives: a list, then its changes.

Promise: the stream begins with `Synced`, and after each `Synced` holds every later change exactly
once, in order; when the version is too old to continue from (410), a new `Synced` holds everything
as it is then. If the server is cut off, silent or refuses, it is tried again with growing pauses.
An object that cannot be read is logged and counts as not there; it stops nothing else. Cancel at
any await.
Limit: an answer of 404 raises NotFoundError, because that version of the API is no longer served
and waiting does not bring it back.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

import structlog

from netclaim.errors import PeerError
from netclaim.kube.decode import Event, read_event
from netclaim.kube.errors import (
    ApiError,
    MalformedReplyError,
    NotFoundError,
    ServerFaultError,
    TooManyRequestsError,
    UnreachableError,
)
from netclaim.kube.resource import Listing, Selection
from netclaim.model.claims.claim import JsonObject
from netclaim.pauses import pause_after_s
from netclaim.plain_text import sentence

# The server may fail on the version itself (etcd restored from a backup); then list.
RESUMES_MAX = 5

Key: TypeAlias = tuple[str, str]  # namespace (empty for cluster-wide kinds), name


class Source(Protocol):
    """What a reflector needs of a client."""

    async def list(
        self, selection: Selection, *, keep: Callable[[JsonObject], JsonObject]
    ) -> Listing:
        """Return what to keep of everything selected, and the version to continue from."""

    def watch(
        self, selection: Selection, *, resource_version: str, timeout_s: float, idle_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[bytes]]]:
        """Open the stream of later changes, in batches of lines."""


@dataclass(frozen=True, slots=True)
class Synced:
    """Everything that exists; whatever was known before and is not in here is gone."""

    objects: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class Added:
    """An object that did not exist before, or was not selected."""

    object: JsonObject


@dataclass(frozen=True, slots=True)
class Modified:
    """An object as it is now."""

    object: JsonObject


@dataclass(frozen=True, slots=True)
class Deleted:
    """The last state of an object that is gone or no longer selected."""

    object: JsonObject


Change: TypeAlias = Synced | Added | Modified | Deleted


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to watch and to wait; the pauses are client-go's."""

    watch_s: float = 300.0  # a new watch costs the server little; a dead one costs us this long
    grace_s: float = 15.0  # the server's own end must come before our patience does
    first_pause_s: float = 0.8
    longest_pause_s: float = 30.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: random.Random = field(default_factory=random.Random)

    def pause_s(self, failures: int, hint_s: float) -> float:
        """Return a jittered pause after so many failures in a row, at least what was asked for."""
        grown = pause_after_s(failures, first_s=self.first_pause_s, longest_s=self.longest_pause_s)
        return max(grown * self.chance.uniform(0.5, 1.0), hint_s)


class Reflector:
    """The objects of one selection, and the stream of their changes."""

    def __init__(
        self,
        source: Source,
        selection: Selection,
        *,
        convert: Callable[[JsonObject], JsonObject] = lambda found: found,
        pace: Pace | None = None,
    ) -> None:
        """`convert` is applied to each object that comes in, for example of an older version.

        It keeps the namespace and the name.
        """
        self._source = source
        self.selection: Final = selection
        self._convert = convert
        self._pace = pace or Pace()
        self._store: dict[Key, JsonObject] = {}
        self._version = ""  # empty: list first
        self._failures = 0  # in a row
        self.fault: PeerError | None = None  # why the store may be behind; None while it is not
        self._log = structlog.get_logger().bind(
            resource=selection.resource.plural, fields=selection.fields
        )

    @property
    def store(self) -> Mapping[Key, JsonObject]:
        """The objects as of the change that was yielded last."""
        return MappingProxyType(self._store)

    async def changes(self) -> AsyncGenerator[Change, None]:
        """Yield changes without end; close it (`contextlib.aclosing`) to hang up at once.

        A second call begins again with `Synced`. Only one stream may run at a time, because the
        store belongs to it.
        """
        self._version = ""
        while True:
            try:
                if not self._version:
                    yield await self._list()
                heard = False
                async with self._watch() as stream:
                    self.fault = None
                    async for lines in stream:
                        for line in lines:
                            change = self._take(await read_event(line))
                            heard, self._failures = True, 0
                            if change is not None:
                                yield change
                if not heard:  # bookmarks come every minute, so it was cut off at its beginning
                    raise UnreachableError("the watch ended without an event")
            except NotFoundError:
                raise
            except PeerError as error:
                await self._wait_out(error)

    async def _list(self) -> Synced:
        listing = await self._source.list(self.selection, keep=self._convert)
        self._store = {_key(kept): kept for kept in listing.items}
        self._version = listing.resource_version
        return Synced(tuple(self._store.values()))

    def _watch(self) -> AbstractAsyncContextManager[AsyncIterator[Sequence[bytes]]]:
        pace = self._pace
        # Spread over half the time again, otherwise all nodes of a cluster would return together.
        timeout_s = pace.watch_s * pace.chance.uniform(1.0, 1.5)
        return self._source.watch(
            self.selection,
            resource_version=self._version,
            timeout_s=timeout_s,
            idle_s=timeout_s + pace.grace_s,
        )

    def _take(self, event: Event) -> Change | None:
        """Apply one event to the store; returns what it changed, if anything."""
        raw = event.object
        try:
            key, version = _key(raw), raw["metadata"]["resourceVersion"]
        except (KeyError, TypeError, AttributeError) as error:
            raise MalformedReplyError("a watch sent an object without its metadata") from error
        self._version = version
        if event.type == "BOOKMARK":
            return None
        known = self._store.get(key)
        if event.fault:
            name = sentence("/".join(filter(None, key)))
            self._log.warning("kube.unreadable", count=1, objects=(f"{name}: {event.fault}",))
            return self._forget(key, known)
        if event.type == "DELETED":
            return self._forget(key, self._convert(raw))
        if known is not None and known["metadata"]["resourceVersion"] == version:
            return None  # it came before the cut already
        found = self._store[key] = self._convert(raw)
        return Added(found) if known is None else Modified(found)

    def _forget(self, key: Key, last: JsonObject | None) -> Deleted | None:
        """Remove what is gone, or cannot be read any more; a list would not have it either."""
        known = self._store.pop(key, None)
        return None if known is None or last is None else Deleted(last)

    async def _wait_out(self, error: PeerError) -> None:
        """Pause, and decide whether to continue or to list again."""
        self._failures += 1
        self.fault = error
        passing = isinstance(error, UnreachableError | TooManyRequestsError | ServerFaultError)
        if not passing or self._failures >= RESUMES_MAX:
            self._version = ""
        hint_s = error.retry_after_s or 0.0 if isinstance(error, ApiError) else 0.0
        pause_s = self._pace.pause_s(self._failures, hint_s)
        self._log.info(
            "kube.watch_interrupted",
            error=str(error),
            pause_s=round(pause_s, 3),
            relist=not self._version,
        )
        await self._pace.sleep(pause_s)


def _key(found: JsonObject) -> Key:
    meta = found["metadata"]
    return meta.get("namespace", ""), meta.get("name", "")  # a bookmark has no name
