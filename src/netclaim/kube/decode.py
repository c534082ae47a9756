"""What the API server sends, decoded so that one object in it cannot keep the others away.

Anybody may write a claim, and the server passes its parameters on unread (see `json_text`).
Promise: what can be decoded whole is, and costs nothing more. Otherwise, off the event loop, a
driver's own JSON that cannot be read is replaced (`model.claims.unreadable`), and the object is as
good as any other; one that cannot be read even so is left out of a page, and in an event it comes
with its metadata alone.
What is no object of the API at all is a MalformedReplyError.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from netclaim.json_text import UNREADABLE, elements, fault_of, members, read_around
from netclaim.kube.errors import MalformedReplyError, Status, error_of_status
from netclaim.model.api.base import FREE
from netclaim.model.claims.claim import JsonObject
from netclaim.model.claims.unreadable import LEVELS_ABOVE, stand_in
from netclaim.plain_text import sentence

NAME_SHOWN: Final = 320  # characters: a namespace has at most 63, a name 253


class Event(msgspec.Struct, frozen=True):
    """A change. An object with a `fault` cannot be read; of its metadata there is what can be."""

    type: str
    object: JsonObject
    fault: str = ""


class Page(msgspec.Struct, frozen=True):
    """Objects of a list. `left_out` names those that cannot be read, with the reason."""

    items: tuple[JsonObject, ...]
    resource_version: str = ""
    more: str = ""  # the token for the next page; empty if there is none
    left_out: tuple[str, ...] = ()


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: tuple[dict[str, Any], ...] | None = None


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Meta(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    resource_version: str
    namespace: str = ""
    name: str = ""  # a bookmark has none


_page_decoder = msgspec.json.Decoder(_Page)
_list_meta_decoder = msgspec.json.Decoder(_ListMeta)
_event_decoder = msgspec.json.Decoder(_Event)
_object_decoder = msgspec.json.Decoder(dict[str, Any])
_meta_decoder = msgspec.json.Decoder(_Meta)


async def read_object(reply: bytes) -> JsonObject:
    """Decode an object."""
    try:
        return _object_decoder.decode(reply)
    except UNREADABLE:
        return await asyncio.to_thread(_object_in_parts, reply)


async def read_page(reply: bytes) -> Page:
    """Decode a page of a list."""
    try:
        whole = _page_decoder.decode(reply)
    except UNREADABLE:
        return await asyncio.to_thread(_page_in_parts, reply)
    return _page(whole.metadata, whole.items or ())


async def read_event(line: bytes) -> Event:
    """Decode a line of a watch. Raises the error that it reports, if it does."""
    try:
        whole = _event_decoder.decode(line)
        event = Event(whole.type, _object_decoder.decode(whole.object))
    except UNREADABLE:
        event = await asyncio.to_thread(_event_in_parts, line)
    if event.type == "ERROR":
        raise error_of_status(_status(event.object))
    return event


def _object_in_parts(text: bytes) -> JsonObject:
    try:
        return _read_around(text)
    except UNREADABLE as error:
        raise MalformedReplyError(
            f"the API server's answer is not an object: {fault_of(error)}"
        ) from error


def _event_in_parts(line: bytes) -> Event:
    try:
        parts = dict(members(line))
        kind = msgspec.json.decode(parts.get("type", b""), type=str)
        found = parts.get("object", b"")
        try:
            return Event(kind, _read_around(found))
        except UNREADABLE as error:
            return Event(kind, {"metadata": _metadata(found)}, fault_of(error))
    except UNREADABLE as error:
        raise MalformedReplyError(
            f"a watch sent something that is not an event: {fault_of(error)}"
        ) from error


def _status(found: JsonObject) -> Status:
    try:
        return msgspec.convert(found, Status)
    except msgspec.ValidationError as error:
        raise MalformedReplyError(f"a watch sent a malformed error: {error}") from error


def _read_around(text: bytes) -> JsonObject:
    found = read_around(text, FREE, stand_in, levels=LEVELS_ABOVE)
    return msgspec.convert(found, dict[str, Any])


def _page_in_parts(reply: bytes) -> Page:
    items: list[JsonObject] = []
    left_out: list[str] = []
    try:
        parts = dict(members(reply))
        meta = _list_meta_decoder.decode(parts.get("metadata", b"{}"))
        for each in elements(parts.get("items", b"")):
            try:
                items.append(_item(each))
            except UNREADABLE as error:
                left_out.append(f"{_name(each)}: {fault_of(error)}")
    except UNREADABLE as error:
        raise MalformedReplyError(
            f"the API server's answer is not a list: {fault_of(error)}"
        ) from error
    return _page(meta, items, left_out)


def _item(text: bytes) -> JsonObject:
    try:
        return _object_decoder.decode(text)
    except UNREADABLE:
        return _read_around(text)


def _page(meta: _ListMeta, items: Sequence[JsonObject], left_out: Sequence[str] = ()) -> Page:
    return Page(tuple(items), meta.resource_version, meta.continue_, tuple(left_out))


def _metadata(text: bytes) -> JsonObject:
    """Read who an object is, and its version."""
    for key, value in members(text):
        if key == "metadata":
            read: JsonObject = msgspec.to_builtins(_meta_decoder.decode(value))
            return read
    raise ValueError("it has no metadata")


def _name(text: bytes) -> str:
    """Return an object's namespace and name, to be shown; what cannot be read has none."""
    try:
        meta = _metadata(text)
    except UNREADABLE:
        return "an object without a name"
    name = f"{meta.get('namespace', '')}/{meta.get('name', '')}".lstrip("/")
    return sentence(name)[:NAME_SHOWN]
