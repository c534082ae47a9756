"""A device selector: compiled once, and asked about many devices.

Promise: for each device it gives kube-scheduler's answer: true, false, or an error, which fails the
pod. Limit: the scheduler also limits what an expression may cost; nothing is limited here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from netclaim.allocator.cel.check.checker import Checked, check
from netclaim.allocator.cel.device import DeviceView
from netclaim.allocator.cel.errors import CompileError, EvaluationError
from netclaim.allocator.cel.run.compiler import Program, compile_node
from netclaim.allocator.cel.syntax.parser import parse
from netclaim.allocator.cel.values.value import type_name


@dataclass(frozen=True, slots=True)
class Selector:
    """An expression that is true of some devices."""

    expression: str
    checked: Checked
    program: Program

    def matches(self, device: DeviceView) -> bool:
        """Whether it is true of a device; an EvaluationError says why it is neither."""
        value = self.program(device)
        if type(value) is not bool:
            raise EvaluationError(f"the selector is a {type_name(value)}, not true or false")
        return value


def compile_selector(expression: str) -> Selector:
    """Compile an expression; a CompileError says what is wrong with it, and where."""
    with bounded(expression):
        checked = check(parse(expression), expression)
        return Selector(expression, checked, compile_node(checked, checked.root))


@contextmanager
def bounded(expression: str) -> Iterator[None]:
    """Turn a RecursionError, for an expression that is nested too deeply, into a CompileError."""
    try:
        yield
    except RecursionError as error:
        raise CompileError("nested too deeply", expression, 0) from error
