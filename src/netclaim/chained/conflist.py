"""Put netclaim-attach into a CNI network list, and take it out, as text.

Promise: every byte that is not ours stays as it was, also unknown keys, their order and the file's
indentation; taking out what was put in gives the same text again. The result is read back and
compared before it is returned. A second call returns the text it was given. No I/O.
Limit: this knows nothing of files. The configuration of a single plugin (.conf) is refused.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from netclaim.errors import HostError

PLUGIN_TYPE: Final = "netclaim-attach"
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()

Json = dict[str, Any]


class ConflistError(HostError):
    """A network list that we cannot or must not edit; says why, but not which file it is."""


class PluginEntry(msgspec.Struct, frozen=True):
    """The configuration of netclaim-attach in the network's list."""

    driver: str
    socket: str
    plans: str
    kubelet_state: str

    def to_json(self) -> Json:
        """Return the entry as an element of `plugins`."""
        return {
            "type": PLUGIN_TYPE,
            "driver": self.driver,
            "socket": self.socket,
            "plans": self.plans,
            "kubeletState": self.kubelet_state,
        }


class _Element(msgspec.Struct, frozen=True):
    """One plugin of a list, and its position in the text."""

    start: int
    end: int
    value: Json

    def is_ours(self, driver: str) -> bool:
        return self.value["type"] == PLUGIN_TYPE and self.value.get("driver") == driver


def with_plugin(text: str, entry: PluginEntry) -> str:
    """Add our plugin to the list as its last one, or update it where it already is.

    It is not moved to the end again: other plugins want to be last as well, and would do the same.
    """
    wanted = entry.to_json()
    elements = _read(text)
    ours = [element for element in elements if element.is_ours(entry.driver)]
    edited = text
    for extra in reversed(ours[1:]):
        edited = _cut(edited, _read(edited), extra)
    if not ours:
        last = elements[-1]
        lead = _space_before(text, last)
        edited = f"{text[: last.end]},{lead}{_rendered(wanted, text, last)}{text[last.end :]}"
    elif ours[0].value != wanted:
        first = ours[0]
        edited = edited[: first.start] + _rendered(wanted, text, first) + edited[first.end :]
    kept = [element.value for element in elements if element not in ours[1:]]
    at = kept.index(ours[0].value) if ours else len(kept)
    return _verified(text, edited, [*kept[:at], wanted, *kept[at + 1 :]])


def without_plugin(text: str, driver: str) -> str:
    """Remove our plugin from the list, unless the list would be empty: no runtime can load that."""
    elements = _read(text)
    ours = [element for element in elements if element.is_ours(driver)]
    if len(ours) == len(elements):
        raise ConflistError(f"{PLUGIN_TYPE} is its only plugin; remove the file by hand")
    edited = text
    for element in reversed(ours):
        edited = _cut(edited, _read(edited), element)
    return _verified(text, edited, [element.value for element in elements if element not in ours])


def _read(text: str) -> list[_Element]:
    """Return the plugins of a list that a runtime would load; anything else is an error."""
    document = _parse(text)
    if not isinstance(document, dict):
        raise ConflistError("is not a JSON object")
    if not isinstance(document.get("name"), str):
        raise ConflistError("has no name, so no runtime can load it")
    plugins = document.get("plugins")
    if not isinstance(plugins, list):
        raise ConflistError('has no list "plugins"; netclaim-attach needs a network list')
    if not plugins:
        raise ConflistError("has no plugins, so no runtime can load it")
    for number, plugin in enumerate(plugins):
        if not isinstance(plugin, dict) or not _is_type(plugin.get("type")):
            raise ConflistError(f"plugins[{number}] has no type, so no runtime can load it")
    return list(_elements(text))


def _is_type(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _parse(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise ConflistError(f"is not JSON: {error}") from error


def _elements(text: str) -> Iterator[_Element]:
    """Yield the elements of the last member `plugins` of the object that the text is."""
    for key, start in _members(text):
        if key == "plugins":
            array = start
    at = _after_space(text, array + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield _Element(at, end, value)
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)


def _members(text: str) -> Iterator[tuple[str, int]]:
    """Yield the members of the object that the text is: the name, and where the value begins."""
    at = _after_space(text, _after_space(text, 0) + 1)
    while text[at] != "}":
        key, end = _DECODER.raw_decode(text, at)
        start = _after_space(text, _after_space(text, end) + 1)  # behind the colon
        yield key, start
        _, end = _DECODER.raw_decode(text, start)
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None  # the pattern also matches nothing
    return match.end()


def _space_before(text: str, element: _Element) -> str:
    """Return the space between an element and the comma or bracket before it."""
    return text[len(text[: element.start].rstrip(" \t\n\r")) : element.start]


def _rendered(value: Json, text: str, neighbour: _Element) -> str:
    """Write the value as the plugin beside it is written: with its indentation and line breaks."""
    lead = _space_before(text, neighbour)
    if "\n" not in text[neighbour.start : neighbour.end]:
        compact = ": " not in text[neighbour.start : neighbour.end]
        return json.dumps(value, separators=(",", ":") if compact else None)
    margin = lead.rpartition("\n")[2]
    inner = re.search(r"\n([ \t]*)\"", text[neighbour.start : neighbour.end])
    step = inner[1].removeprefix(margin) if inner else "  "
    return json.dumps(value, indent=step or "  ").replace("\n", f"\n{margin}")


def _cut(text: str, elements: list[_Element], gone: _Element) -> str:
    """Remove an element that is not the only one, and the comma beside it."""
    at = [element.start for element in elements].index(gone.start)
    if at:
        return text[: elements[at - 1].end] + text[gone.end :]
    return text[: gone.start] + text[elements[1].start :]


def _verified(before: str, after: str, plugins: list[Json]) -> str:
    """Check the new text before it is written: as before, but with exactly these plugins."""
    wanted = {**_parse(before), "plugins": plugins}
    _read(after)
    if _parse(after) != wanted:
        raise ConflistError("could not be edited without changing something else; nothing was done")
    return after
