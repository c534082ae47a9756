"""What `netclaim check` has to say: one thing that is wrong, where it stands, what to change.

Values only. Promise: as text a finding is one line, whatever the file's keys and names hold.
"""

import enum
from collections.abc import Iterable

import msgspec

__all__ = ["Finding", "Severity", "count"]


class Severity(enum.StrEnum):
    """Whether a cluster would refuse it, or only might."""

    ERROR = "error"
    WARNING = "warning"


class Finding(msgspec.Struct, frozen=True):
    """One mistake, or one thing that these files alone cannot answer."""

    severity: Severity
    file: str
    line: int  # of the field, or of the nearest thing around it; from 1, 0 if it is in no file
    path: str  # of the field in its document; empty for the document itself
    message: str

    def __str__(self) -> str:
        about = f"{self.path}: " if self.path else ""
        where = f"{self.file}:{self.line}" if self.line else self.file
        return _printable(f"{where}: {self.severity}: {about}{self.message}")


def count(findings: Iterable[Finding], severity: Severity) -> int:
    """How many findings are of a severity."""
    return sum(finding.severity is severity for finding in findings)


def _printable(text: str) -> str:
    """Keep a line a line: a key may hold newlines, or what a terminal takes for an order."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
