"""CEL (Common Expression Language) for device selectors, as kube-scheduler evaluates it.

    selector    an expression, compiled once and asked about one device after the other
    device      a device as an expression sees it
    on_node     a driver's own expressions, which know their node too
    conditions  what `&&` joins, and what each part reads
    trace       clause by clause, with the values that were read

    syntax      text into a tree
    check       the types of its parts
    cost        what a selector may cost
    run         the tree into closures
    library     what can be called
    values      what it works on
    errors      what is wrong with an expression, or with evaluating it

Own rather than a library: `netclaim explain` has to say which clause was false with which values,
and no library gives the scheduler's answers (see docs/decisions/0010-own-cel.md).
"""

from netclaim.allocator.cel.conditions import Condition, DeviceRead, conditions
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
    "Condition",
    "DeviceRead",
    "DeviceView",
    "EvaluationError",
    "NodeSelector",
    "Selector",
    "UndefinedFieldError",
    "UnsupportedError",
    "compile_on_node",
    "compile_selector",
    "conditions",
    "device_view",
]
