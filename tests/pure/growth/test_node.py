"""What one claim costs the node does not depend on what others hold."""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from netclaim.chained import PlanFiles
from netclaim.framework.attach.followers import Followers
from netclaim.framework.attach.marks import FileMarks
from netclaim.framework.collect.living import LivingLook
from netclaim.framework.contract import Driver
from netclaim.framework.journal.pod_plans import PodClaims, PodPlans, ReleasedLately
from netclaim.framework.journal.records import Booking, Lease
from netclaim.framework.journal.table import Table, booking_table, lease_table
from netclaim.framework.prepare.claim_source import ClaimSource
from netclaim.framework.prepare.holders import Holders
from netclaim.framework.prepare.limits import Limits
from netclaim.framework.report.claim_status import compose, device_statuses
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.framework.tools.fair_slots import Places
from netclaim.model import AllocatedDevice, Claim, ClaimRef, PodSandbox, Prepared
from netclaim.model.claims.claim_text import claim_from_text
from netclaim.network.driver import LinkDriver
from tests.support.framework.parts import (
    ScriptedDriver,
    attachment_of,
    claim_of,
    device_of,
    plan_of,
    pod_of,
)
from tests.support.growth import assert_flat, assert_linear

HELD = 32  # devices of each of the others: as many as a claim can have


class TableJournal:
    """The memory of a journal, without a disk."""

    complete = True

    def __init__(self, booked: Table[str, Booking], leases: Iterable[Lease] = ()) -> None:
        self.booked, self.leased = booked, lease_table()
        for lease in leases:
            self.leased.put(lease.attachment.key, lease)

    @property
    def bookings(self) -> Any:
        """All bookings."""
        return self.booked.rows

    @property
    def leases(self) -> Any:
        """All leases."""
        return self.leased.rows


def shares(count: int, of: str = "a") -> tuple[AllocatedDevice, ...]:
    """Shares of one link."""
    each = {"attachments": "1"}
    return tuple(
        device_of("eth1", share_id=f"{of}{i}", consumed_capacity=each) for i in range(count)
    )


def others(n: int, *, pods: Callable[[int], tuple[str, ...]] = lambda i: (f"p{i}",)) -> list[Claim]:
    """Claims on the same link, of the same namespace, of which each has a pod of its own."""
    return [
        claim_of(f"c{i}", *shares(HELD, f"{i}-"), pods=pods(i), owner=pods(i)[0]) for i in range(n)
    ]


def booked_with(claims: list[Claim]) -> Table[str, Booking]:
    """These claims, planned."""
    booked = booking_table()
    for claim in claims:
        plans = tuple(plan_of(claim, device) for device in claim.devices)
        booking = Booking.of(claim).planned(claim, Prepared(claim.ref, plans), released=False)
        booked.put(claim.uid, booking)
    return booked


@pytest.mark.parametrize("kind", [ScriptedDriver, LinkDriver])
def test_booking(kind: type[Driver]) -> None:
    """A claim with shares of a link finds out at once that others have shares, too."""
    driver = kind.__new__(kind)
    mine = claim_of("mine", *shares(HELD, "mine"))

    def work_of(n: int) -> Callable[[], object]:
        holders, booked = Holders(driver.holds), booked_with(others(n))
        booked.follow(holders.note)

        def book() -> None:
            assert holders.blocking(mine) is None
            Limits(namespace_claims=10**6).check_claim(mine, booked)
            booked.put(mine.uid, Booking.of(mine))
            booked.drop(mine.uid)

        return book

    assert_flat(work_of, 16)


def test_limits_of_many_pods() -> None:
    """A claim that is shared by pods is counted for each of them, and for no other."""

    def work_of(n: int) -> Callable[[], object]:
        mine = claim_of("mine", *shares(1), pods=[f"p{i}" for i in range(n)])
        booked = booked_with(others(n))
        return partial(Limits(pod_devices=99).check_claim, mine, booked)

    assert_linear(work_of, 16)


class NoApi:
    """An API server that knows a pod's claims, and which must not be asked for each of them."""

    async def claims_of(self, pod: PodSandbox) -> PodClaims:
        """One."""
        return PodClaims(frozenset({"c0"}))

    async def get(self, ref: object, *, driver: str = "") -> Claim:
        """Must not be called."""
        raise AssertionError("asked for a claim that the pod does not name")

    async def labels(self, name: str, *, fresh: bool = False) -> Mapping[str, str]:
        """None."""
        return {}


def test_plans_of_a_pod() -> None:
    """A pod is found among its own claims, not among all of its namespace."""

    def work_of(n: int) -> Callable[[], object]:
        journal: Any = TableJournal(booked_with(others(n)))
        plans = PodPlans(journal, NoApi(), NoApi(), lambda: None)
        pod = pod_of("p0")

        def ask() -> None:
            assert len(plans.known(pod)) == HELD
            assert len(asyncio.run(plans.of(pod))) == HELD

        return ask

    assert_flat(work_of, 16)


