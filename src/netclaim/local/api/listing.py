"""Lists in pages, and watches: what a client needs to follow a selection of objects.

Promise: the pages of a list are one state of the cluster, or the list ends with 410; a watch
reports every later change once, and from time to time only its version, so that a quiet one can be
resumed.
"""

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from netclaim.local.api.bodies import as_served
from netclaim.local.api.store import Change, Store
from netclaim.local.api.target import Target
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.refusal import RefusedError, bad_request, expired
from netclaim.schema.selector import Selector, parse_selector

BOOKMARK_S: Final = 60.0  # as often as the real server
WATCH_S: Final = 1800.0  # for a watch without a timeout; the real server takes 30 to 60 minutes


@dataclass(frozen=True, slots=True)
class Query:
    """The parameters of a request for a list or watch."""

    selector: Selector
    limit: int = 0
    continue_at: str = ""
    resource_version: str = ""
    watch: bool = False
    bookmarks: bool = False
    timeout_s: float = WATCH_S


class _Page(msgspec.Struct, frozen=True, array_like=True):
    """The content of a continue token."""

    revision: int
    after: tuple[str, str]


def read_query(query: Mapping[str, str], target: Target) -> Query:
    fields = query.get("fieldSelector", "")
    if target.name:  # one object is watched as the collection with its name
        fields = f"metadata.name={target.name}"
    watch = query.get("watch", "") in ("true", "1")
    version = query.get("resourceVersion", "")
    if version and not version.isdecimal():
        message = f'invalid resource version: "{version}"'
        raise RefusedError(500, "", message) if watch else bad_request(message)
    return Query(
        selector=parse_selector(query.get("labelSelector", ""), fields, target.kind),
        limit=_number(query.get("limit", "0")),
        continue_at=query.get("continue", ""),
        resource_version=version,
        watch=watch,
        bookmarks=query.get("allowWatchBookmarks", "") in ("true", "1"),
        timeout_s=_number(query.get("timeoutSeconds", "0")) or WATCH_S,
    )


def _number(text: str) -> int:
    if not text.isdecimal():
        raise bad_request(f'parsing "{text}": invalid syntax')
    return int(text)


def list_objects(store: Store, target: Target, query: Query) -> JsonObject:
    """Return one page, or everything."""
    page = _read_token(query.continue_at) if query.continue_at else _Page(store.revision, ("", ""))
    if page.revision != store.revision and query.continue_at:
        # Only the present state is kept: a list that was overtaken has to begin again.
        raise expired("the provided continue parameter is too old to display a consistent list")
    items: list[JsonObject] = []
    more = ""
    for obj in store.list(target.kind, target.namespace, after=page.after):
        form = as_served(obj, target)
        if not query.selector.selects(form):
            continue
        if query.limit and len(items) == query.limit:
            more = _token(_Page(page.revision, _key(items[-1])))
            break
        items.append({key: form[key] for key in form if key not in ("apiVersion", "kind")})
    meta = {"resourceVersion": str(page.revision), **({"continue": more} if more else {})}
    return {
        "kind": f"{target.kind.name}List",
        "apiVersion": target.address.api_version,
        "metadata": meta,
        "items": items,
    }


async def watch_lines(store: Store, target: Target, query: Query) -> AsyncIterator[bytes]:
    """Yield the lines of a watch, until its time is over."""
    loop = asyncio.get_running_loop()
    end_s = loop.time() + query.timeout_s
    revision = int(query.resource_version or 0)
    if not revision:  # from the present state on, beginning with all of it
        revision = store.revision
        for obj in store.list(target.kind, target.namespace):
            if query.selector.selects(form := as_served(obj, target)):
                yield _line("ADDED", form)
    while (left_s := end_s - loop.time()) > 0:
        for change in store.since(revision):
            if line := _change_line(change, target, query.selector):
                yield line
        revision = store.revision
        try:
            async with asyncio.timeout(min(left_s, BOOKMARK_S)):
                await store.wait_after(revision)
        except TimeoutError:
            if query.bookmarks:
                yield _bookmark(target, revision)


def _change_line(change: Change, target: Target, selector: Selector) -> bytes:
    """Return a change from the selection's view: an object may enter or leave the selection."""
    if change.kind is not target.kind:
        return b""
    if target.namespace and change.object["metadata"].get("namespace") != target.namespace:
        return b""
    forms = [
        as_served(obj, target) if obj is not None else None for obj in (change.old, change.new)
    ]
    old, new = (form if form is not None and selector.selects(form) else None for form in forms)
    if new is not None:
        return _line("ADDED" if old is None else "MODIFIED", new)
    if old is None:
        return b""
    meta = {**old["metadata"], "resourceVersion": str(change.revision)}
    return _line("DELETED", {**old, "metadata": meta})


def _bookmark(target: Target, revision: int) -> bytes:
    obj = {
        "kind": target.kind.name,
        "apiVersion": target.address.api_version,
        "metadata": {"resourceVersion": str(revision), "creationTimestamp": None},
    }
    return _line("BOOKMARK", obj)


def _line(event: str, obj: JsonObject) -> bytes:
    return msgspec.json.encode({"type": event, "object": obj}) + b"\n"


def _key(obj: JsonObject) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _token(page: _Page) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(page)).decode()


def _read_token(text: str) -> _Page:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=_Page)
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise bad_request(f"invalid continue token: {error}") from error
