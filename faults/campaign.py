"""The campaign: burst after burst on one cluster, each with a fault; a fresh cluster after a mess.

Promise: bounded in count and in time, and the next burst starts from a settled state. Says what it
does line by line; whatever it found is returned, also when it was interrupted.
"""

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from faults.burst import BurstResult, run_burst
from faults.report import line
from faults.site import Site
from faults.table import Fault

__all__ = ["Plan", "run"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run."""

    faults: tuple[Fault, ...]
    rounds: int
    claimed: int
    plain: int
    mode: str
    limit_s: float
    logs: Path | None = None  # where to keep all logs of a burst with violations

    def bursts(self) -> Iterator[tuple[Fault, float]]:
        """Yield every burst with its moment: all faults once, then all again at other moments."""
        for number in range(self.rounds):
            for fault in self.faults:
                yield fault, fault.moments[number % len(fault.moments)]


def run(site: Site, plan: Plan, results: list[BurstResult]) -> Sequence[str]:
    """Run the plan, adding to the results; returns the faults that the time was too short for."""
    began = time.monotonic()
    left_out = []
    for number, (fault, moment) in enumerate(plan.bursts()):
        if time.monotonic() - began > plan.limit_s:
            left_out.append(fault.name)
            continue
        if results and results[-1].dirty:
            site.reset()
        else:
            site.settle()
        result = run_burst(
            site,
            fault,
            f"b{number}",
            mode=plan.mode,
            moment=moment,
            claimed=plan.claimed,
            plain=plan.plain,
        )
        results.append(result)
        print(line(result), flush=True)
        if result.violations and plan.logs is not None:  # the next burst has another cluster
            kept = plan.logs / f"{number}-{fault.name}"
            shutil.copytree(site.lab.state.directory / "logs", kept, dirs_exist_ok=True)
    return left_out
