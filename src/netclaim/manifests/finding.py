"""One thing that is wrong with a manifest: where it stands, and what to change.

Values only. Promise: as text a finding is one line, whatever the file's keys and names hold.
"""

import enum
from collections.abc import Iterable

import msgspec

from netclaim.errors import RequestError

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

    @property
    def where(self) -> str:
        """The file and line, as compilers write them."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        return _printable(f"{self.where}: {self.severity}: {self._told}")

    def as_error(self) -> RequestError:
        """Return it for a command that goes no further."""
        return RequestError(_printable(f"{self.where}: {self._told}"))

    @property
    def _told(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def count(findings: Iterable[Finding], severity: Severity) -> int:
    """How many findings are of a severity."""
    return sum(finding.severity is severity for finding in findings)


def _printable(text: str) -> str:
    """Keep a line a line: a key may hold newlines, or what a terminal takes for an order."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
