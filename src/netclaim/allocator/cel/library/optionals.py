"""Functions on optional values.

The compiler evaluates `or` and `orValue`, since they do not evaluate an argument that they do not
need.
"""

from typing import Final

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.function import evaluated_by_the_compiler, overload
from netclaim.allocator.cel.values.value import NONE, Optional, Value

ZEROS: Final = (bool, int, float, str, bytes, list, dict, type(None))  # types with a zero value


def _value(optional: Optional) -> Value:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _of_non_zero(value: Value) -> Optional:
    return NONE if isinstance(value, ZEROS) and not value else Optional(value)


def _unwrap(optionals: list[Optional]) -> list[Value]:
    return [one.value for one in optionals if one.present]


OVERLOADS: Final = (
    overload("optional.of", "(A) -> optional_type(A)", Optional),
    overload("optional.ofNonZeroValue", "(A) -> optional_type(A)", _of_non_zero),
    overload("optional.none", "() -> optional_type(A)", lambda: NONE),
    overload("optional.unwrap", "(list(optional_type(A))) -> list(A)", _unwrap),
    overload("unwrapOpt", "list(optional_type(A)).() -> list(A)", _unwrap),
    overload("value", "optional_type(A).() -> A", _value),
    overload("hasValue", "optional_type(A).() -> bool", lambda optional: optional.present),
    overload(
        "or", "optional_type(A).(optional_type(A)) -> optional_type(A)", evaluated_by_the_compiler
    ),
    overload("orValue", "optional_type(A).(A) -> A", evaluated_by_the_compiler),
    overload("first", "list(A).() -> optional_type(A)", lambda v: Optional(v[0]) if v else NONE),
    overload("last", "list(A).() -> optional_type(A)", lambda v: Optional(v[-1]) if v else NONE),
)
