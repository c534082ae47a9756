"""What all objects of the API have in common, and how an object is read.

Promise: a field that is missing or null has its empty value, and a field that nobody asks for is
ignored. What was read is frozen. An object that lacks what the API requires, or has a value of
another type, is an ObjectError.
"""

from collections.abc import Mapping
from typing import Any, Final, Self, TypeAlias

import msgspec

from netclaim.errors import RequestError

JsonObject: TypeAlias = dict[str, Any]
QuantityText: TypeAlias = str | int | float  # an API server prints a string, a manifest may not
FREE: Final = frozenset({"data", "parameters"})  # a driver's own JSON, in which null is a value


class ObjectError(RequestError):
    """An object that is not what its kind says; `fault` says what is wrong, without the kind."""

    def __init__(self, kind: str, fault: str) -> None:
        super().__init__(f"not a {kind}: {fault}")
        self.fault = fault


class Base(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An object or a part of one; its fields have the API's names."""

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> Self:
        """Read decoded JSON; an ObjectError says what does not fit."""
        try:
            return msgspec.convert(obj, cls)
        except msgspec.ValidationError:
            try:  # a null for a list or a map is rare, so that only then it is looked for
                return msgspec.convert(_without_nulls(obj), cls)
            except msgspec.ValidationError as error:
                raise ObjectError(cls.__name__, str(error)) from error


class Owner(Base, frozen=True):
    """What an object belongs to."""

    kind: str = ""
    uid: str = ""
    controller: bool = False


class Meta(Base, frozen=True):
    """Who an object is."""

    name: str
    namespace: str = ""
    uid: str = ""
    annotations: Mapping[str, Any] = {}
    owner_references: tuple[Owner, ...] = ()
    deletion_timestamp: str | None = None


class Condition(Base, frozen=True):
    """A condition of anything."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


def _without_nulls(value: Any) -> Any:
    """Leave out keys whose value is null, which means the same."""
    if isinstance(value, Mapping):
        return {
            key: one if key in FREE else _without_nulls(one)
            for key, one in value.items()
            if one is not None
        }
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
