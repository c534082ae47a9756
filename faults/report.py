"""What a campaign found: a line for each burst, a table at the end, and all of it as JSON."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from faults.burst import BurstResult

__all__ = ["line", "table", "write_json"]

SHOWN = 6  # violations of one burst in a line; all are in the JSON


def line(result: BurstResult) -> str:
    """Return one burst in a line, and a further one for each violation."""
    head = (
        f"{result.fault} at {result.moment:g}: {result.pods} pods, "
        f"{len(result.violations)} violations, ready after {_times(result.claimed_s)} s claimed, "
        f"{_times(result.plain_s)} s plain, {_times(result.steady_s)} s one by one; "
        f"{result.seconds:.1f} s in all"
    )
    shown = [f"    {text}" for text in result.violations[:SHOWN]]
    if len(result.violations) > SHOWN:
        shown.append(f"    and {len(result.violations) - SHOWN} more")
    if result.leftovers:
        shown.append(f"    left over by the runtime: {len(result.leftovers)}")
    return "\n".join([head, *shown])


def table(results: Sequence[BurstResult]) -> str:
    """Return a row for each fault and mode."""
    groups: dict[tuple[str, str], list[BurstResult]] = {}
    for result in results:
        groups.setdefault((result.fault, result.mode), []).append(result)
    head = ("FAULT", "MODE", "BURSTS", "PODS", "VIOLATIONS", "CLAIMED", "PLAIN")
    rows = [head]
    for (fault, mode), group in groups.items():
        claimed = [seconds for result in group for seconds in result.claimed_s]
        plain = [seconds for result in group for seconds in result.plain_s]
        violations = sum(len(result.violations) for result in group)
        pods = sum(result.pods for result in group)
        rows.append(
            (
                fault,
                mode,
                str(len(group)),
                str(pods),
                str(violations),
                _times(claimed),
                _times(plain),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    pods = sum(result.pods for result in results)
    violations = sum(len(result.violations) for result in results)
    lines.append(f"{len(results)} bursts, {pods} pods, {violations} violations")
    lines.append("CLAIMED and PLAIN: seconds until Ready, median and longest")
    return "\n".join(text.rstrip() for text in lines)


def write_json(results: Sequence[BurstResult], file: Path) -> None:
    """Write every burst with all that was found."""
    file.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")


def _times(seconds: Sequence[float]) -> str:
    if not seconds:
        return "-"
    return f"{statistics.median(seconds):.1f}/{max(seconds):.1f}"
