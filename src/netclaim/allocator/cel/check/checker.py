"""The types of a selector's parts, and which overloads its calls can mean.

Promise: it refuses what kube-scheduler's type checker refuses, at the same place: unknown names and
fields, functions on types that they do not take, lists and maps of mixed types, a result that can
never be a bool. Limit: it stops at the first mistake.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netclaim.allocator.cel.check.constants import check_constants
from netclaim.allocator.cel.check.environment import OBJECTS, TYPE_NAMES, VARIABLES
from netclaim.allocator.cel.errors import CompileError, UndefinedFieldError, UnsupportedError
from netclaim.allocator.cel.library import FUNCTIONS, UNSUPPORTED
from netclaim.allocator.cel.library.function import Function, Overload
from netclaim.allocator.cel.syntax import ast
from netclaim.allocator.cel.values.types import ANY, BOOL, DYN, INT, Type, Unifier, more_general
from netclaim.allocator.cel.values.value import type_name


@dataclass(frozen=True, slots=True)
class Checked:
    """What the checker found out about an expression."""

    root: ast.Node
    overloads: Mapping[ast.Call, tuple[Overload, ...]]
    operands: Mapping[ast.Call, tuple[ast.Node, ...]]  # the arguments, the target first if any
    types: Mapping[ast.Node, Type]


def check(root: ast.Node, expression: str, variables: Mapping[str, Type] = VARIABLES) -> Checked:
    """Check a selector; a CompileError says what does not fit."""
    checker = _Checker(expression, variables)
    result = checker.final(checker.type_of(root))
    checker.check_literals()
    if result not in (BOOL, ANY):
        raise CompileError(
            f"must evaluate to bool or the unknown type, not {result}", expression, root.start
        )
    return Checked(root, checker.overloads, checker.operands, checker.types())


class _Checker:
    def __init__(self, expression: str, variables: Mapping[str, Type]) -> None:
        self.overloads: dict[ast.Call, tuple[Overload, ...]] = {}
        self.operands: dict[ast.Call, tuple[ast.Node, ...]] = {}
        self._expression = expression
        self._unifier = Unifier()
        self._scope: dict[str, Type] = dict(variables)
        self._types: dict[ast.Node, Type] = {}
        self._literals: list[tuple[Sequence[ast.Node], frozenset[int]]] = []
        self._rules: Mapping[type[ast.Node], Callable[[Any], Type]] = {
            ast.Constant: self._literal,
            ast.Ident: self._ident,
            ast.Select: self._select,
            ast.Call: self._call,
            ast.ListLiteral: self._list,
            ast.MapLiteral: self._map,
            ast.Fold: self._fold,
            ast.Bind: self._bind,
        }

    def type_of(self, node: ast.Node) -> Type:
        """Check a node and what is below it."""
        found = self._rules[type(node)](node)
        self._types[node] = found
        return found

    def final(self, part: Type) -> Type:
        """Return a type with nothing left to learn."""
        return self._unifier.resolve(part, unknown_as_dyn=True)

    def types(self) -> dict[ast.Node, Type]:
        """Return the types of all parts."""
        return {node: self.final(part) for node, part in self._types.items()}

    def check_literals(self) -> None:
        """Refuse lists and maps of mixed types, now that all types are known."""
        for nodes, optional in self._literals:
            types = [self.final(self._types[node]) for node in nodes]
            plain = [
                part.parameters[0] if position in optional and part.parameters else part
                for position, part in enumerate(types)
            ]
            for node, part in zip(nodes, plain, strict=True):
                if part != plain[0]:
                    raise self._mismatch(node, plain[0], part)

    def _literal(self, node: ast.Constant) -> Type:
        return Type(type_name(node.value))

    def _ident(self, node: ast.Ident) -> Type:
        found = self._scope.get(node.name) or TYPE_NAMES.get(node.name)
        if found is None:
            raise self._error(f"undeclared reference to '{node.name}'", node)
        return found

    def _list(self, node: ast.ListLiteral) -> Type:
        return Type("list", (self._join(node.elements, node.optional),))

    def _map(self, node: ast.MapLiteral) -> Type:
        keys = self._join([key for key, _ in node.entries], frozenset())
        values = self._join([value for _, value in node.entries], node.optional)
        return Type("map", (keys, values))

    def _bind(self, node: ast.Bind) -> Type:
        return self._in_scope({node.name: self.type_of(node.value)}, node.body)

    def _error(self, reason: str, node: ast.Node) -> CompileError:
        return CompileError(reason, self._expression, node.at)

    def _mismatch(self, node: ast.Node, wanted: Type, found: Type) -> CompileError:
        expected, actual = self.final(wanted), self.final(found)
        return self._error(f"expected type '{expected}' but found '{actual}'", node)

    def _select(self, node: ast.Select) -> Type:
        if ast.qualified_name(node) in TYPE_NAMES:
            return TYPE_NAMES[ast.qualified_name(node)]
        operand = self._unifier.resolve(self.type_of(node.operand))
        owner = operand.parameters[0] if operand.name == "optional_type" else operand
        found = self._field(node, owner)
        if node.kind == "presence":
            return BOOL
        if owner is not operand or node.kind == "optional":
            return Type("optional_type", (found,))
        return found

    def _field(self, node: ast.Select, owner: Type) -> Type:
        if owner.name == "map":
            return self._unifier.resolve(owner.parameters[1])
        fields = OBJECTS.get(owner, {})
        if node.field in fields:
            return fields[node.field]
        if owner.variable:
            self._unifier.assignable([DYN], [owner])
        elif fields or (owner.nullable and owner.name.startswith("kubernetes.")):
            raise UndefinedFieldError(node.field, self._expression, node.at)
        elif not owner.wildcard:
            raise self._error(f"type '{owner}' does not support field selection", node)
        return DYN

    def _call(self, node: ast.Call) -> Type:
        if node.function in ("_&&_", "_||_"):
            for argument in node.arguments:
                self._want_bool(argument, self.type_of(argument))
            return BOOL
        name, target, types = node.function, node.target, []
        if target is not None:
            namespaced = f"{ast.qualified_name(target)}.{name}"
            if namespaced in FUNCTIONS or namespaced in UNSUPPORTED:
                name, target = namespaced, None
            else:
                types.append(self.type_of(target))
        function = self._function(node, name)
        types += [self.type_of(argument) for argument in node.arguments]
        check_constants(node, self._expression)
        return self._resolve(node, function, types, target)

    def _want_bool(self, node: ast.Node, part: Type) -> None:
        if not self._unifier.assignable([part], [BOOL]):
            raise self._mismatch(node, BOOL, part)

    def _function(self, node: ast.Call, name: str) -> Function:
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        if name in UNSUPPORTED:
            raise UnsupportedError(
                f"netclaim does not evaluate {name}(), kube-scheduler does",
                self._expression,
                node.at,
            )
        raise self._error(f"undeclared reference to '{name}'", node)

    def _resolve(
        self,
        node: ast.Call,
        function: Function,
        types: Sequence[Type],
        target: ast.Node | None = None,
    ) -> Type:
        """Find the overloads that fit; with several, their results have to agree or are dyn."""
        fitting: list[Overload] = []
        result: Type | None = None
        for one in function.overloads:
            if one.member is not (target is not None):
                continue
            given, *parameters = self._unifier.instance([one.result, *one.parameters])
            if not self._unifier.assignable(types, parameters):
                continue
            fitting.append(one)
            given = self._unifier.resolve(given)
            if result is None:
                result = given
            elif not result.wildcard and result != given:
                result = DYN
        if result is None:
            raise self._error(_no_overload(function.name, [*map(self.final, types)], target), node)
        self.overloads[node] = tuple(fitting)
        self.operands[node] = node.arguments if target is None else (target, *node.arguments)
        return result

    def _join(self, nodes: Sequence[ast.Node], optional: frozenset[int]) -> Type:
        """Return the type of a list's elements or a map's keys or values."""
        joined: Type | None = None
        for position, node in enumerate(nodes):
            part = self.type_of(node)
            if position in optional:
                if part.name == "optional_type":
                    part = part.parameters[0]
                elif not part.wildcard:
                    raise self._mismatch(node, Type("optional_type", (part,)), part)
            if joined is None:
                joined = part
            elif self._unifier.assignable([joined], [part]):
                joined = more_general(joined, part)
            else:
                raise self._mismatch(node, joined, part)
        self._literals.append((nodes, optional))
        return joined if joined is not None else self._unifier.fresh()

    def _fold(self, node: ast.Fold) -> Type:
        variables = self._variables(node)
        if node.condition is not None:
            condition = self._in_scope(variables, node.condition)
            deciding = node.kind in ("all", "exists")
            self._want_bool(node.condition if deciding else node, condition)
        if node.kind in ("all", "exists", "exists_one"):
            return BOOL
        if node.result is None:  # filter
            return Type("list", (variables[node.names[0]],))
        result = self._in_scope(variables, node.result)
        if node.kind == "transformMap":
            return Type("map", (variables[node.names[0]], result))
        if node.kind == "transformMapEntry":
            entries = Type("map", (self._unifier.fresh(), self._unifier.fresh()))
            if not self._unifier.assignable([result], [entries]):
                raise self._mismatch(node, entries, result)
            return self._unifier.resolve(entries)
        return Type("list", (result,))

    def _variables(self, node: ast.Fold) -> dict[str, Type]:
        over = self._unifier.resolve(self.type_of(node.over))
        if over.name == "list":
            parts = (INT, over.parameters[0])
        elif over.name == "map":
            parts = (over.parameters[0], over.parameters[1])
        elif over == DYN or over.variable:
            self._unifier.assignable([DYN], [over])
            parts = (DYN, DYN)
        else:
            raise self._error(
                f"expression of type '{self.final(over)}' cannot be range of a comprehension"
                " (must be list, map, or dynamic)",
                node.over,
            )
        if len(node.names) == 1:
            return {node.names[0]: parts[1] if over.name == "list" else parts[0]}
        return dict(zip(node.names, parts, strict=True))

    def _in_scope(self, names: Mapping[str, Type], node: ast.Node) -> Type:
        outer = self._scope
        self._scope = {**outer, **names}
        try:
            return self.type_of(node)
        finally:
            self._scope = outer


def _no_overload(name: str, types: Sequence[Type], target: ast.Node | None) -> str:
    first, rest = (f"{types[0]}.", types[1:]) if target is not None else ("", types)
    arguments = ", ".join(map(str, rest))
    return f"found no matching overload for '{name}' applied to '{first}({arguments})'"
