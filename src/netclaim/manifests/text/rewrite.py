"""Change the content of a YAML document, keeping all text that is still right.

An entry that is unchanged, or only moved into or out of a map beside it, keeps its own text: its
comments, quotes and layout. The rest is printed. Promise: the result is read back and has exactly
the wanted content, and no comment gets lost. Limit: a document of flow style, aliases or odd layout
is printed whole, below its comments.
"""

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Final

import yaml

from netclaim.manifests.text.comments import lost_comments
from netclaim.manifests.text.documents import Document
from netclaim.manifests.text.yaml_dialect import KubeLoader, dump
from netclaim.model.claims.claim import JsonObject

INDENT: Final = 2


class _LayoutError(Exception):
    """The text is laid out in a way that cannot be edited line by line."""


def rewrite(document: Document, wanted: JsonObject) -> str:
    """Return the document's text with as few changes as needed to have the content `wanted`."""
    try:
        text = _Editor(document).edit(wanted)
    except _LayoutError:
        text = _printed(document, wanted)
    if not _says(text, wanted):
        text = _printed(document, wanted)
    lost = lost_comments(document.text, text)
    return _below(lost, document, text) if lost else text


def _below(comments: list[str], document: Document, text: str) -> str:
    """Put comments that have no place in the changed lines above the document."""
    assert document.root is not None
    lines = text.splitlines()
    start = document.root.start_mark.line
    start += lines[start].startswith("---")
    return _joined([*lines[:start], *comments, *lines[start:]], document.text)


def _says(text: str, wanted: JsonObject) -> bool:
    try:
        said = yaml.load(text, Loader=KubeLoader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError):
        return False
    return bool(said == wanted)


def _printed(document: Document, wanted: JsonObject) -> str:
    """Print it whole, as JSON if it was flow style, below the lines that were above it."""
    root = document.root
    assert isinstance(root, yaml.MappingNode)
    lines = document.text.splitlines()
    start = root.start_mark.line
    body = (
        json.dumps(wanted, indent=INDENT, ensure_ascii=False) if root.flow_style else dump(wanted)
    )
    marker = ["---"] if lines[start].startswith("---") else []  # `--- {...}`
    return _joined([*lines[:start], *marker, *body.splitlines()], document.text)


