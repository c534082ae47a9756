"""One thing that is wrong with a manifest: where it is, and what to change.

Values only. Promise: as text a finding is one line, whatever the file's keys and names contain.
"""

import enum
from collections.abc import Iterable

import msgspec

from netclaim.errors import RequestError
from netclaim.plain_text import one_line


class Severity(enum.StrEnum):
    """Whether a cluster would refuse it, or only might."""

    ERROR = "error"
    WARNING = "warning"


class Finding(msgspec.Struct, frozen=True):
    """One mistake, or one question that these files alone cannot answer."""

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
        return one_line(f"{self.where}: {self.severity}: {self._told}")

    def as_error(self) -> RequestError:
        """Return it as an error, for a command that goes no further."""
        return RequestError(one_line(f"{self.where}: {self._told}"))

    @property
    def _told(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def count(findings: Iterable[Finding], severity: Severity) -> int:
    return sum(finding.severity is severity for finding in findings)
