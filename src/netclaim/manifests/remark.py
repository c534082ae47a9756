"""What a migration says of an object, beside the object."""

from dataclasses import dataclass

from netclaim.model.claim import JsonObject
from netclaim.paths import Path

__all__ = ["Migrated", "Remark"]


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that the reader should know, at one field of the original."""

    path: Path
    text: str
    lost: bool = False  # the result asks for less than the original did


@dataclass(frozen=True, slots=True)
class Migrated:
    """An object in its new version; None where nothing takes its place."""

    object: JsonObject | None
    remarks: tuple[Remark, ...] = ()
