"""A checked selector as Python closures.

Promise: it evaluates as cel-go does: `&&` and `||` ignore an error on one side if the other side
decides, and so do all() and exists(); a bound value is computed when it is first needed. It raises
nothing but EvaluationError. A path such as device.attributes["d"].x costs three lookups in dicts.
Nothing is counted here; see metered.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from netclaim.allocator.cel.check.checker import Checked
from netclaim.allocator.cel.check.environment import DEVICE, TYPE_NAMES, DevicePath, path_of
from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.function import call
from netclaim.allocator.cel.run.fold import compile_fold
from netclaim.allocator.cel.run.operators import (
    SPECIAL,
    SPENT,
    Frame,
    Run,
    always,
    device_path,
    in_constants,
    presence,
    select,
    select_optional,
    variable,
)
from netclaim.allocator.cel.syntax import ast
from netclaim.allocator.cel.values.types import Type
from netclaim.allocator.cel.values.value import Optional, Value, no_overload, to_key

LoopParts: TypeAlias = tuple[Run | None, Run | None]  # condition and result
Program: TypeAlias = Callable[[Value], Value]  # from a device to a value

NO_CONSTANTS: Final[Mapping[str, Value]] = {}
UNSET: Final = object()  # a bound value that nothing has asked for yet
SELECTIONS: Final = {"value": select, "optional": select_optional, "presence": presence}


def compile_node(
    checked: Checked, root: ast.Node, constants: Mapping[str, Value] = NO_CONSTANTS
) -> Program:
    """Return a function from a device to the value of a part of the expression.

    `constants` are the values of variables other than the device.
    """
    compiler = Compiler(checked, constants)
    run, blank = compiler.run(root), compiler.blank()
    return lambda device: run([device, *blank])


def _device(frame: Frame) -> Value:
    return frame[0]


class Compiler:
    """Goes over a tree; a subclass may do something at each node."""

    def __init__(self, checked: Checked, constants: Mapping[str, Value]) -> None:
        self.checked = checked
        known = {name: always(value) for name, value in constants.items()}
        self._scope: Mapping[str, Run] = {DEVICE: _device, **known}
        self._variables = 0
        self._rules: Mapping[type[ast.Node], Callable[[Any], Run]] = {
            ast.Constant: self._constant,
            ast.Ident: self._ident,
            ast.Select: self._select,
            ast.Call: self.call,
            ast.ListLiteral: self._list,
            ast.MapLiteral: self._map,
            ast.Fold: self._fold,
            ast.Bind: self._bind,
        }

    def blank(self) -> list[Value]:
        """Return a frame behind its device, before anything is counted or bound."""
        return [0, *([None] * self._variables)]

    def run(self, node: ast.Node) -> Run:
        """Return the closure that evaluates a node."""
        slowly = self._rules[type(node)](node)
        path = self.path(node)
        return slowly if path is None else device_path(path, slowly)

    def path(self, node: ast.Node) -> DevicePath | None:
        """Return what a node reads of the device, if that takes three lookups."""
        return path_of(node) if self._scope[DEVICE] is _device else None

    def _constant(self, node: ast.Constant) -> Run:
        return always(node.value)

    def _ident(self, node: ast.Ident) -> Run:
        return self._scope[node.name] if node.name in self._scope else _type_value(node.name)

    def _select(self, node: ast.Select) -> Run:
        name = ast.qualified_name(node)
        if name in TYPE_NAMES:
            return _type_value(name)
        return SELECTIONS[node.kind](self.run(node.operand), node.field)

    def call(self, node: ast.Call) -> Run:
        """Return the closure of a function or an operator."""
        operands = self.checked.operands.get(node, node.arguments)
        runs = [self.run(operand) for operand in operands]
        if node.function in SPECIAL:
            return SPECIAL[node.function](*runs)
        if node.function == "@in" and _is_constant_list(node.arguments[1]):
            return in_constants(runs[0], runs[1]([]))
        return self.ordinary(node, runs)

    def ordinary(self, node: ast.Call, operands: list[Run]) -> Run:
        """Return the closure of a call that evaluates its operands first."""
        name, overloads = node.function, self.checked.overloads[node]
        return lambda frame: call(name, overloads, [operand(frame) for operand in operands])

    def _list(self, node: ast.ListLiteral) -> Run:
        return _list([self.run(element) for element in node.elements], node.optional)

    def _map(self, node: ast.MapLiteral) -> Run:
        entries = [(self.run(key), self.run(value)) for key, value in node.entries]
        return _map(entries, node.optional)

    def _slot(self) -> int:
        self._variables += 1
        return SPENT + self._variables

    def _fold(self, node: ast.Fold) -> Run:
        slots = tuple(self._slot() for _ in node.names)
        names = {name: variable(slot) for name, slot in zip(node.names, slots, strict=True)}
        condition = self._in_scope(names, node.condition) if node.condition is not None else None
        result = self._in_scope(names, node.result) if node.result is not None else None
        return self.loop(node.kind, slots, self.run(node.over), (condition, result))

    def loop(self, kind: ast.FoldKind, slots: tuple[int, ...], over: Run, parts: LoopParts) -> Run:
        """Return a macro's closure, from those of its parts."""
        return compile_fold(kind, slots, over, *parts)

    def _bind(self, node: ast.Bind) -> Run:
        slot = self._slot()
        value = self.run(node.value)

        def read(frame: Frame) -> Value:
            if frame[slot] is UNSET:
                frame[slot] = value(frame)
            return frame[slot]

        body = self._in_scope({node.name: read}, node.body)

        def run(frame: Frame) -> Value:
            frame[slot] = UNSET
            return body(frame)

        return run

    def _in_scope(self, names: Mapping[str, Run], node: ast.Node) -> Run:
        outer = self._scope
        self._scope = {**outer, **names}
        try:
            return self.run(node)
        finally:
            self._scope = outer


def _is_constant_list(node: ast.Node) -> bool:
    return isinstance(node, ast.ListLiteral) and all(
        isinstance(element, ast.Constant) for element in node.elements
    )


def _type_value(name: str) -> Run:
    return always(Type(TYPE_NAMES[name].parameters[0].name))


def _list(elements: list[Run], optional: frozenset[int]) -> Run:
    if not optional:
        return lambda frame: [element(frame) for element in elements]

    def run(frame: Frame) -> Value:
        made: list[Value] = []
        for position, element in enumerate(elements):
            value = element(frame)
            made += _present(value) if position in optional else [value]
        return made

    return run


def _map(entries: list[tuple[Run, Run]], optional: frozenset[int]) -> Run:
    def run(frame: Frame) -> Value:
        made: dict[Value, Value] = {}
        for position, (key_of, value_of) in enumerate(entries):
            key, value = to_key(key_of(frame)), value_of(frame)
            if isinstance(key, list | dict | Optional):
                raise EvaluationError("unsupported key type")
            for present in _present(value) if position in optional else [value]:
                made[key] = present
        return made

    return run


def _present(value: Value) -> list[Value]:
    if type(value) is not Optional:
        raise no_overload("optional entry", (value,))
    return [value.value] if value.present else []
