"""Why a selector is or is not true of a device: clause by clause, with the values it read.

This is a pass of its own, so that allocation pays nothing for it. Promise: a clause that is false
or has no value is named in the author's own words, with the value of everything that it reads from
the device. Limit: clauses are what `&&` joins at the top, also inside cel.bind(); the values of a
macro's own variable are not shown.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from netclaim.allocator.cel.check.environment import DEVICE, path_of
from netclaim.allocator.cel.device import DeviceView
from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.run.compiler import compile_node
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


def trace(selector: Selector, device: DeviceView) -> tuple[Clause, ...]:
    """Return the clauses of a selector, each with what became of it."""
    return tuple(
        _Clause(selector, device, binds, node).trace()
        for binds, node in _clauses((), selector.checked.root)
    )


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


def _clauses(
    binds: tuple[ast.Bind, ...], node: ast.Node
) -> Iterator[tuple[tuple[ast.Bind, ...], ast.Node]]:
    """Yield what `&&` joins, each with the names that are bound around it."""
    if isinstance(node, ast.Bind):
        yield from _clauses((*binds, node), node.body)
    elif isinstance(node, ast.Call) and node.function == "_&&_":
        for argument in node.arguments:
            yield from _clauses(binds, argument)
    else:
        yield binds, node


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause of a selector that is asked for one device."""

    selector: Selector
    device: DeviceView
    binds: tuple[ast.Bind, ...]
    node: ast.Node

    def trace(self) -> Clause:
        """Evaluate it, and what it reads."""
        text = self._text(self.node)
        readings = {self._text(node): node for node in self._references(self.node, self._names)}
        read = tuple(self._read(node) for node in readings.values() if node is not self.node)
        try:
            value = self._evaluate(self.node)
        except EvaluationError as error:
            return Clause(text, "error", read, str(error))
        if not isinstance(value, bool):
            return Clause(text, "error", read, f"it is a {type_name(value)}, not true or false")
        return Clause(text, "true" if value else "false", read)

    @property
    def _names(self) -> frozenset[str]:
        return frozenset({DEVICE, *(bind.name for bind in self.binds)})

    def _text(self, node: ast.Node) -> str:
        return self.selector.expression[node.start : node.end]

    def _evaluate(self, node: ast.Node) -> Value:
        for bind in reversed(self.binds):
            node = replace(bind, body=node)
        return compile_node(self.selector.checked, node)(self.device)

    def _read(self, node: ast.Node) -> Reading:
        text = self._text(node)
        try:
            return Reading(text, render(self._evaluate(node)))
        except EvaluationError as error:
            return Reading(text, missing=self._missing(node) or f"{text}: {error}")

    def _missing(self, node: ast.Node) -> str:
        """Say what the device lacks, where the path says what was looked for."""
        path = path_of(node)
        if path is None:
            return ""
        kind, domain, name = path
        what = "attribute" if kind == "attributes" else "capacity"
        domains = self.device[kind]
        if domain in domains:
            known = ", ".join(sorted(domains[domain]))
            return f"the device has no {what} {name!r} in {domain!r}, only {known}"
        known = ", ".join(sorted(domains)) or "none at all"
        return f"the device has no {what} in {domain!r}; its domains: {known}"

    def _references(self, node: ast.Node, names: frozenset[str]) -> Iterator[ast.Node]:
        """Yield the longest paths that begin at the device or at a bound name."""
        if _root(node) in names and not isinstance(node, ast.Ident):
            yield node
            return
        inner = names
        if isinstance(node, ast.Fold):
            yield from self._references(node.over, names)
            inner = names - set(node.names)
        elif isinstance(node, ast.Bind):
            inner = names - {node.name}
        for child in ast.children(node):
            if not isinstance(node, ast.Fold) or child is not node.over:
                yield from self._references(child, inner)


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
