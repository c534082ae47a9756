"""Fit JSON to the shape of its kind: check types, find unknown fields, leave out nulls.

The result has the right types throughout and only known fields; the paths of the others are
returned with it. What fits already is returned itself, not as a copy: of thousands of manifests,
nearly all do. A value of the wrong type is refused, as the real server's decoder does. Required
fields and the content of values are left to `schema.rules`.
"""

import enum
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from netclaim.model.quantity import Quantity, QuantityError
from netclaim.paths import Key, Path
from netclaim.schema.refusal import RefusedError, bad_request


class Scalar(enum.Enum):
    """A value without parts that the API knows of, by its word in the tables."""

    TEXT = "text"
    WHOLE = "whole"  # a number without a fraction
    FLAG = "flag"
    PORT = "port"  # a whole number or a string: ports may have names, and shares may be percents
    QUANTITY = "quantity"
    TIME = "time"
    RAW = "raw"  # for somebody else to read: kept as it is, null too


@dataclass(frozen=True, slots=True)
class ListOf:
    item: "Shape"


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object whose keys are the user's own."""

    value: "Shape"


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with the fields of its kind. An open one may have others too, which are kept."""

    known: Mapping[str, "Shape"]
    open: bool = False


Shape: TypeAlias = Scalar | ListOf | MapOf | Fields

_TYPES: Final[Mapping[type[Any], str]] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def fit(value: Any, shape: Shape) -> tuple[Any, tuple[Path, ...]]:
    """Return the value with only what the shape knows, and the paths of what it does not."""
    unknown: list[Path] = []
    return _fit(value, shape, (), unknown), tuple(unknown)


def _fit(value: Any, shape: Shape, at: Path, unknown: list[Path]) -> Any:
    match shape:
        case Fields(known, open=is_open):
            return _fit_fields(_typed(value, dict, at), known, is_open, at, unknown)
        case MapOf(inner):
            entries = _typed(value, dict, at).items()
            found = {k: _fit(v, inner, (*at, Key(k)), unknown) for k, v in entries if v is not None}
            return _itself(value, found)
        case ListOf(inner):
            given = _typed(value, list, at)
            items = [_fit(item, inner, (*at, n), unknown) for n, item in enumerate(given)]
            return given if all(map(operator.is_, items, given)) else items
        case scalar:
            return _SCALARS[scalar](value, at)


def _fit_fields(
    value: dict[str, Any], known: Mapping[str, Shape], is_open: bool, at: Path, unknown: list[Path]
) -> dict[str, Any]:
    kept = {}
    for key, inner in value.items():
        path = (*at, key)
        if key in known:
            if inner is not None:
                kept[key] = _fit(inner, known[key], path, unknown)
        elif is_open:
            kept[key] = inner
        else:
            unknown.append(path)
    return _itself(value, kept)


def _itself(given: dict[str, Any], fitting: dict[str, Any]) -> dict[str, Any]:
    """Return what was given, if nothing in it had to be changed or left out."""
    same = len(given) == len(fitting) and all(fitting[key] is given[key] for key in given)
    return given if same else fitting


def _typed(value: Any, wanted: type[Any], at: Path) -> Any:
    if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
        raise _misfit(value, _TYPES[wanted], at)
    return value


def _whole(value: Any, at: Path) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    number: int = _typed(value, int, at)
    return number


def _port(value: Any, at: Path) -> int | str:
    return value if isinstance(value, str) else _whole(value, at)


def _quantity(value: Any, at: Path) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _misfit(value, "a quantity", at)
    try:
        return str(Quantity.parse(str(value)))
    except QuantityError as error:
        raise bad_request(str(error), path=at) from error


def _time(value: Any, at: Path) -> str:
    text: str = _typed(value, str, at)
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        message = f"{text!r} is not a time such as 2026-01-31T12:00:00Z"
        raise bad_request(message, path=at) from error
    return text


def _misfit(value: Any, wanted: str, at: Path) -> RefusedError:
    return bad_request(f"is {_TYPES.get(type(value), 'null')}, not {wanted}", path=at)


_SCALARS: Final[Mapping[Scalar, Callable[[Any, Path], Any]]] = {
    Scalar.RAW: lambda value, _at: value,
    Scalar.TEXT: lambda value, at: _typed(value, str, at),
    Scalar.FLAG: lambda value, at: _typed(value, bool, at),
    Scalar.WHOLE: _whole,
    Scalar.PORT: _port,
    Scalar.QUANTITY: _quantity,
    Scalar.TIME: _time,
}
