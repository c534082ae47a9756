"""What the API answers instead of success: a Status with its code, reason and the fields at fault.

Promise: codes, reasons, field paths and causes are those of the real API server; the words around
them are close, not equal. Told apart by code and reason, as clients do it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from netclaim.errors import RequestError
from netclaim.model.claim import JsonObject
from netclaim.paths import Path, show
from netclaim.schema.kinds import Kind

__all__ = [
    "Fault",
    "RefusedError",
    "already_exists",
    "bad_request",
    "conflict",
    "duplicate",
    "expired",
    "forbidden",
    "invalid",
    "missing",
    "no_such_path",
    "not_found",
    "refuse_invalid",
    "too_long",
    "too_many",
    "unsupported",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with an object: where, of which sort, and in words."""

    path: Path
    reason: str
    message: str

    @property
    def field(self) -> str:
        """The path as the API writes it."""
        return show(self.path)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class RefusedError(RequestError):
    """A request that the API does not carry out."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        path: Path = (),
        details: JsonObject | None = None,
        faults: Sequence[Fault] = (),
    ) -> None:
        super().__init__(message, path=path)
        self.code = code
        self.reason = reason
        self.faults = tuple(faults)
        self._details = details or {}

    def status(self) -> JsonObject:
        """The body of the answer."""
        causes = [
            {"reason": fault.reason, "message": fault.message, "field": fault.field}
            for fault in self.faults
        ]
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": self.reason,
            "details": {**self._details, **({"causes": causes} if causes else {})},
            "code": self.code,
        }


def missing(path: Path, detail: str = "") -> Fault:
    """A field that has to be there."""
    return Fault(
        path, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value"
    )


def invalid(path: Path, value: Any, detail: str) -> Fault:
    """A value that breaks a rule."""
    return Fault(path, "FieldValueInvalid", f"Invalid value: {json.dumps(value)}: {detail}")


def unsupported(path: Path, value: str, supported: Iterable[str]) -> Fault:
    """A value that is none of those there are."""
    known = ", ".join(json.dumps(one) for one in supported)
    return Fault(
        path,
        "FieldValueNotSupported",
        f"Unsupported value: {json.dumps(value)}: supported values: {known}",
    )


def duplicate(path: Path, value: Any) -> Fault:
    """An entry that is there twice."""
    return Fault(path, "FieldValueDuplicate", f"Duplicate value: {json.dumps(value)}")


def forbidden(path: Path, detail: str) -> Fault:
    """A value that may not be set here and now."""
    return Fault(path, "FieldValueForbidden", f"Forbidden: {detail}")


def too_long(path: Path, limit: int) -> Fault:
    """A text of too many bytes."""
    return Fault(path, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def too_many(path: Path, count: int, limit: int) -> Fault:
    """A list of too many entries."""
    message = f"Too many: {count}: must have at most {limit} items"
    return Fault(path, "FieldValueTooMany", message)


def refuse_invalid(kind: Kind, name: str, faults: Iterable[Fault]) -> None:
    """Raise if anything is wrong with an object."""
    found = tuple(faults)
    if found:
        raise _invalid_object(kind, name, found)


def _invalid_object(kind: Kind, name: str, faults: tuple[Fault, ...]) -> RefusedError:
    told = ", ".join(dict.fromkeys(str(fault) for fault in faults))
    said = f"[{told}]" if len(faults) > 1 else told
    full = f"{kind.name}.{kind.group}" if kind.group else kind.name
    return RefusedError(
        422,
        "Invalid",
        f'{full} "{name}" is invalid: {said}',
        details={"name": name, "group": kind.group, "kind": kind.name},
        faults=faults,
    )


def not_found(kind: Kind, name: str) -> RefusedError:
    """An object that is not there."""
    return RefusedError(
        404, "NotFound", f'{kind.full_plural} "{name}" not found', details=_details(kind, name)
    )


def no_such_path() -> RefusedError:
    """A path that leads to no kind of object."""
    return RefusedError(404, "NotFound", "the server could not find the requested resource")


def already_exists(kind: Kind, name: str) -> RefusedError:
    """A name that is taken."""
    message = f'{kind.full_plural} "{name}" already exists'
    return RefusedError(409, "AlreadyExists", message, details=_details(kind, name))


def conflict(kind: Kind, name: str, detail: str, faults: Sequence[Fault] = ()) -> RefusedError:
    """An object that is not in the state the request was made for."""
    message = f'Operation cannot be fulfilled on {kind.full_plural} "{name}": {detail}'
    return RefusedError(409, "Conflict", message, details=_details(kind, name), faults=faults)


def bad_request(message: str, *, path: Path = ()) -> RefusedError:
    """A request that makes no sense; `path` leads to what was not understood."""
    return RefusedError(400, "BadRequest", message, path=path)


def expired(message: str) -> RefusedError:
    """A version that is no longer remembered."""
    return RefusedError(410, "Expired", message)


def _details(kind: Kind, name: str) -> JsonObject:
    return {"name": name, "group": kind.group, "kind": kind.plural}
