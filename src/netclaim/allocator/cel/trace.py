"""Why a selector is or is not true of a device: clause by clause, with the values it read.

This is a pass of its own, so that allocation pays nothing for it. Promise: a clause that is false
or has no value is named in the author's own words, with the value of everything that it reads from
the device. Limit: clauses are what `&&` joins at the top, also inside cel.bind(); the values of a
macro's own variable are not shown.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from netclaim.allocator.cel.check.environment import DEVICE, path_of
from netclaim.allocator.cel.conditions import joined, within
from netclaim.allocator.cel.device import DeviceView
from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.run.compiler import Program
from netclaim.allocator.cel.selector import Selector
from netclaim.allocator.cel.syntax import ast
from netclaim.allocator.cel.values.value import Optional, Value, from_key, type_name

Outcome: TypeAlias = Literal["true", "false", "error"]


@dataclass(frozen=True, slots=True)
class Reading:
    """Something a clause reads from the device; `missing` says why there is no value."""

    text: str
    value: str = ""
    missing: str = ""

    def __str__(self) -> str:
        return f"{self.text} is {self.value}" if not self.missing else self.missing


@dataclass(frozen=True, slots=True)
class Clause:
    """One condition of a selector."""

    text: str
    outcome: Outcome
    readings: tuple[Reading, ...] = ()
    error: str = ""

    def __str__(self) -> str:
        said = f"has no value: {self.error}" if self.outcome == "error" else f"is {self.outcome}"
        read = "; ".join(map(str, self.readings))
        return f"`{self.text}` {said}" + (f" ({read})" if read else "")


class Tracer:
    """A selector whose clauses are compiled once, and asked about many devices."""

    def __init__(self, selector: Selector) -> None:
        self._clauses = tuple(
            _Clause.of(selector, binds, node) for binds, node in joined(selector.checked.root)
        )

    def trace(self, device: DeviceView) -> tuple[Clause, ...]:
        """Return the clauses of the selector, each with what became of it."""
        return tuple(clause.trace(device) for clause in self._clauses)


def render(value: Value) -> str:
    """Write a value as CEL does."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool | None):
        return json.dumps(value)
    if isinstance(value, list):
        return f"[{', '.join(map(render, value))}]"
    if isinstance(value, dict):
        entries = (f"{render(from_key(key))}: {render(one)}" for key, one in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, Optional):
        return f"optional.of({render(value.value)})" if value.present else "optional.none()"
    return str(value)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a selector, with the names that are bound around it."""

    text: str
    node: ast.Node
    program: Program

    @classmethod
    def of(cls, selector: Selector, binds: tuple[ast.Bind, ...], node: ast.Node) -> "_Part":
        return cls(_text(selector, node), node, selector.part(within(binds, node)))

    def read(self, device: DeviceView) -> Reading:
        try:
            return Reading(self.text, render(self.program(device)))
        except EvaluationError as error:
            missing = self._missing(device) or f"{self.text}: {error}"
            return Reading(self.text, missing=missing)

    def _missing(self, device: DeviceView) -> str:
        """Say what the device lacks, where the path says what was looked for."""
        path = path_of(self.node)
        if path is None:
            return ""
        kind, domain, name = path
        what = "attribute" if kind == "attributes" else "capacity"
        domains = device[kind]
        if domain in domains:
            known = ", ".join(sorted(domains[domain]))
            return f"the device has no {what} {name!r} in {domain!r}, only {known}"
        known = ", ".join(sorted(domains)) or "none at all"
        return f"the device has no {what} in {domain!r}; its domains: {known}"


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause of a selector, and what it reads."""

    whole: _Part
    reads: tuple[_Part, ...]

    @classmethod
    def of(cls, selector: Selector, binds: tuple[ast.Bind, ...], node: ast.Node) -> "_Clause":
        names = frozenset({DEVICE, *(bind.name for bind in binds)})
        reads = {_text(selector, one): one for one in _references(node, names)}
        parts = (_Part.of(selector, binds, one) for one in reads.values() if one is not node)
        return cls(_Part.of(selector, binds, node), tuple(parts))

    def trace(self, device: DeviceView) -> Clause:
        """Evaluate it, and what it reads."""
        text, read = self.whole.text, tuple(part.read(device) for part in self.reads)
        try:
            value = self.whole.program(device)
        except EvaluationError as error:
            return Clause(text, "error", read, str(error))
        if not isinstance(value, bool):
            return Clause(text, "error", read, f"it is a {type_name(value)}, not true or false")
        return Clause(text, "true" if value else "false", read)


def _text(selector: Selector, node: ast.Node) -> str:
    return selector.expression[node.start : node.end]


def _references(node: ast.Node, names: frozenset[str]) -> Iterator[ast.Node]:
    """Yield the longest paths that begin at the device or at a bound name."""
    if _root(node) in names and not isinstance(node, ast.Ident):
        yield node
        return
    inner = names
    if isinstance(node, ast.Fold):
        yield from _references(node.over, names)
        inner = names - set(node.names)
    elif isinstance(node, ast.Bind):
        inner = names - {node.name}
    for child in ast.children(node):
        if not isinstance(node, ast.Fold) or child is not node.over:
            yield from _references(child, inner)


def _root(node: ast.Node) -> str:
    """Return the name that a path by fields and constant keys begins with."""
    match node:
        case ast.Ident(name=name):
            return name
        case ast.Select(operand=operand):
            return _root(operand)
        case ast.Call(function="_[_]" | "_[?_]", arguments=(operand, ast.Constant())):
            return _root(operand)
    return ""
