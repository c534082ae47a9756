"""How the functions of CEL are declared: what they take, what they return, what they do.

An overload's signature is written as error messages write it:

    (string, int) -> bool         a function of two arguments
    list(A).(A) -> int            a member function; A is any type, the same in both places

Promise: a function takes the values that it takes in cel-go's runtime: by the name of their type,
and lists by the type of their first element.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from netclaim.allocator.cel.values.types import Type, parse_type
from netclaim.allocator.cel.values.value import Value, no_overload, type_name


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function, and its implementation, which may raise EvaluationError."""

    name: str
    parameters: tuple[Type, ...]
    result: Type
    member: bool
    run: Callable[..., Value]
    guards: tuple[Callable[[Value], bool], ...]

    def takes(self, values: Sequence[Value]) -> bool:
        """Whether the values are of the types it is made for."""
        return all(guard(value) for guard, value in zip(self.guards, values, strict=True))


@dataclass(frozen=True, slots=True)
class Function:
    """All signatures under one name."""

    name: str
    overloads: tuple[Overload, ...]


def overload(name: str, signature: str, run: Callable[..., Value]) -> Overload:
    inputs, _, result = signature.rpartition(" -> ")
    target, _, arguments = inputs.rpartition(".(") if ".(" in inputs else ("", "", inputs[1:])
    types = parse_type(f"signature({arguments}").parameters if arguments != ")" else ()
    if target:
        types = (parse_type(target), *types)
    guards = tuple(_guard(part) for part in types)
    return Overload(name, types, parse_type(result), bool(target), run, guards)


def evaluated_by_the_compiler(*_: Value) -> Value:
    """Stand in for a function that is declared for its types only."""
    raise AssertionError("the compiler evaluates this itself")


def group(overloads: Iterable[Overload]) -> Mapping[str, Function]:
    """Return the functions by name; the order of their overloads is kept."""
    ordered = sorted(overloads, key=lambda one: one.name)
    grouped = itertools.groupby(ordered, key=lambda one: one.name)
    return {name: Function(name, tuple(found)) for name, found in grouped}


def call(name: str, overloads: Sequence[Overload], values: Sequence[Value]) -> Value:
    """Run the first overload that takes the values."""
    for one in overloads:
        if one.takes(values):
            return one.run(*values)
    raise no_overload(name, values)


def _guard(part: Type) -> Callable[[Value], bool]:
    if part.variable or part.wildcard:
        return lambda _: True
    name = part.name
    if name == "list":
        element = _guard(part.parameters[0])
        return lambda value: type(value) is list and (not value or element(value[0]))
    if name == "map":
        return lambda value: isinstance(value, dict)
    return lambda value: type_name(value) == name
