"""CEL's static types, and which may stand for which.

    Type            string, list(int), map(string, any), optional_type(A), ...
    Unifier         decides assignability and learns what type variables stand for
    parse_type      a type from its notation; one capital letter is a type variable

The rules are cel-go's: `dyn` and `any` go with everything, null goes with objects, a type variable
takes the most general of the types it has been matched with.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Type:
    """A type, by name and parameters; a variable stands for a type not yet known."""

    name: str
    parameters: tuple["Type", ...] = ()
    variable: bool = False

    @property
    def wildcard(self) -> bool:
        """Whether it goes with every type."""
        return self.name in WILDCARDS

    @property
    def nullable(self) -> bool:
        """Whether null goes with it."""
        return self.name in NULLABLE

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.parameters))
        return f"{self.name}({inner})" if inner else self.name


WILDCARDS: Final = frozenset({"dyn", "any"})
NULLABLE: Final = frozenset(
    {
        "null_type",
        "optional_type",
        "kubernetes.Quantity",
        "kubernetes.Semver",
        "kubernetes.DRADevice",
        "net.IP",
        "net.CIDR",
    }
)
DYN: Final = Type("dyn")
ANY: Final = Type("any")  # unlike dyn, a selector may be of this type
BOOL: Final = Type("bool")
INT: Final = Type("int")

TOKEN: Final = re.compile(r"[\w.*]+|[(),]")


def parse_type(text: str) -> Type:
    """Read a type from the notation that error messages use."""
    return _parse(iter(TOKEN.findall(text)))[0]


def _parse(tokens: Iterator[str]) -> tuple[Type, str]:
    """Read one type; return it with the token behind it."""
    name = next(tokens)
    after = next(tokens, "")
    parameters: list[Type] = []
    if after == "(":
        while after != ")":
            parameter, after = _parse(tokens)
            parameters.append(parameter)
        after = next(tokens, "")
    variable = len(name) == 1 and name.isupper()
    return Type(name, tuple(parameters), variable), after


class Unifier:
    """What the type variables of one expression stand for, as far as is known."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._numbers = itertools.count()

    def fresh(self) -> Type:
        """Return a type variable that nothing is known of."""
        return Type(f"_{next(self._numbers)}", variable=True)

    def instance(self, types: Sequence[Type]) -> list[Type]:
        """Return a signature's types with fresh variables in place of its own."""
        fresh: dict[Type, Type] = {}

        def renew(part: Type) -> Type:
            if part.variable:
                return fresh.setdefault(part, self.fresh())
            return Type(part.name, tuple(map(renew, part.parameters)))

        return [renew(one) for one in types]

    def assignable(self, source: Sequence[Type], target: Sequence[Type]) -> bool:
        """Whether each type may stand where its target is asked for; learns only if all may."""
        attempt = dict(self._bound)
        if not _all_assignable(attempt, source, target):
            return False
        self._bound = attempt
        return True

    def resolve(self, part: Type, *, unknown_as_dyn: bool = False) -> Type:
        """Replace the variables by what they stand for."""
        if part in self._bound:
            return self.resolve(self._bound[part], unknown_as_dyn=unknown_as_dyn)
        if part.variable:
            return DYN if unknown_as_dyn else part
        inner = (self.resolve(p, unknown_as_dyn=unknown_as_dyn) for p in part.parameters)
        return Type(part.name, tuple(inner))


def more_general(one: Type, other: Type) -> Type:
    """Return the more general of two types that go together."""
    return one if _covers(one, other) else other


def _covers(general: Type, special: Type) -> bool:
    if general.wildcard or general.variable:
        return True
    if special.wildcard or special.variable or general.name != special.name:
        return False
    return general.name == "type" or all(map(_covers, general.parameters, special.parameters))


def _all_assignable(
    bound: dict[Type, Type], source: Sequence[Type], target: Sequence[Type]
) -> bool:
    if len(source) != len(target):
        return False
    return all(_assignable(bound, one, other) for one, other in zip(source, target, strict=True))


def _assignable(bound: dict[Type, Type], source: Type, target: Type) -> bool:
    if target.variable:
        known = target in bound
        if _bind(bound, target, source):
            return True
        if known:
            return False
    if source.variable:
        return _bind(bound, source, target)
    return source.wildcard or target.wildcard or _fits(bound, source, target)


def _fits(bound: dict[Type, Type], source: Type, target: Type) -> bool:
    """Whether two types that are known and no wildcards go together."""
    if "null_type" in (source.name, target.name):
        return source.nullable and target.nullable
    if source.name != target.name:
        return False
    return source.name == "type" or _all_assignable(bound, source.parameters, target.parameters)


def _bind(bound: dict[Type, Type], variable: Type, part: Type) -> bool:
    """Let a variable stand for a type, or for what covers both it and the earlier one."""
    if variable == part:
        return True
    earlier = bound.get(variable)
    if earlier is None:
        if _occurs(bound, variable, part):
            return False
        bound[variable] = part
        return True
    if earlier == part:
        return True
    if not _assignable(bound, part, earlier):
        return False
    wider = more_general(part, earlier)
    if not _occurs(bound, variable, wider):
        bound[variable] = wider
    return True


def _occurs(bound: dict[Type, Type], variable: Type, within: Type) -> bool:
    if variable == within:
        return True
    if within.variable:
        return within in bound and _occurs(bound, variable, bound[within])
    return any(_occurs(bound, variable, part) for part in within.parameters)
