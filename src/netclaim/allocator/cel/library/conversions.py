"""Conversions between CEL's types, size() and type()."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.function import overload
from netclaim.allocator.cel.values.digits import whole
from netclaim.allocator.cel.values.types import Type
from netclaim.allocator.cel.values.value import (
    INT64_MAX,
    INT64_MIN,
    UINT64_MAX,
    Uint,
    Value,
    int_value,
    type_name,
    uint_value,
)

SIGNED: Final = re.compile(r"[+-]?[0-9]+")
UNSIGNED: Final = re.compile(r"[0-9]+")
DOUBLE: Final = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.IGNORECASE,
)
BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _text_of_double(number: float) -> str:
    """Print a double as Go's %g does."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    shortest = Decimal(repr(number)).normalize()
    first, *rest = map(str, shortest.as_tuple().digits)
    exponent = shortest.adjusted()
    if -4 <= exponent < 6:  # beyond these Go writes an exponent
        return f"{shortest:f}"
    sign = "-" if number < 0 else ""
    return f"{sign}{'.'.join(filter(None, (first, ''.join(rest))))}e{exponent:+03d}"


def _failed(value: Value, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from {type_name(value)} {value!r} to {target}")


def _int_of_double(number: float) -> int:
    """Cut to an integer; the ends of the range are refused, as upstream does."""
    if not INT64_MIN < number < INT64_MAX + 1:
        raise EvaluationError("integer overflow")
    return int(number)


def _uint_of_double(number: float) -> Uint:
    if not 0 <= number < UINT64_MAX + 1:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def _int_of_text(text: str) -> int:
    if not SIGNED.fullmatch(text) or not INT64_MIN <= whole(text) <= INT64_MAX:
        raise _failed(text, "int")
    return whole(text)


def _uint_of_text(text: str) -> Uint:
    if not UNSIGNED.fullmatch(text) or whole(text) > UINT64_MAX:
        raise _failed(text, "uint")
    return Uint(whole(text))


def _double_of_text(text: str) -> float:
    if not DOUBLE.fullmatch(text):
        raise _failed(text, "double")
    number = float(text)
    if math.isinf(number) and "inf" not in text.lower():
        raise _failed(text, "double")
    return number


def _bool_of_text(text: str) -> bool:
    if text not in BOOLS:
        raise _failed(text, "bool")
    return BOOLS[text]


def _text_of_bytes(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from error


def _same(value: Value) -> Value:
    return value


# A constant that none of them can convert is a mistake in the text, not in a device.
CONVERSIONS: Final = frozenset({"bool", "bytes", "double", "int", "string", "uint"})

SIZED: Final[dict[str, Callable[[Value], int]]] = {
    "bytes": len,
    "list(A)": len,
    "map(A, B)": len,
    "string": len,
}

OVERLOADS: Final = (
    *(overload("size", f"({name}) -> int", size) for name, size in SIZED.items()),
    *(overload("size", f"{name}.() -> int", size) for name, size in SIZED.items()),
    overload("type", "(A) -> type(A)", lambda value: Type(type_name(value))),
    overload("dyn", "(A) -> dyn", _same),
    overload("bool", "(bool) -> bool", _same),
    overload("bool", "(string) -> bool", _bool_of_text),
    overload("bytes", "(bytes) -> bytes", _same),
    overload("bytes", "(string) -> bytes", str.encode),
    overload("double", "(double) -> double", _same),
    overload("double", "(int) -> double", float),
    overload("double", "(string) -> double", _double_of_text),
    overload("double", "(uint) -> double", float),
    overload("int", "(int) -> int", _same),
    overload("int", "(double) -> int", _int_of_double),
    overload("int", "(string) -> int", _int_of_text),
    overload("int", "(uint) -> int", int_value),
    overload("string", "(string) -> string", _same),
    overload("string", "(bool) -> string", lambda value: "true" if value else "false"),
    overload("string", "(bytes) -> string", _text_of_bytes),
    overload("string", "(double) -> string", _text_of_double),
    overload("string", "(int) -> string", str),
    overload("string", "(uint) -> string", lambda number: str(int(number))),
    overload("uint", "(uint) -> uint", _same),
    overload("uint", "(double) -> uint", _uint_of_double),
    overload("uint", "(int) -> uint", uint_value),
    overload("uint", "(string) -> uint", _uint_of_text),
)
