"""Published slices stay as they should be, without storms of writes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from structlog.testing import capture_logs

from netclaim.errors import HostError
from netclaim.framework.discover.follow import follow_devices
from netclaim.framework.publish.publisher import Publisher
from netclaim.framework.publish.slices import Pool
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.framework.tools.supervise import Backoff, Standing, supervise
from netclaim.model import CounterSet, CounterUse, Device, JsonObject, Quantity
from tests.support.framework.parts import UNREACHABLE, ScriptedDriver
from tests.support.framework.slices import SliceServer

POOL = Pool(driver="net.example.com", node="node-1", node_uid="node-uid")
ETH0, ETH1 = Device(name="eth0"), Device(name="eth1", allow_multiple_allocations=True)


class Bench:
    """A publisher at work on a slice server."""

    def __init__(self) -> None:
        self.server = SliceServer()
        self.clock = FakeClock()
        self.metrics = Metrics(POOL.driver, self.clock)
        self.learned: list[frozenset[str]] = []  # what the driver was told that is dropped
        self.publisher = Publisher(
            POOL, self.server, self.clock, self.metrics, learn_dropped=self.learned.append
        )

    async def wait_quiet(self) -> None:
        """Let the publisher work until it has left many turns of the loop unused."""
        writes, unused = len(self.server.operations), 0
        for _ in range(1000):
            await asyncio.sleep(0)
            unused = unused + 1 if len(self.server.operations) == writes else 0
            writes = len(self.server.operations)
            if unused == 50:
                return
        raise AssertionError("the publisher does not come to rest")


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    """A running publisher."""
    made = Bench()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(made.publisher.run())
        yield made
        running.cancel()


async def test_publishes() -> None:
    """What is offered is published; the same offer again writes nothing."""
    async with bench() as b:
        b.publisher.offer((ETH0, ETH1))
        await b.wait_quiet()
        assert b.server.device_names() == ["eth0", "eth1"]
        b.publisher.offer((ETH0, ETH1))
        await b.wait_quiet()
        assert len(b.server.operations) == 1
        assert b"netclaim_published_devices" in b.metrics.exposition()


async def test_nothing_before_the_first_offer() -> None:
    """A restart does not empty the pool: nothing is written before devices are known."""
    async with bench() as b:
        b.server.store({"metadata": {"name": "old"}, "spec": {"devices": [{"name": "eth0"}]}})
        await b.wait_quiet()
        assert b.server.operations == []


async def test_burst_is_one_write() -> None:
    """Offers in quick succession become one write, of the last."""
    async with bench() as b:
        for count in range(1, 20):
            b.publisher.offer(tuple(Device(name=f"d{n}") for n in range(count)))
        await b.server.wait_for(lambda: len(b.server.device_names()) == 19)
        await b.wait_quiet()
        assert len(b.server.operations) == 1


async def test_wiped_slices_come_back() -> None:
    """Slices that kubelet deletes at its start are published again."""
    async with bench() as b:
        b.publisher.offer((ETH0,))
        await b.wait_quiet()
        b.server.remove()
        await b.server.wait_for(lambda: b.server.device_names() == ["eth0"])
        (obj,) = b.server.objects.values()
        assert obj["spec"]["pool"]["generation"] == 2


async def test_edited_slice_is_repaired() -> None:
    """What somebody changes in a slice is changed back."""
    async with bench() as b:
        b.publisher.offer((ETH0,))
        await b.wait_quiet()
        (obj,) = b.server.objects.values()
        obj["spec"]["devices"] = [{"name": "mine"}]
        b.server.store(obj)
        await b.server.wait_for(lambda: b.server.device_names() == ["eth0"])


async def test_a_fight_slows_down() -> None:
    """Against somebody who always changes it back, the rounds get further and further apart."""
    async with bench() as b:
        b.publisher.offer((ETH0,))
        await b.wait_quiet()
        for round_number in range(2, 14):
            b.server.remove()
            await b.server.wait_for(lambda: len(b.server.operations) >= round_number)  # noqa: B023
        longest_s = max(b.clock.slept_s)
        assert longest_s == 30.0


def gate_off(obj: JsonObject) -> None:
    """Drop what makes a device shareable, as an API server without the feature does."""
    for device in obj["spec"]["devices"]:
        device.pop("allowMultipleAllocations", None)


async def test_dropped_fields_are_reported_once() -> None:
    """Fields that the server drops are reported, and not written again and again."""
    with capture_logs() as logs:
        async with bench() as b:
            b.server.admit = gate_off
            await b.publisher.wait_outdated()
            b.publisher.offer((ETH1,))
            await b.wait_quiet()
            await b.wait_quiet()
            assert len(b.server.operations) == 1
            b.publisher.offer((ETH0, ETH1))
            await b.server.wait_for(lambda: len(b.server.operations) == 2)
            await b.wait_quiet()
            assert len(b.server.operations) == 2
    dropped = [entry for entry in logs if entry["event"] == "publish.dropped"]
    assert [entry["fields"] for entry in dropped] == [["allowMultipleAllocations"]]


async def test_a_driver_hears_what_is_dropped_before_anything_is_published() -> None:
    """What it offered before is not published; what it offers then is."""
    async with bench() as b:
        b.server.admit = gate_off
        b.publisher.offer((ETH1,))
        await b.publisher.wait_outdated()
        assert b.learned[0] == {"allowMultipleAllocations"}
        await b.wait_quiet()
        assert b.server.operations == []
        b.publisher.offer((Device("eth1-slot-0"),))
        await b.wait_quiet()
        assert b.server.device_names() == ["eth1-slot-0"]


async def test_a_driver_hears_when_the_server_has_learned() -> None:
    """An upgraded server is noticed without a restart, and the driver is asked afresh."""
    with capture_logs() as logs:
        async with bench() as b:
            b.server.admit = gate_off
            await b.publisher.wait_outdated()
            b.publisher.offer((Device("eth1-slot-0"),))
            await b.wait_quiet()
            b.server.admit = lambda obj: None
            await b.publisher.wait_outdated()
            assert b.learned[-1] == frozenset()
            b.publisher.offer((ETH1,))
            await b.server.wait_for(lambda: b.server.device_names() == ["eth1"])
    assert [entry["fields"] for entry in logs if entry["event"] == "publish.kept"] == [
        ["allowMultipleAllocations"]
    ]


async def test_a_server_that_loses_a_feature_is_noticed_by_what_it_stores() -> None:
    """A control plane that was rolled back shows with the next write."""
    async with bench() as b:
        b.publisher.offer((ETH1,))
        await b.wait_quiet()
        assert b.learned == [frozenset()]
        b.server.admit = gate_off
        b.publisher.offer((ETH0, ETH1))
        await b.publisher.wait_outdated()
        assert b.learned[1] == {"allowMultipleAllocations"}


async def test_failing_server_is_waited_out() -> None:
    """A server that fails is asked again until the slices are right."""
    async with bench() as b:
        b.server.faults = [UNREACHABLE] * 5
        b.publisher.offer((ETH0,))
        await b.wait_quiet()
        assert b.server.device_names() == ["eth0"]


async def test_supervised_publisher_survives_what_the_owner_must_change() -> None:
    """Credentials that cannot be read stop the writes until they can; nothing is forgotten."""
    b = Bench()
    standing = Standing(b.clock)
    b.server.faults = [HostError("cannot read the token")] * 2
    b.publisher.offer((ETH0,))
    kept = supervise(
        "publish",
        b.publisher.run,
        backoff=Backoff(),
        clock=b.clock,
        metrics=b.metrics,
        standing=standing,
    )
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kept)
        await b.wait_quiet()
        assert b.server.device_names() == ["eth0"]
        assert standing.text() == "publish: cannot read the token"
        await b.clock.sleep(6)
        assert standing.text() == ""
        running.cancel()


async def test_discovery_that_fails_is_asked_again() -> None:
    """A driver whose discovery raises is asked again, and what it said last stays."""
    driver = ScriptedDriver()
    offers: asyncio.Queue[tuple[Device | CounterSet, ...]] = asyncio.Queue()
    clock = FakeClock()
    standing = Standing(clock)
    before: list[str] = []

    def offer(devices: tuple[Device | CounterSet, ...]) -> None:
        before.append(standing.text())
        offers.put_nowait(devices)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(follow_devices(driver, offer, clock, standing))
        driver.devices.put_nowait((ETH0,))
        assert await offers.get() == (ETH0,)
        driver.devices.put_nowait((ETH0, ETH0))  # one name twice: refused as a whole
        driver.devices.put_nowait((ETH1,))
        assert await offers.get() == (ETH1,)
        assert clock.slept_s == [0.5]
        assert before == ["", "discover: several devices are called eth0"]
        assert standing.text() == ""
        running.cancel()


async def test_change_shows_within_a_second_of_many_others() -> None:
    """A link that keeps changing is published at a steady pace, never later than a second."""
    async with bench() as b:
        for round_number in range(1, 20):
            b.publisher.offer((ETH0, Device(name=f"d{round_number}")))
            await b.server.wait_for(lambda: len(b.server.operations) >= round_number)  # noqa: B023
        assert len(b.server.operations) == 19
        assert max(b.clock.slept_s) < 1.0


async def test_a_server_without_counters() -> None:
    """Counters that the server drops are reported by their fields, and not sent again."""
    async with bench() as b:

        def drop(obj: JsonObject) -> None:
            obj["spec"].pop("sharedCounters", None)
            for device in obj["spec"].get("devices", ()):
                device.pop("consumesCounters", None)

        b.server.admit = drop
        half = CounterUse("set", {"a": Quantity.parse("1")})
        counters = CounterSet("set", {"a": Quantity.parse("2")})
        with capture_logs() as logs:
            b.publisher.offer((Device("d0", consumes=(half,)), counters))
            await b.wait_quiet()
            await b.wait_quiet()
        dropped = [field for log in logs for field in log.get("fields", ())]
        assert sorted(dropped) == ["consumesCounters", "sharedCounters"]
        assert len(b.server.operations) == 2
