"""What is looked at, and in which order."""

from netclaim.controller.pacing.keys import DEFINITIONS, NAMESPACE, POOL, RANKS, REPORT, STAMP, rank
from netclaim.controller.pacing.queue import WorkQueue


async def test_a_namespace_comes_first_and_a_status_last() -> None:
    """Whatever was added before; keys of one rank keep their order."""
    queue: WorkQueue[str] = WorkQueue(rank, RANKS)
    wanted = [f"{NAMESPACE}new", "net-b", "net-a", STAMP, DEFINITIONS, f"{REPORT}b", f"{POOL}a"]
    for key in (*wanted[5:], *wanted[1:5], wanted[0], "net-a"):
        queue.add(key)
    assert len(queue) == len(wanted)
    assert [await queue.take() for _ in wanted] == wanted


async def test_what_comes_at_once_does_not_come_later_as_well() -> None:
    """A key that waits for its time is brought forward."""
    queue: WorkQueue[str] = WorkQueue(rank, RANKS)
    queue.add_later("net", 3600.0)
    queue.add("net")
    queue.add_later("net", 0.0)
    assert await queue.take() == "net"
    assert len(queue) == 0
    queue.close()


async def test_tenants_take_turns() -> None:
    """One key each; those of one tenant keep their order, and what is dropped does not come."""
    queue: WorkQueue[str] = WorkQueue(tenant=lambda key: key[0])
    for key in ("a1", "a2", "a3", "a4", "b1", "c1", "b2"):
        queue.add(key)
    queue.add_later("c2", 0.0)
    queue.drop("c2")
    queue.drop("a3")
    assert [await queue.take() for _ in range(6)] == ["a1", "b1", "c1", "a2", "b2", "a4"]
    assert len(queue) == 0
