"""Constants that their function cannot use: `int("x")`, `matches("(")`.

They are mistakes in the text, whatever the device is; the scheduler refuses them when it compiles
the selector.
"""

from netclaim.allocator.cel.errors import CompileError, EvaluationError
from netclaim.allocator.cel.library import FUNCTIONS
from netclaim.allocator.cel.library.conversions import CONVERSIONS
from netclaim.allocator.cel.library.function import call
from netclaim.allocator.cel.library.regexes import PATTERN_ARGUMENT
from netclaim.allocator.cel.syntax import ast
from netclaim.allocator.cel.values.regex import RegexError, compile_regex


def check_constants(node: ast.Call, expression: str) -> None:
    """Refuse a call with a constant that cannot be converted or is not a pattern."""
    if node.function in PATTERN_ARGUMENT and node.arguments:
        _check_pattern(node.arguments[0 if node.target is not None else -1], expression)
    if node.function in CONVERSIONS and len(node.arguments) == 1:
        _check_conversion(node, node.arguments[0], expression)


def _check_pattern(pattern: ast.Node, expression: str) -> None:
    if not isinstance(pattern, ast.Constant) or not isinstance(pattern.value, str):
        return
    try:
        compile_regex(pattern.value)
    except RegexError as error:
        raise CompileError(str(error), expression, pattern.at) from error


def _check_conversion(node: ast.Call, argument: ast.Node, expression: str) -> None:
    if not isinstance(argument, ast.Constant):
        return
    try:
        call(node.function, FUNCTIONS[node.function].overloads, [argument.value])
    except EvaluationError as error:
        raise CompileError(str(error), expression, node.at) from error
