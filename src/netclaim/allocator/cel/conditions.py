"""A selector taken apart: the conditions that `&&` joins, and what each of them reads of a device.

Promise: whatever a condition reads is among its `reads`, however it is written: as a field, as a
key, optionally, by has(), or by a name that cel.bind() gave. Something that is not read by constant
names counts as all that stands above it, such as `("attributes",)`. No I/O.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from netclaim.allocator.cel.check.environment import DEVICE
from netclaim.allocator.cel.device import DeviceView
from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.run.compiler import Program
from netclaim.allocator.cel.selector import Selector
from netclaim.allocator.cel.syntax import ast

# Below the device: `("driver",)`, or `("attributes", "example.com", "model")`.
DeviceRead: TypeAlias = tuple[str, ...]
DEEPEST: Final = 4  # an attribute, and a field of its value, although no value has any
# The names in a place, each with the path that it stands for, or None.
Names: TypeAlias = Mapping[str, DeviceRead | None]


@dataclass(frozen=True, slots=True)
class Condition:
    """One of the conditions of a selector, which all have to hold."""

    reads: frozenset[DeviceRead]
    program: Program

    def holds(self, device: DeviceView) -> bool:
        """Whether it is true of a device; without a value it is not."""
        try:
            return self.program(device) is True
        except EvaluationError:
            return False


def conditions(selector: Selector) -> tuple[Condition, ...]:
    """Return the conditions of a selector in their order."""
    return tuple(_conditions(selector))


def _conditions(selector: Selector) -> Iterator[Condition]:
    for binds, node in joined(selector.checked.root):
        bound = within(binds, node)
        yield Condition(frozenset(_reads(bound, {DEVICE: ()})), selector.part(bound))


def joined(
    node: ast.Node, binds: tuple[ast.Bind, ...] = ()
) -> Iterator[tuple[tuple[ast.Bind, ...], ast.Node]]:
    """Yield what `&&` joins, each with the names that are bound around it."""
    if isinstance(node, ast.Bind):
        yield from joined(node.body, (*binds, node))
    elif isinstance(node, ast.Call) and node.function == "_&&_":
        for argument in node.arguments:
            yield from joined(argument, binds)
    else:
        yield binds, node


def within(binds: tuple[ast.Bind, ...], node: ast.Node) -> ast.Node:
    """Return a node with the names bound around it that it was written in."""
    for bind in reversed(binds):
        node = replace(bind, body=node)
    return node


def _reads(node: ast.Node, names: Names) -> Iterator[DeviceRead]:
    path = _path(node, names)
    if path is not None:
        yield path[:DEEPEST]
    elif isinstance(node, ast.Bind):
        value = _path(node.value, names)
        if value is None:
            yield from _reads(node.value, names)
        yield from _reads(node.body, {**names, node.name: value})
    elif isinstance(node, ast.Fold):
        yield from _reads(node.over, names)
        inner = {**names, **dict.fromkeys(node.names)}
        for part in (node.condition, node.result):
            if part is not None:
                yield from _reads(part, inner)
    else:
        for child in ast.children(node):
            yield from _reads(child, names)


def _path(node: ast.Node, names: Names) -> DeviceRead | None:
    """Return where a path by constants from the device leads; None if it is not such a path."""
    match node:
        case ast.Ident(name=name):
            return names.get(name)
        case ast.Select(operand=operand, field=key):
            owner = _path(operand, names)
        case ast.Call(
            function="_[_]" | "_[?_]", arguments=(operand, ast.Constant(value=str() as key))
        ):
            owner = _path(operand, names)
        case _:
            return None
    return None if owner is None else (*owner, key)
