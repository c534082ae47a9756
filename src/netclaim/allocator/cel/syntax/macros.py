"""Macros, which are written like calls but bind names, or ask whether something is there.

has(a.b)                                      a Select that asks for presence
all exists exists_one filter map              a Fold, with one variable
all exists exists_one existsOne               a Fold, with two
transformList transformMap transformMapEntry
cel.bind(name, value, body)                   a Bind
optMap optFlatMap sortBy                      calls and Binds, as cel-go writes them out
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from netclaim.allocator.cel.errors import CompileError
from netclaim.allocator.cel.syntax import ast

SORT_INPUT: Final = "@sort_input"  # no name that a text can hold
QUANTIFIERS: Final[Mapping[str, ast.FoldKind]] = {
    "all": "all",
    "exists": "exists",
    "exists_one": "exists_one",
    "existsOne": "exists_one",
}
TRANSFORMS: Final[Mapping[str, ast.FoldKind]] = {
    "transformList": "transformList",
    "transformMap": "transformMap",
    "transformMapEntry": "transformMapEntry",
}


def expand(call: ast.Call, text: str) -> ast.Node:
    """Return what a call stands for: itself, unless it is a macro."""
    key = (call.function, len(call.arguments))
    if call.target is None:
        return _presence(call, text) if key == ("has", 1) else call
    if key == ("bind", 3) and ast.qualified_name(call.target) == "cel":
        name, value, body = call.arguments
        return _bind(call, _simple_name(name, text), value, body)
    macro = MEMBERS.get(key)
    return macro(call, call.target, text) if macro is not None else call


def _presence(call: ast.Call, text: str) -> ast.Node:
    (argument,) = call.arguments
    if not isinstance(argument, ast.Select) or argument.kind != "value":
        raise CompileError("has() takes a field, such as has(a.b)", text, argument.at)
    return replace(argument, start=call.start, end=call.end, kind="presence")


def _simple_name(node: ast.Node, text: str) -> str:
    if not isinstance(node, ast.Ident):
        raise CompileError("expected a simple name for the macro's variable", text, node.at)
    return node.name


def _bind(call: ast.Call, name: str, value: ast.Node, body: ast.Node) -> ast.Bind:
    return ast.Bind(call.start, call.end, call.at, name, value, body)


def _quantifier(call: ast.Call, target: ast.Node, text: str) -> ast.Node:
    *names, condition = call.arguments
    return _fold(call, QUANTIFIERS[call.function], target, _names(names, text), condition=condition)


def _filter(call: ast.Call, target: ast.Node, text: str) -> ast.Node:
    name, condition = call.arguments
    return _fold(call, "filter", target, _names([name], text), condition=condition)


def _map(call: ast.Call, target: ast.Node, text: str) -> ast.Node:
    name, *condition, result = call.arguments
    only = condition[0] if condition else None
    return _fold(call, "map", target, _names([name], text), condition=only, result=result)


def _transform(call: ast.Call, target: ast.Node, text: str) -> ast.Node:
    first, second, *condition, result = call.arguments
    names = _names([first, second], text)
    only = condition[0] if condition else None
    return _fold(call, TRANSFORMS[call.function], target, names, condition=only, result=result)


def _names(nodes: list[ast.Node], text: str) -> tuple[str, ...]:
    names = tuple(_simple_name(node, text) for node in nodes)
    if len(set(names)) < len(names):
        raise CompileError("the macro's two variables have the same name", text, nodes[-1].at)
    return names


def _fold(
    call: ast.Call,
    kind: ast.FoldKind,
    over: ast.Node,
    names: tuple[str, ...],
    *,
    condition: ast.Node | None = None,
    result: ast.Node | None = None,
) -> ast.Fold:
    return ast.Fold(call.start, call.end, call.at, kind, over, names, condition, result)


def _if_present(call: ast.Call, target: ast.Node, text: str) -> ast.Node:
    """Write optMap out: `t.hasValue() ? optional.of(bind(v, t.value(), e)) : optional.none()`."""
    name, body = call.arguments
    place = (call.start, call.end, call.at)
    value = ast.Call(*place, "value", (), target)
    found: ast.Node = _bind(call, _simple_name(name, text), value, body)
    if call.function == "optMap":
        found = ast.Call(*place, "optional.of", (found,))
    present = ast.Call(*place, "hasValue", (), target)
    return ast.Call(*place, "_?_:_", (present, found, ast.Call(*place, "optional.none", ())))


def _sort_by(call: ast.Call, target: ast.Node, text: str) -> ast.Node:
    """Write sortBy out: the list is sorted by a list of keys that a map() makes of it."""
    name, key = call.arguments
    place = (call.start, call.end, call.at)
    again = ast.Ident(*place, SORT_INPUT)
    keys = _fold(call, "map", again, _names([name], text), result=key)
    body = ast.Call(*place, "@sortByAssociatedKeys", (keys,), again)
    return _bind(call, SORT_INPUT, target, body)


MEMBERS: Final[Mapping[tuple[str, int], Callable[[ast.Call, ast.Node, str], ast.Node]]] = {
    **{(name, 2): _quantifier for name in QUANTIFIERS if name != "existsOne"},
    **{(name, 3): _quantifier for name in QUANTIFIERS},
    **{(name, count): _transform for name in TRANSFORMS for count in (3, 4)},
    ("filter", 2): _filter,
    ("map", 2): _map,
    ("map", 3): _map,
    ("optMap", 2): _if_present,
    ("optFlatMap", 2): _if_present,
    ("sortBy", 2): _sort_by,
}
