"""docs/reliability.md is about the faults that there are."""

import re
from typing import Final

from faults.table import FAULTS
from tests.support.doc_pages import DOCS, same_names

PAGE: Final = (DOCS / "reliability.md").read_text()
MEASURED: Final = PAGE.partition("### What was measured")[2]
SECONDS: Final = re.compile(r"^\| `([\w.-]+)` \|(?: \d+ / \d+ \|){4}$", re.MULTILINE)


def test_every_fault_was_measured() -> None:
    """The table of seconds has a row for each fault, with both modes."""
    same_names(SECONDS.findall(MEASURED), FAULTS, place="docs/reliability.md")


def test_numbers_of_faults() -> None:
    """Sentences that say how many there are count the same."""
    counts = re.findall(r"(?:fails: |All )(\d+) faults", PAGE)
    counts += re.findall(r"one of (\d+) faults", (DOCS / "lab.md").read_text())
    assert counts == [str(len(FAULTS))] * 3


def test_tables_name_faults_that_there_are() -> None:
    """What a row is about can be run by its name."""
    rows = re.findall(r"^\| `([a-z0-9.-]+)`", MEASURED, re.MULTILINE)
    assert set(rows) - FAULTS.keys() == set()
