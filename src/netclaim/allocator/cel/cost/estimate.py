"""The most that an expression can cost, whatever the device is.

Promise: the API server's estimate, by which it refuses a selector (kept cases compare them). A part
whose size it does not know counts as endless there, and so here. No I/O.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from netclaim.allocator.cel.check.checker import Checked
from netclaim.allocator.cel.cost.calls import LIST, MAP, TEXTS, Given, Price, price
from netclaim.allocator.cel.cost.loops import COUNTING, DECIDING, LOOPS
from netclaim.allocator.cel.cost.sizes import (
    DEVICE,
    UNKNOWN,
    Shape,
    field_of,
    within,
)
from netclaim.allocator.cel.library.function import Overload
from netclaim.allocator.cel.syntax import ast
from netclaim.allocator.cel.values.types import DYN, Type
from netclaim.allocator.cel.values.value import Uint

SCALARS: Final = frozenset({"bool", "int", "uint", "double"})  # of size 1
WITH_FIELDS: Final = frozenset({"map", "kubernetes.DRADevice"})  # a field of theirs costs 1
COMPARED_AT_ONCE: Final = frozenset(
    {"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"}
)


@dataclass(frozen=True, slots=True)
class Part:
    """What is known of a part: its cost, its size, and those of what it consists of."""

    cost: int = 0
    size: int | None = None
    shape: Shape | None = None  # for a part of the device
    key: int | None = None  # the size of a list's index or a map's key
    element: int | None = None  # the size of an element or a map's value

    @property
    def length(self) -> int:
        """The size, or UNKNOWN."""
        return UNKNOWN if self.size is None else self.size


def estimate(checked: Checked) -> int:
    """Return the most that a checked expression can cost."""
    return _Estimator(checked).part(checked.root).cost


class _Estimator:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._scope: Mapping[str, Part] = {"device": Part(shape=DEVICE)}
        self._known: dict[ast.Node, Part] = {}
        self._rules: Mapping[type[ast.Node], Callable[[Any], Part]] = {
            ast.Constant: self._constant,
            ast.Ident: self._ident,
            ast.Select: self._select,
            ast.Call: self._call,
            ast.ListLiteral: self._list,
            ast.MapLiteral: self._map,
            ast.Fold: self._fold,
            ast.Bind: self._bind,
        }

    def part(self, node: ast.Node) -> Part:
        """Estimate a node and what is below it."""
        if node not in self._known:  # a macro that is written out can have a part twice
            found = self._rules[type(node)](node)
            self._known[node] = replace(found, cost=within(found.cost))
        return self._known[node]

    def _type(self, node: ast.Node) -> Type:
        return self._checked.types.get(node, DYN)

    def _sized(self, node: ast.Node, cost: int, shape: Shape | None) -> Part:
        """A part of the device, or one whose type says how large it is."""
        return Part(cost, _size_by(self._type(node), shape), shape)

    def _constant(self, node: ast.Constant) -> Part:
        return Part(0, len(node.value) if isinstance(node.value, str | bytes) else 1)

    def _ident(self, node: ast.Ident) -> Part:
        known = self._scope.get(node.name, Part())
        size = _size_by(self._type(node), known.shape)
        return replace(known, cost=1, size=known.size if size is None else size)

    def _select(self, node: ast.Select) -> Part:
        owner = self.part(node.operand)
        if node.kind == "presence":
            return self._sized(node, owner.cost, None)
        if node.kind == "optional":
            return self._sized(node, owner.cost + 1, None)
        cost = 1 if self._type(node.operand).name in WITH_FIELDS else 0
        return self._sized(node, owner.cost + cost, field_of(owner.shape, node.field))

    def _list(self, node: ast.ListLiteral) -> Part:
        parts = [self.part(element) for element in node.elements]
        element = max((part.length for part in parts), default=0)
        cost = sum(part.cost for part in parts) + LIST
        return Part(cost, len(parts), key=1, element=element)

    def _map(self, node: ast.MapLiteral) -> Part:
        keys = [self.part(key) for key, _ in node.entries]
        values = [self.part(value) for _, value in node.entries]
        return Part(
            sum(part.cost for part in (*keys, *values)) + MAP,
            len(keys),
            key=max((part.length for part in keys), default=0),
            element=max((part.length for part in values), default=0),
        )

    def _call(self, node: ast.Call) -> Part:
        operands = self._checked.operands.get(node, node.arguments)
        parts = [self.part(operand) for operand in operands]
        cost = sum(part.cost for part in parts)
        match node.function:
            case "_&&_" | "_||_":
                return Part(cost, 1)
            case "dyn":
                return replace(parts[0], cost=cost + 1, shape=None)
            case "_?_:_":
                return self._conditional(*parts)
            case "_[_]":
                return self._index(node, cost, parts[0])
        prices = [self._price(one, operands, parts) for one in self._checked.overloads[node]]
        sizes = [one.size for one in prices if one.size is not None]
        cost += max(one.cost for one in prices)
        size = max(sizes) if sizes else _size_by(self._type(node), None)
        elements = [part.element for part in parts] if node.function == "_+_" else [None]
        known = [one for one in elements if one is not None]
        element = max(known) if len(known) == len(elements) else None
        return Part(cost, size, key=None if element is None else 1, element=element)

    def _price(self, one: Overload, operands: tuple[ast.Node, ...], parts: list[Part]) -> Price:
        if not operands:
            return Price(1)
        types = [self._type(operand) for operand in operands]
        if one.name == "_==_" and types[0] == types[1] and types[0].name in COMPARED_AT_ONCE:
            return Price(1)
        list_of = types[0].parameters[0].name if types[0].name == "list" else ""
        shape = parts[0].shape.element if parts[0].shape is not None else None
        given = Given(
            [part.length for part in parts],
            [_number(operand) for operand in operands],
            list_of in TEXTS,
            UNKNOWN if shape is None else shape.size,
            isinstance(operands[min(1, len(operands) - 1)], ast.Constant),
        )
        return price(one, given)

    def _conditional(self, condition: Part, yes: Part, no: Part) -> Part:
        cost = condition.cost + max(yes.cost, no.cost)
        size = max(yes.length, no.length)
        if yes.element is None or no.element is None or yes.key is None or no.key is None:
            return Part(cost, size)
        return Part(cost, size, None, max(yes.key, no.key), max(yes.element, no.element))

    def _index(self, node: ast.Call, cost: int, owner: Part) -> Part:
        kind = self._type(node.arguments[0]).name
        shape = owner.shape.element if owner.shape is not None else None
        if kind not in ("list", "map"):
            shape = None
        size = owner.element if owner.element is not None else _size_by(self._type(node), shape)
        return Part(cost + 1, size, shape)

    def _fold(self, node: ast.Fold) -> Part:
        over, loop = self.part(node.over), LOOPS[node.kind]
        names = self._variables(node, over)
        condition = self._in_scope(names, node.condition)
        result = self._in_scope(names, node.result)
        taken = loop.taken + result.cost
        if node.condition is not None:
            taken = max(taken, 1) if node.kind not in DECIDING else 0
        each = loop.each + condition.cost + taken
        cost = over.cost + loop.begin + loop.end + within(over.length * within(each))
        if node.kind in COUNTING:
            return Part(cost, 1)
        made = names[node.names[0]] if node.result is None else result
        if node.kind in ("transformMap", "transformMapEntry"):
            return Part(cost, over.length)
        return Part(cost, over.length, key=1, element=made.length)

    def _variables(self, node: ast.Fold, over: Part) -> dict[str, Part]:
        inner = over.shape or Shape(0)
        key = Part(0, over.key, inner.key)
        value = Part(0, over.element, inner.element)
        if len(node.names) == 2:
            return dict(zip(node.names, (key, value), strict=True))
        is_list = self._type(node.over).name == "list"
        return {node.names[0]: value if is_list else key}

    def _bind(self, node: ast.Bind) -> Part:
        value = self.part(node.value)
        body = self._in_scope({node.name: value}, node.body)
        return replace(body, cost=LIST + value.cost + body.cost, shape=None)

    def _in_scope(self, names: Mapping[str, Part], node: ast.Node | None) -> Part:
        if node is None:
            return Part()
        outer = self._scope
        self._scope = {**outer, **names}
        try:
            return self.part(node)
        finally:
            self._scope = outer


def _size_by(kind: Type, shape: Shape | None) -> int | None:
    """The size of a part of the device, or of what has always the same."""
    if shape is not None:
        return shape.size
    while kind.name == "optional_type":
        kind = kind.parameters[0]
    return 1 if kind.name in SCALARS else None


def _number(node: ast.Node) -> int | None:
    """A number in the text."""
    known = isinstance(node, ast.Constant) and type(node.value) in (int, Uint)
    return int(node.value) if known and isinstance(node, ast.Constant) else None
