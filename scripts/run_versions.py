"""Run what is marked `versions` on each Kubernetes that the lab can boot, one after the other.

    python -m scripts.run_versions             every release that is pinned
    python -m scripts.run_versions 1.36 1.34   these

Builds the releases that are not in the cache. Ends with a table: a row for each release, a column
for each part that the marks name. Exit code 1 if a test failed, or if a release ran none.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from lab.cluster import RELEASE_VARIABLE
from lab.parts.pins import load_pins

CHECKOUT = Path(__file__).resolve().parents[1]
# `older` is the oldest release beside the one that is asked for; here it has a run of its own.
MARKED = "versions and not older"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one release: by part, how many tests passed and how many did not."""

    release: str
    exit_code: int
    took_s: float
    passed: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Whether something was run, and all of it passed."""
        return self.exit_code == 0 and bool(self.passed) and not self.failed

    def cell(self, part: str) -> str:
        """Return what the table says of a part."""
        passed, failed = self.passed.get(part, 0), self.failed.get(part, 0)
        if failed:
            return f"{failed} of {passed + failed} failed"
        return f"{passed} passed" if passed else "none"


def run(release: str) -> Outcome:
    """Run the marked tests on a release."""
    print(f"\n=== Kubernetes {release} ===", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        command = [sys.executable, "-m", "pytest", "tests/cluster", "-m", MARKED]
        done = subprocess.run(
            [*command, f"--junitxml={report}", "-o", "junit_family=xunit1"],
            cwd=CHECKOUT,
            env={**os.environ, RELEASE_VARIABLE: release},
            check=False,
        )
        took_s = time.monotonic() - started
        if not report.exists():
            return Outcome(release, done.returncode or 1, took_s)
        return Outcome(release, done.returncode, took_s, *counts(report.read_text()))


def counts(report: str) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Count by part what passed, and what failed or was skipped: nothing passes by not running."""
    passed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for case in ET.fromstring(report).iter("testcase"):
        properties = {each.get("name"): each.get("value", "") for each in case.iter("property")}
        bad = any(case.find(outcome) is not None for outcome in ("failure", "error", "skipped"))
        (failed if bad else passed)[properties.get("versions") or "other"] += 1
    return passed, failed


def table(outcomes: Sequence[Outcome]) -> str:
    """Return all outcomes, as text."""
    parts = sorted({part for each in outcomes for part in (*each.passed, *each.failed)})
    rows = [["Kubernetes", *parts, "minutes", ""]]
    for each in outcomes:
        cells = [each.cell(part) for part in parts]
        verdict = "good" if each.good else f"BAD, exit code {each.exit_code}"
        rows.append([each.release, *cells, f"{each.took_s / 60:.1f}", verdict])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def main(arguments: Sequence[str]) -> int:
    """Run as a command; returns the exit status."""
    pinned = load_pins().kubernetes
    if unknown := [each for each in arguments if each not in pinned]:
        known = ", ".join(pinned)
        print(f"no Kubernetes {', '.join(unknown)} is pinned; there are {known}", file=sys.stderr)
        return 2
    outcomes: list[Outcome] = []
    try:
        for release in arguments or pinned:
            outcome = run(release)
            outcomes.append(outcome)
    finally:
        if outcomes:
            print(f"\n{table(outcomes)}")
    return 0 if all(each.good for each in outcomes) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)  # as shells have it: 128 and SIGINT
