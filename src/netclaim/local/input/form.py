"""Read values of a YAML file by their type; a wrong one is a FormError at its place. No I/O."""

from collections.abc import Mapping, Sequence
from typing import Any

from netclaim.manifests.near import near
from netclaim.paths import Path


class FormError(Exception):
    """A mistake at a place of a document."""

    def __init__(self, at: Path, message: str) -> None:
        super().__init__(message)
        self.at = at


def object_at(
    value: Any, at: Path, keys: Sequence[str] = (), needed: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a map; only with these keys, if any are given."""
    if not isinstance(value, dict):
        raise FormError(at, f"is not a map{_of(keys)}")
    for key in value:
        if keys and key not in keys:
            guess = near(str(key), keys)
            hint = f'did you mean "{guess}"?' if guess else f"the keys are {', '.join(keys)}"
            raise FormError((*at, key), f'unknown key "{key}"; {hint}')
    for key in needed:
        if key not in value:
            raise FormError(at, f"{key} is missing")
    return value


def _of(keys: Sequence[str]) -> str:
    return f" with the keys {', '.join(keys)}" if keys else ""


def list_at(value: Any, at: Path) -> list[Any]:
    if not isinstance(value, list):
        raise FormError(at, "is not a list")
    return value


def text_at(form: Mapping[str, Any], key: str, at: Path) -> str:
    """Return a text that has to be there."""
    value = form.get(key)
    if value is None:
        raise FormError(at, f"{key} is missing")
    if not isinstance(value, str):
        raise FormError((*at, key), "is not a string; put it in quotes")
    return value


def whole_at(form: Mapping[str, Any], key: str, at: Path, low: int, high: int) -> int | None:
    """Return a whole number within limits; None if it is not given."""
    value = form.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise FormError((*at, key), f"must be a whole number from {low} to {high}")
    return value
