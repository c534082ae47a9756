"""CEL for device selectors, with Kubernetes' types and kube-scheduler's semantics.

    lexer, literals, parser, macros    text into a tree (ast)
    types, environment, check          which parts go together; constants that cannot be
    function, library                  what can be called
    values, amount, semver, regex      what it works on
    operators, fold, compile           the tree into closures
    selector, device                   asked for one device after the other
    on_node                            a driver's own expressions, which know their node too
    trace                              clause by clause, with the values that were read

Own rather than a library: `netclaim explain` has to say which clause was false with which values,
and no library gives the scheduler's answers (see docs/decisions/0010-own-cel.md).
"""

from netclaim.allocator.cel.device import DeviceView, device_view
from netclaim.allocator.cel.errors import (
    CelError,
    CompileError,
    EvaluationError,
    UndefinedFieldError,
    UnsupportedError,
)
from netclaim.allocator.cel.on_node import NodeSelector, compile_on_node
from netclaim.allocator.cel.selector import Selector, compile_selector

__all__ = [
    "CelError",
    "CompileError",
    "DeviceView",
    "EvaluationError",
    "NodeSelector",
    "Selector",
    "UndefinedFieldError",
    "UnsupportedError",
    "compile_on_node",
    "compile_selector",
    "device_view",
]
