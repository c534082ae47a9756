"""What a conversion says about a field of the original: one line with the file and the line.

Values only. Promise: a remark is one line, whatever the file's keys and names contain.
"""

from dataclasses import dataclass

from netclaim.convert.places import TextField
from netclaim.manifests.objects import Object
from netclaim.paths import Path, show
from netclaim.plain_text import one_line


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that the user should know; `lost` if the result does less than the original."""

    where: str  # FILE:LINE, or what to call an object of a cluster
    path: str
    text: str
    lost: bool = False

    def __str__(self) -> str:
        said = f"{self.path}: {self.text}" if self.path else self.text
        return one_line(f"{self.where}: {said}{' (not carried over)' if self.lost else ''}")


def about(one: Object, path: Path, text: str, *, lost: bool = False) -> Remark:
    """Return a remark about a field of an object."""
    return Remark(one.where(path), show((*one.at, *path)), text, lost)


def within(field: TextField, inner: Path, text: str, *, lost: bool = False) -> Remark:
    """Return a remark about a field inside a text of an object."""
    line = field.line_of(inner)
    where = f"{field.one.source}:{line}" if line else field.one.source
    return Remark(where, field.show(inner), text, lost)
