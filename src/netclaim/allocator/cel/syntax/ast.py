"""A selector as a tree.

Every node has the place of its text (`start` to `end`), and where an error message points (`at`).
Macros are resolved: has() is a Select, macros that go over a list are a Fold, cel.bind() is a Bind,
and the others consist of calls. `&&` and `||` are calls with any number of arguments. Nodes are
frozen and compared by identity, so that what is known of a node can be kept in a dict.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from netclaim.allocator.cel.values.value import Value

SelectKind: TypeAlias = Literal["value", "presence", "optional"]  # a.b, has(a.b), a.?b
FoldKind: TypeAlias = Literal[
    "all",
    "exists",
    "exists_one",
    "filter",
    "map",
    "transformList",
    "transformMap",
    "transformMapEntry",
]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    start: int
    end: int
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Node):
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Ident(Node):
    """A variable, or the name of a type."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Select(Node):
    """A field of an object or an entry of a map."""

    operand: Node
    field: str
    kind: SelectKind = "value"


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """A function or an operator; a member call has a target."""

    function: str
    arguments: tuple[Node, ...]
    target: Node | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ListLiteral(Node):
    """A list; the elements at `optional` are left out if they are absent."""

    elements: tuple[Node, ...]
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class MapLiteral(Node):
    """A map; the entries at `optional` are left out if their value is absent."""

    entries: tuple[tuple[Node, Node], ...]
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Fold(Node):
    """A macro that goes over a list or a map, with one variable or two."""

    kind: FoldKind
    over: Node
    names: tuple[str, ...]
    condition: Node | None
    result: Node | None


@dataclass(frozen=True, slots=True, eq=False)
class Bind(Node):
    """A name for a value, which is computed when it is first needed."""

    name: str
    value: Node
    body: Node


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes right below one."""
    match node:
        case Select():
            yield node.operand
        case Call():
            yield from (node.target, *node.arguments) if node.target else node.arguments
        case ListLiteral():
            yield from node.elements
        case MapLiteral():
            for key, value in node.entries:
                yield from (key, value)
        case Fold():
            yield from (n for n in (node.over, node.condition, node.result) if n is not None)
        case Bind():
            yield from (node.value, node.body)


def qualified_name(node: Node | None) -> str:
    """Return `a.b.c` for a node that is written like that, else an empty text."""
    match node:
        case Ident(name=name):
            return name
        case Select(operand=operand, field=field, kind="value"):
            prefix = qualified_name(operand)
            return f"{prefix}.{field}" if prefix else ""
    return ""
