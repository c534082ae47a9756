"""One pod, and one namespace, have so much of a node and no more."""

from pathlib import Path

import pytest

from netclaim.errors import RequestError
from netclaim.framework.journal.table import booking_table
from netclaim.framework.prepare.limits import Limits, NamespaceFullError, PodFullError
from netclaim.model.claims.claim import ReportedDevice
from tests.support.framework.parts import DRIVER, claim_of, device_of, moved, pod_of, stage_in

FEW = Limits(pod_devices=3, namespace_claims=2)


async def test_devices_of_a_pod(tmp_path: Path) -> None:
    """A claim that would give a pod too many devices is refused, and nothing is written of it."""
    first = claim_of("first", device_of("eth1"), device_of("eth2"))
    second = claim_of("second", device_of("eth3"), device_of("eth4"))
    async with stage_in(tmp_path, first, second, limits=FEW) as stage:
        await stage.preparer.prepare(first.ref)
        with pytest.raises(PodFullError, match=r"pod-1 would have 4 devices .* at most 3"):
            await stage.preparer.prepare(second.ref)
        assert list(stage.journal.bookings) == ["uid-first"]
        assert stage.driver.calls == ["prepare first"]


async def test_a_claim_over_a_limit_says_so_itself(tmp_path: Path) -> None:
    """It keeps its devices unless somebody can see that it was refused, which the journal cannot.

    One that a pod has already, by its own word, stays ready; one that cannot be read says nothing.
    """
    first = claim_of("first", device_of("eth1"), device_of("eth2"))
    second = claim_of("second", device_of("eth3"), device_of("eth4"))
    key = second.devices[0].key
    has = moved(second, reported=(ReportedDevice(DRIVER, key, since="2026-01-01T00:00:00Z"),))
    async with stage_in(tmp_path, first, second, limits=FEW) as stage:
        await stage.preparer.prepare(first.ref)
        with pytest.raises(PodFullError):
            await stage.preparer.prepare(second.ref)
        said = "second: pod pod-1 would have 4 devices of this driver; at most 3 are allowed"
        assert stage.reports.turned_away == [said]
        stage.claims.claims["second"] = has
        with pytest.raises(PodFullError):
            await stage.preparer.prepare(second.ref)
        del stage.claims.claims["second"]
        with pytest.raises(RequestError, match="no longer exists"):
            await stage.preparer.prepare(second.ref)
        assert stage.reports.turned_away == [said]


async def test_a_claim_that_the_driver_refuses_is_in_the_journal(tmp_path: Path) -> None:
    """What is booked is reported by the journal, and so is not turned away."""
    red = claim_of("red")
    async with stage_in(tmp_path, red) as stage:
        stage.driver.fail("prepare red", RequestError("no such key"))
        with pytest.raises(RequestError):
            await stage.preparer.prepare(red.ref)
        assert stage.reports.turned_away == []
        assert list(stage.journal.bookings) == ["uid-red"]


async def test_devices_of_a_pod_on_shared_claims(tmp_path: Path) -> None:
    """A pod of which kubelet did not tell, since others have its claims, is refused at attach."""
    one = claim_of("one", device_of("eth1"), device_of("eth2"), pods=("pod-1",))
    two = claim_of("two", device_of("eth3"), device_of("eth4"), pods=("pod-2",))
    async with stage_in(tmp_path, limits=FEW) as stage:
        await stage.prepare(one, two)
        stage.claims.claims["one"] = claim_of("one", *one.devices, pods=("pod-1", "pod-3"))
        stage.claims.claims["two"] = claim_of("two", *two.devices, pods=("pod-2", "pod-3"))
        with pytest.raises(PodFullError, match="pod-3 would have 4 devices"):
            await stage.attach(pod_of("pod-3", "s3"))
        assert stage.states() == {}
        assert sorted(stage.reports.refused) == ["uid-one", "uid-two"]


async def test_pods_that_have_their_devices_keep_them(tmp_path: Path) -> None:
    """A limit that was lowered does not stop the containers of a pod that is complete."""
    one = claim_of("one", device_of("eth1"), device_of("eth2"))
    async with stage_in(tmp_path) as stage:
        await stage.prepare(one)
        await stage.attach(pod_of())
    async with stage_in(tmp_path, limits=Limits(pod_devices=1)) as stage:
        await stage.attach(pod_of())
        assert set(stage.states().values()) == {"attached"}


async def test_claims_of_a_namespace(tmp_path: Path) -> None:
    """A namespace with as many claims as it may have gets no more; another one does."""
    reds = [claim_of(f"red{n}", device_of(f"eth{n}"), pods=(f"p{n}",)) for n in range(3)]
    blue = claim_of("blue", device_of("eth9"), namespace="other")
    async with stage_in(tmp_path, *reds, blue, limits=FEW) as stage:
        for claim in (*reds[:2], blue):
            await stage.preparer.prepare(claim.ref)
        with pytest.raises(NamespaceFullError, match=r"default already has 2 claims .* at most 2"):
            await stage.preparer.prepare(reds[2].ref)
        assert "uid-red2" not in stage.journal.bookings
        assert (await stage.preparer.prepare(reds[0].ref)).devices
        await stage.preparer.unprepare(reds[0].ref)
        await stage.preparer.prepare(reds[2].ref)


async def test_forgotten_claims_do_not_fill_a_namespace(tmp_path: Path) -> None:
    """Claims that kubelet will never release are found when their place is needed."""
    limits = Limits(namespace_claims=20)
    claims = [claim_of(f"c{n}", device_of(f"eth{n}"), pods=(f"p{n}",)) for n in range(21)]
    async with stage_in(tmp_path, *claims, limits=limits) as stage:
        for claim in claims[:20]:
            await stage.preparer.prepare(claim.ref)
        del stage.claims.claims["c19"]
        refused = 0
        while refused < 3:
            with pytest.raises(NamespaceFullError):
                await stage.preparer.prepare(claims[20].ref)
            refused += 1
        await stage.preparer.prepare(claims[20].ref)
        assert "uid-c19" not in stage.journal.bookings


def test_defaults() -> None:
    """A claim with all devices that the API allows is within the limits."""
    largest = claim_of("red", *(device_of(f"eth{n}") for n in range(32)))
    Limits().check_claim(largest, booking_table())