def _joined(lines: list[str], original: str) -> str:
    newline = "\r\n" if "\r\n" in original else "\n"
    return "".join(line + newline for line in lines)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A key of a block map with its value: its lines, and its indentation."""

    key: str
    value: yaml.Node
    old: Any
    lead: list[str]  # whole-line comments above it
    start: int
    stop: int
    column: int


class _Editor:
    """One document's lines; every method returns lines relative to the column of what it edits."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lines = document.text.splitlines()

    def edit(self, wanted: JsonObject) -> str:
        root = self._document.root
        stop = len(self._lines)
        while stop and (_is_comment(self._lines[stop - 1]) or self._lines[stop - 1] == "..."):
            stop -= 1
        entries = self._entries(root, self._document.data(), stop)
        first = min(entry.start for entry in entries.values())
        lines = [*self._lines[:first], *self._assemble(wanted, entries), *self._lines[stop:]]
        return _joined(lines, self._document.text)

    def _entries(self, node: yaml.Node | None, old: Any, stop: int) -> dict[str, _Entry]:
        if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
            raise _LayoutError
        column = node.value[0][0].start_mark.column
        starts = [key.start_mark.line for key, _ in node.value]
        entries = {}
        for (key, value), (lead, start, end) in zip(
            node.value, self._regions(starts, stop, column), strict=True
        ):
            if key.value not in old or key.start_mark.column != column:  # a merge, an explicit key
                raise _LayoutError
            entries[key.value] = _Entry(key.value, value, old[key.value], lead, start, end, column)
        return entries

    def _regions(
        self, starts: list[int], stop: int, column: int
    ) -> list[tuple[list[str], int, int]]:
        """Return the lines of each start, and the comments above it that have its indentation."""
        regions = []
        lead: list[str] = []
        for start, following in zip(starts, [*starts[1:], stop], strict=True):
            end = following
            while end - 1 > start and self._is_lead(self._lines[end - 1], column):
                end -= 1
            regions.append((lead, start, end))
            lead = [_relative(line, column) for line in self._lines[end:following]]
        return regions

    @staticmethod
    def _is_lead(line: str, column: int) -> bool:
        return _is_comment(line) and len(line) - len(line.lstrip()) <= column

    def _assemble(self, wanted: JsonObject, entries: dict[str, _Entry]) -> list[str]:
        """Write a map from entries that were in it, above it or below it, and print the rest."""
        leftover = {key: entry for key, entry in entries.items() if key not in wanted}
        pool = entries
        for entry in leftover.values():
            if isinstance(entry.old, dict):
                with suppress(_LayoutError):
                    pool = {**self._inner(entry), **pool}
        lines = []
        for key, value in wanted.items():
            known = pool.get(key)
            if known is not None:
                lines += [*known.lead, *self._entry(known, value)]
            elif isinstance(value, dict) and leftover.keys() & value.keys():
                lines += [f"{key}:", *_indented(self._assemble(value, leftover), INDENT)]
            else:
                lines += dump({key: value}).splitlines()
        return lines

    def _entry(self, entry: _Entry, wanted: Any) -> list[str]:
        """Write `key: value`: unchanged, with an edited value, or with a printed one."""
        if _same(entry.old, wanted):
            return self._verbatim(entry.start, entry.stop, entry.column)
        node = entry.value
        head = self._verbatim(entry.start, node.start_mark.line, entry.column)
        try:
            body = self._value(entry, wanted)
        except _LayoutError:
            return self._printed_entry(entry, wanted)
        return [*head, *_indented(body, node.start_mark.column - entry.column)]

    def _value(self, entry: _Entry, wanted: Any) -> list[str]:
        """Edit a value that begins on a line below its key."""
        node = entry.value
        if node.start_mark.line > entry.start:
            if isinstance(node, yaml.MappingNode) and isinstance(wanted, dict) and wanted:
                return self._assemble(wanted, self._entries(node, entry.old, entry.stop))
            if isinstance(node, yaml.SequenceNode) and isinstance(wanted, list):
                return self._sequence(node, entry, wanted)
        raise _LayoutError

    def _sequence(self, node: yaml.SequenceNode, entry: _Entry, wanted: list[Any]) -> list[str]:
        if node.flow_style or len(wanted) < len(node.value):
            raise _LayoutError
        column = node.start_mark.column
        starts = [item.start_mark.line for item in node.value]
        lines = []
        kept, added = wanted[: len(node.value)], wanted[len(node.value) :]
        for item, old, new, (lead, start, stop) in zip(
            node.value, entry.old, kept, self._regions(starts, entry.stop, column), strict=True
        ):
            marker = self._lines[start][column : item.start_mark.column]
            if marker.rstrip() != "-":
                raise _LayoutError
            if _same(old, new):
                lines += [*lead, *self._verbatim(start, stop, column)]
            else:
                body = self._item(item, old, new, stop)
                above = list(takewhile(_is_comment, body))  # comments cannot follow the dash
                first, *rest = body[len(above) :]
                lines += [*lead, *above, marker + first, *_indented(rest, len(marker))]
        return [*lines, *(line for new in added for line in dump([new]).splitlines())]

    def _item(self, item: yaml.Node, old: Any, new: Any, stop: int) -> list[str]:
        try:
            return self._assemble(new, self._entries(item, old, stop))
        except _LayoutError:
            return dump(new).splitlines()

    def _inner(self, entry: _Entry) -> dict[str, _Entry]:
        """Return the entries of a map that is removed; the first inherits the comments above it."""
        inner = self._entries(entry.value, entry.old, entry.stop)
        first = next(iter(inner.values()))
        _, _, behind = self._lines[entry.start].partition(":")
        own = [behind] if behind.lstrip().startswith("#") else []
        above = [*own, *self._lines[entry.start + 1 : first.start]]
        lead = [*entry.lead, *(line.strip() for line in above), *first.lead]
        return {**inner, first.key: replace(first, lead=lead)}

    def _printed_entry(self, entry: _Entry, wanted: Any) -> list[str]:
        """Print a new value, keeping the comment on the key's line."""
        first, *rest = dump({entry.key: wanted}).splitlines()
        value = entry.value
        line = self._lines[entry.start]
        one_line = value.start_mark.line == value.end_mark.line == entry.start
        behind = line[value.end_mark.column :] if one_line else line.partition(":")[2]
        if not behind.lstrip().startswith("#"):
            behind = ""
        return [first + behind.rstrip(), *rest]

    def _verbatim(self, start: int, stop: int, column: int) -> list[str]:
        """Return lines unchanged, relative to a column; the first may have a dash before it."""
        if start == stop:
            return []
        first, *rest = self._lines[start:stop]
        return [first[column:], *(_relative(line, column) for line in rest)]


def _same(old: Any, new: Any) -> bool:
    """Compare as JSON does: 1 is not true, 1.0 is not 1."""
    return bool(old == new) and repr(old) == repr(new)


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _relative(line: str, column: int) -> str:
    """Move a line left by a column, or to the margin if it begins further left already."""
    return line[column:] if not line[:column].strip() else line.lstrip()


def _indented(lines: list[str], columns: int) -> list[str]:
    return [" " * columns + line if line else line for line in lines]
