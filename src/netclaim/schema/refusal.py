"""What the API answers when it refuses: a Status with its code, reason and the fields at fault.

Codes, reasons, field paths and causes are those of the real API server; the words around them are
close, not equal. Refusals are distinguished by code and reason, as clients do it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from netclaim.errors import RequestError
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path, show
from netclaim.schema.kinds import Kind


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with an object."""

    path: Path
    reason: str
    message: str

    @property
    def field(self) -> str:
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
    return Fault(
        path, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value"
    )


def invalid(path: Path, value: Any, detail: str) -> Fault:
    return Fault(path, "FieldValueInvalid", f"Invalid value: {json.dumps(value)}: {detail}")


def unsupported(path: Path, value: str, supported: Iterable[str]) -> Fault:
    known = ", ".join(json.dumps(one) for one in supported)
    return Fault(
        path,
        "FieldValueNotSupported",
        f"Unsupported value: {json.dumps(value)}: supported values: {known}",
    )


def duplicate(path: Path, value: Any) -> Fault:
    return Fault(path, "FieldValueDuplicate", f"Duplicate value: {json.dumps(value)}")


def forbidden(path: Path, detail: str) -> Fault:
    return Fault(path, "FieldValueForbidden", f"Forbidden: {detail}")


def too_long(path: Path, limit: int) -> Fault:
    return Fault(path, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def too_many(path: Path, count: int, limit: int) -> Fault:
    message = f"Too many: {count}: must have at most {limit} items"
    return Fault(path, "FieldValueTooMany", message)


def refuse_invalid(kind: Kind, name: str, faults: Iterable[Fault]) -> None:
    """Raise a RefusedError if there are faults."""
    found = tuple(faults)
    if not found:
        return
    listed = ", ".join(dict.fromkeys(str(fault) for fault in found))
    full = f"{kind.name}.{kind.group}" if kind.group else kind.name
    raise RefusedError(
        422,
        "Invalid",
        f'{full} "{name}" is invalid: {f"[{listed}]" if len(found) > 1 else listed}',
        details={"name": name, "group": kind.group, "kind": kind.name},
        faults=found,
    )


def not_found(kind: Kind, name: str) -> RefusedError:
    return RefusedError(
        404, "NotFound", f'{kind.full_plural} "{name}" not found', details=_details(kind, name)
    )


def no_such_path() -> RefusedError:
    """The path of a request leads to no kind of object."""
    return RefusedError(404, "NotFound", "the server could not find the requested resource")


def already_exists(kind: Kind, name: str) -> RefusedError:
    message = f'{kind.full_plural} "{name}" already exists'
    return RefusedError(409, "AlreadyExists", message, details=_details(kind, name))


def conflict(kind: Kind, name: str, detail: str, faults: Sequence[Fault] = ()) -> RefusedError:
    """The object is not in the state that the request was made for."""
    message = f'Operation cannot be fulfilled on {kind.full_plural} "{name}": {detail}'
    return RefusedError(409, "Conflict", message, details=_details(kind, name), faults=faults)


def bad_request(message: str, *, path: Path = ()) -> RefusedError:
    """A request that cannot be understood; `path` leads to the part that is wrong."""
    return RefusedError(400, "BadRequest", message, path=path)


def expired(message: str) -> RefusedError:
    """The asked resource version is too old to be remembered."""
    return RefusedError(410, "Expired", message)


def _details(kind: Kind, name: str) -> JsonObject:
    return {"name": name, "group": kind.group, "kind": kind.plural}
