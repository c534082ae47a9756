"""Closures that count what they cost, for an expression that may cost more than is allowed.

Promise: an evaluation ends with the scheduler's error when it has cost more than the scheduler
allows. Limit: the count may differ by some units from the scheduler's, which computes constants in
advance; a value of ten million elements is refused before it is made; and after a few devices for
which it costs too much, an expression has no value for any other.
"""

from typing import Final

from netclaim.allocator.cel.check.checker import Checked
from netclaim.allocator.cel.cost import COST_MAX
from netclaim.allocator.cel.cost.actual import cost_of_comparison, price_of_call
from netclaim.allocator.cel.cost.calls import LIST, MAP
from netclaim.allocator.cel.cost.loops import DECIDING, LOOPS
from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.function import call
from netclaim.allocator.cel.run.compiler import NO_CONSTANTS, Compiler, LoopParts, Program
from netclaim.allocator.cel.run.operators import RELATIONS, SPENT, Frame, Relation, Run, variable
from netclaim.allocator.cel.syntax import ast
from netclaim.allocator.cel.values.value import Value

TOO_EXPENSIVE: Final = "operation cancelled: actual cost limit exceeded"  # as cel-go says it
# Devices that are tried: the scheduler fails the pod at the first, and each may take a second.
EXCEEDED_MAX: Final = 3
SIZE_MAX: Final = 10 * COST_MAX  # of a text or a list: to go over it once costs all that is allowed
PATH: Final = 4  # for device, attributes, a domain and a name
BY_KEY: Final = frozenset({"_[_]", "_[?_]", "or", "orValue", "@in"})


class _CostExceededError(Exception):
    """An evaluation has cost too much; no operator may take it for an operand without a value."""


def compile_metered(checked: Checked, root: ast.Node) -> Program:
    """Return a function from a device to the value of a part of the expression."""
    compiler = _Metered(checked, NO_CONSTANTS)
    run, blank, exceeded = compiler.run(root), compiler.blank(), 0

    def program(device: Value) -> Value:
        nonlocal exceeded
        try:
            if exceeded < EXCEEDED_MAX:
                return run([device, *blank])
        except _CostExceededError:
            exceeded += 1
        raise EvaluationError(TOO_EXPENSIVE)

    return program


class _Metered(Compiler):
    def run(self, node: ast.Node) -> Run:
        return _charged(_step(node) if self.path(node) is None else PATH, super().run(node))

    def call(self, node: ast.Call) -> Run:
        operands = self.checked.operands.get(node, node.arguments)
        relation = RELATIONS.get(node.function)
        if relation is not None:
            return _relation(relation, *(self.run(operand) for operand in operands))
        return _charged(1 if node.function in BY_KEY else 0, super().call(node))

    def ordinary(self, node: ast.Call, operands: list[Run]) -> Run:
        if node.function in BY_KEY:
            return super().ordinary(node, operands)
        overloads = self.checked.overloads[node]

        def run(frame: Frame) -> Value:
            values = [operand(frame) for operand in operands]
            cost, size = price_of_call(overloads, values)
            _spend(frame, cost if (size or 0) <= SIZE_MAX else COST_MAX)
            return call(node.function, overloads, values)

        return run

    def loop(self, kind: ast.FoldKind, slots: tuple[int, ...], over: Run, parts: LoopParts) -> Run:
        (condition, result), costs = parts, LOOPS[kind]
        if condition is not None:
            condition = _charged(costs.each or 1, condition)
        if kind not in DECIDING:
            made = result if result is not None else variable(slots[0])
            result = _charged(costs.taken, made)
        return super().loop(kind, slots, over, (condition, result))


def _spend(frame: Frame, cost: int) -> None:
    frame[SPENT] += cost
    if frame[SPENT] > COST_MAX:
        raise _CostExceededError


def _charged(cost: int, run: Run) -> Run:
    if not cost:
        return run

    def charged(frame: Frame) -> Value:
        _spend(frame, cost)
        return run(frame)

    return charged


def _relation(relation: Relation, left: Run, right: Run) -> Run:
    def run(frame: Frame) -> bool:
        one, other = left(frame), right(frame)
        _spend(frame, cost_of_comparison(one, other))
        return relation(one, other)

    return run


def _step(node: ast.Node) -> int:
    """What a node costs beside what is below it, and beside what a call costs by its values."""
    match node:
        case ast.Ident() | ast.Select(kind="value" | "optional"):
            return 1
        case ast.ListLiteral():
            return 0 if _is_constant(node) else LIST
        case ast.MapLiteral():
            return 0 if _is_constant(node) else MAP
        case ast.Fold(kind=kind):
            return LOOPS[kind].end
    return 0


def _is_constant(node: ast.Node) -> bool:
    if isinstance(node, ast.ListLiteral | ast.MapLiteral):
        return all(map(_is_constant, ast.children(node)))
    return isinstance(node, ast.Constant)
