"""What a migration reports about an object, beside the object."""

from dataclasses import dataclass

from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that the user should know, about one field of the original."""

    path: Path
    text: str
    lost: bool = False  # the result asks for less than the original did


@dataclass(frozen=True, slots=True)
class Migrated:
    """An object in its new version; None if nothing replaces it."""

    object: JsonObject | None
    remarks: tuple[Remark, ...] = ()
