"""A device selector: compiled once, and asked about many devices.

Promise: for each device it gives kube-scheduler's answer: true, false, or an error, which fails the
pod. As there, an evaluation that costs more than 1,000,000 units has no value. The API server
refuses an expression that could cost so much, whatever the device is; `too_complex` says which.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from netclaim.allocator.cel.check.checker import Checked, check
from netclaim.allocator.cel.cost import COST_MAX
from netclaim.allocator.cel.cost.estimate import estimate
from netclaim.allocator.cel.device import DeviceView
from netclaim.allocator.cel.errors import CompileError, EvaluationError
from netclaim.allocator.cel.run.compiler import Program, compile_node
from netclaim.allocator.cel.run.metered import compile_metered
from netclaim.allocator.cel.syntax import ast
from netclaim.allocator.cel.syntax.parser import parse
from netclaim.allocator.cel.values.value import type_name


@dataclass(frozen=True, slots=True)
class Selector:
    """An expression that is true of some devices."""

    expression: str
    checked: Checked
    program: Program
    too_complex: bool = False

    def matches(self, device: DeviceView) -> bool:
        """Whether it is true of a device; an EvaluationError says why it is neither."""
        value = self.program(device)
        if type(value) is not bool:
            raise EvaluationError(f"the selector is a {type_name(value)}, not true or false")
        return value

    def part(self, node: ast.Node) -> Program:
        """Compile a part of it, such as a clause."""
        return _program(self.checked, node, metered=self.too_complex)


def compile_selector(expression: str) -> Selector:
    """Compile an expression; a CompileError says what is wrong with it, and where."""
    with bounded(expression):
        checked = check(parse(expression), expression)
        too_complex = estimate(checked) > COST_MAX
        program = _program(checked, checked.root, metered=too_complex)
        return Selector(expression, checked, program, too_complex)


def _program(checked: Checked, node: ast.Node, *, metered: bool) -> Program:
    """Count only what can reach the limit: a device costs no more than was estimated."""
    return compile_metered(checked, node) if metered else compile_node(checked, node)


@contextmanager
def bounded(expression: str) -> Iterator[None]:
    """Turn a RecursionError, for an expression that is nested too deeply, into a CompileError."""
    try:
        yield
    except RecursionError as error:
        raise CompileError("nested too deeply", expression, 0) from error
