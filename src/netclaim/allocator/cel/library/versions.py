"""Semantic versions in CEL: semver("1.2.3") and its methods."""

from typing import Final

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.function import overload
from netclaim.allocator.cel.values.semver import Semver


def _find(text: str, normalize: bool = False) -> Semver | None:
    return Semver.normalize(text) if normalize else Semver.parse(text)


def _parse(text: str, normalize: bool = False) -> Semver:
    found = _find(text, normalize)
    if found is None:
        raise EvaluationError(f"{text!r} is not a semantic version")
    return found


def _is_semver(text: str, normalize: bool = False) -> bool:
    return _find(text, normalize) is not None


def _compare(one: Semver, other: Semver) -> int:
    return int(one > other) - int(one < other)


S: Final = "kubernetes.Semver"

OVERLOADS: Final = (
    overload("semver", f"(string) -> {S}", _parse),
    overload("semver", f"(string, bool) -> {S}", _parse),
    overload("isSemver", "(string) -> bool", _is_semver),
    overload("isSemver", "(string, bool) -> bool", _is_semver),
    overload("isGreaterThan", f"{S}.({S}) -> bool", lambda a, b: a > b),
    overload("isLessThan", f"{S}.({S}) -> bool", lambda a, b: a < b),
    overload("compareTo", f"{S}.({S}) -> int", _compare),
    overload("major", f"{S}.() -> int", lambda version: version.major),
    overload("minor", f"{S}.() -> int", lambda version: version.minor),
    overload("patch", f"{S}.() -> int", lambda version: version.patch),
)
