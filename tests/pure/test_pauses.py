"""Pauses grow up to their limit, however long something fails."""

from netclaim.controller.pacing.queue import LONGEST_PAUSE_S, WorkQueue
from netclaim.kube import Pace
from netclaim.pauses import pause_after_s


def test_a_pause_doubles_up_to_its_limit() -> None:
    """The first is as given, and no number of failures is too many."""
    pauses = [pause_after_s(count, first_s=0.5, longest_s=3.0) for count in (1, 2, 3, 4, 5_000)]
    assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_watch_may_fail_for_days() -> None:
    """After thousands of failures it still waits for at most the longest pause."""
    pace = Pace()
    assert pace.longest_pause_s / 2 <= pace.pause_s(5_000, 0.0) <= pace.longest_pause_s


async def test_work_may_fail_for_days() -> None:
    """A key that failed thousands of times comes again after the longest pause."""
    queue: WorkQueue[str] = WorkQueue()
    pauses = [queue.failed("key") for _ in range(1_100)]
    queue.close()
    assert pauses[-1] == LONGEST_PAUSE_S