def leases_of(claims: list[Claim]) -> Iterator[Lease]:
    """One attachment of each claim's devices in each of its pods."""
    for claim in claims:
        for pod in claim.reserved_for:
            for device in claim.devices:
                begun = Lease.begun(attachment_of(plan_of(claim, device), pod_of(pod.uid, pod.uid)))
                yield begun.attached(begun.attachment)


def test_leases_of_a_sandbox() -> None:
    """A pod's start and end look at its own leases, and count the others without looking."""

    def work_of(n: int) -> Callable[[], object]:
        claims = others(n)
        journal: Any = TableJournal(booked_with(claims), leases_of(claims))
        unused: Any = None
        followers = Followers(
            journal, unused, unused, unused, Metrics("net.example.com", FakeClock())
        )
        mine = list(leases_of([claim_of("mine", *shares(HELD, "mine"), pods=("mine",))]))

        def live() -> None:
            for lease in mine:
                journal.leased.put(lease.attachment.key, lease)
            assert journal.leased.size("sandbox", "mine") == HELD
            followers.count()
            for lease in mine:
                journal.leased.drop(lease.attachment.key)

        return live

    assert_flat(work_of, 16)


def test_marks(tmp_path: Path) -> None:
    """What is on the disk of one claim is written without looking at the others one by one."""

    def work_of(n: int) -> Callable[[], object]:
        released = ReleasedLately(FakeClock())
        marks = FileMarks(PlanFiles(tmp_path / str(n)), released)
        journal: Any = TableJournal(booked_with(others(n)))
        marks.note_plans(journal)
        mine = Booking.of(claim_of("mine", pods=("mine",), owner="mine"))

        def note() -> None:
            journal.booked.put("mine", mine)
            marks.note_plans(journal)
            journal.booked.drop("mine")
            marks.note_plans(journal)

        return note

    assert_flat(work_of, 32)


def test_released_claims() -> None:
    """Claims that are released one after the other are noted one by one."""

    def work_of(n: int) -> Callable[[], object]:
        def release() -> None:
            released = ReleasedLately(FakeClock())
            for i in range(n):
                released.note("default", f"uid-{i}")
                assert released.has("default")

        return release

    assert_linear(work_of, 64)


def test_report_of_a_shared_claim() -> None:
    """A claim's status is composed in time that grows with its pods, and is of bounded size."""

    def work_of(n: int) -> Callable[[], object]:
        (claim,) = others(1, pods=lambda _: tuple(f"p{i}" for i in range(n)))
        (booking,) = booked_with([claim]).rows.values()
        leases = list(leases_of([claim]))

        def report() -> None:
            composed = compose(booking, leases, {}, None, FakeClock().now())
            assert len(device_statuses(composed, "Device")) == HELD

        return report

    assert_linear(work_of, 16)


def test_turns() -> None:
    """Those who wait for their turn, and those who give up, pay for themselves."""

    def work_of(n: int) -> Callable[[], object]:
        async def wait_and_give_up() -> None:
            places = Places(total=1, each=1)

            async def visit() -> None:
                async with places.hold("tenant"):
                    await asyncio.Event().wait()

            tasks = [asyncio.ensure_future(visit()) for _ in range(n)]
            await asyncio.sleep(0)
            for task in reversed(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        return lambda: asyncio.run(wait_and_give_up())

    assert_linear(work_of, 32)


def test_removing_leftovers() -> None:
    """Whether the sandbox of a leftover is in use is seen without a look at all sandboxes."""

    def work_of(n: int) -> Callable[[], object]:
        claims, unused = others(n), cast("Any", None)
        journal: Any = TableJournal(booked_with(claims), leases_of(claims))
        look = LivingLook(
            journal, unused, unused, frozenset, unused, unused, NoApi(), unused, FakeClock()
        )

        def ask() -> None:
            for i in range(HELD):
                assert look.has("p0")
                assert not look.has(f"gone-{i}")

        return ask

    assert_flat(work_of, 16)


class TextClaims:
    """An API server with one claim."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    async def get(self, ref: object, *, driver: str = "") -> Claim:
        """Read it, as it is read from the API server."""
        del ref
        found = claim_from_text(self._text, driver)
        assert bool(found.configs) is bool(driver)
        return found


def test_stale_claims() -> None:
    """Whether a claim still has its devices is seen without a look at what its author wrote."""
    driver = ScriptedDriver()

    def work_of(n: int) -> Callable[[], object]:
        opaque = {"driver": driver.name, "parameters": {"x": [[]] * n}}
        result = {"request": "r", "driver": driver.name, "pool": "p", "device": "eth1"}
        config = [{"source": "FromClaim", "opaque": opaque}]
        allocation = {"devices": {"results": [result], "config": config}}
        found = {
            "metadata": {"name": "c", "namespace": "default", "uid": "c"},
            "status": {"allocation": allocation},
        }
        source = ClaimSource(driver, TextClaims(json.dumps(found).encode()), labels=NoApi().labels)
        claim = asyncio.run(source.read(ClaimRef("c", "default", "c")))
        assert claim.configs[0].parameters == {"x": [[]] * n}

        def ask() -> None:
            assert not asyncio.run(source.is_stale(claim.ref, Booking.of(claim)))

        return ask

    assert_flat(work_of, 64)
