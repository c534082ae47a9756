"""For tests of drivers: an examination against the contract, and a clock that does not wait.

`check_driver` makes every call of the contract, and every second call, on a driver of yours. What
it cannot see is what the driver did to the machine; look at that between your own calls.
"""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

import msgspec

from netclaim.framework.contract import Driver, NetworkDriver
from netclaim.model.claims.claim import Claim
from netclaim.model.devices.counter import CounterSet, counters_fault
from netclaim.model.devices.device import Device
from netclaim.model.on_node.attachment import Attachment
from netclaim.model.on_node.leftover import Living
from netclaim.model.on_node.plan import Plan, Prepared
from netclaim.model.on_node.pod import PodSandbox

__all__ = ["FakeClock", "check_driver"]


class FakeClock:
    """Time that passes only by sleeping, and then at once."""

    def __init__(self) -> None:
        self.slept_s: list[float] = []
        self._now = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._now.timestamp()

    async def sleep(self, delay_s: float) -> None:
        """Let others run, and move the time on."""
        self.slept_s.append(delay_s)
        self._now += timedelta(seconds=delay_s)
        await asyncio.sleep(0)

    def jitter(self) -> float:
        return 0.0


async def check_driver(driver: Driver, claim: Claim, pod: PodSandbox | None = None) -> None:
    """Make every call of the contract for a claim that the driver can serve.

    A network driver also gets a pod whose namespace exists, and leaves nothing in it. Raises
    AssertionError, with what was expected, where the driver does otherwise.
    """
    await _check_discover(driver)
    prepared = await driver.prepare(claim)
    keys = [plan.device.key for plan in prepared.plans]
    _expect(prepared.claim == claim.ref, "prepare answers for the claim it was given")
    _expect(sorted(keys) == sorted(d.key for d in claim.devices), "one plan for each device")
    _expect(await driver.prepare(claim) == prepared, "prepare again gives the same plans")
    saved = msgspec.json.decode(msgspec.json.encode(prepared), type=Prepared)
    _expect(saved == prepared, "plans are the same after being saved and read back")
    if isinstance(driver, NetworkDriver) and pod is not None:
        for plan in saved.plans:
            if plan.network is not None:
                await _check_attach(driver, plan, pod)
    await driver.unprepare(saved)
    await driver.unprepare(saved)
    await driver.unprepare(Prepared(claim=claim.ref))
    await _check_collect(driver)


async def _check_discover(driver: Driver) -> None:
    first = await anext(driver.discover())
    names = Counter((type(each), each.name) for each in first)
    _expect(all(count == 1 for count in names.values()), "each device has a name of its own")
    devices = [each for each in first if isinstance(each, Device)]
    sets = [each for each in first if isinstance(each, CounterSet)]
    fault = counters_fault(sets, ((device.name, device.consumes) for device in devices))
    _expect(not fault, f"the counters that devices use are offered: {fault}")
    again = await anext(driver.discover())
    same = {(type(each), each.name) for each in again} == set(names)
    _expect(same, "names are the same when discovery starts again")


async def _check_collect(driver: Driver) -> None:
    for leftover in await driver.leftovers(Living(sandboxes=frozenset())):
        await driver.collect(leftover)
        await driver.collect(leftover)
    left = await driver.leftovers(Living(sandboxes=frozenset()))
    _expect(not left, "what was collected is not found again")
    await driver.tell_living(Living())
    await driver.tell_living(Living())


async def _check_attach(driver: NetworkDriver, plan: Plan, pod: PodSandbox) -> None:
    begun = Attachment(plan=plan, pod=pod)
    await driver.detach(begun)  # as after a crash between the journal and the driver
    attachment = await driver.attach(plan, pod)
    _expect(attachment.interface is not None, "attach returns the interface's name")
    await driver.check(attachment)
    await driver.check(attachment)
    await driver.detach(attachment)
    await driver.detach(attachment)
    attachment = await driver.attach(plan, pod)  # a clean start
    await driver.detach(attachment)
    gone = msgspec.structs.replace(pod, netns=None)
    await driver.detach(msgspec.structs.replace(attachment, pod=gone))


def _expect(fact: bool, text: str) -> None:
    if not fact:
        raise AssertionError(text)
