"""Discover: follow the driver's devices, pass every change on, and say how healthy they are.

Promise: a discovery that fails is begun again, with back-off, and the last offer stays published
meanwhile. A device that is offered is healthy, unless a taint keeps pods away from it;
one that a claim holds and that is no longer offered is unhealthy.
Limit: nothing about devices is decided here. An offer with two devices of one name, or with
counters that are not offered, is the driver's fault and is refused as a whole.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable

import structlog

from netclaim.framework.contract import Driver, Offer
from netclaim.framework.journal.records import Booking
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.supervise import Backoff, Standing
from netclaim.kubelet import DeviceHealth, Health
from netclaim.model.devices.counter import CounterSet, counters_fault
from netclaim.model.devices.device import Device, DeviceError

log = structlog.get_logger()


async def follow_devices(
    driver: Driver,
    offer: Callable[[Offer], None],
    clock: Clock,
    standing: Standing | None = None,
) -> None:
    """Offer the driver's devices, and again after each change, until cancelled."""
    standing = standing or Standing(clock)
    for delay_s in Backoff().delays(clock):
        try:
            async for offered in driver.discover():
                devices = _checked(offered)
                log.info("discover.done", devices=len(devices))
                offer(offered)
                standing.well("discover")
            log.info("discover.ended", hint="the driver's devices no longer change")
            await asyncio.Event().wait()
        except Exception as error:  # the driver's code; the rest goes on
            log.exception("discover.failed")
            standing.failed("discover", f"{error}" or type(error).__name__)
        await clock.sleep(delay_s)


def device_healths(
    pool: str, devices: Iterable[Device], bookings: Iterable[Booking]
) -> tuple[DeviceHealth, ...]:
    """What kubelet shows in pods' statuses, for each device that is offered or held."""
    offered = {device.name: _health(pool, device) for device in devices}
    held = {device.device for booking in bookings for device in booking.devices}
    gone = [
        DeviceHealth(pool, name, Health.UNHEALTHY, "the device is gone from the node, or hidden")
        for name in sorted(held - offered.keys())
    ]
    return (*offered.values(), *gone)


def _checked(offered: Offer) -> list[Device]:
    """The devices of an offer. Raises DeviceError if the offer contradicts itself."""
    devices = [each for each in offered if isinstance(each, Device)]
    sets = [each for each in offered if isinstance(each, CounterSet)]
    twice = [name for name, count in Counter(d.name for d in devices).items() if count > 1]
    if twice:
        raise DeviceError(f"several devices are called {', '.join(sorted(twice))}")
    if fault := counters_fault(sets, ((device.name, device.consumes) for device in devices)):
        raise DeviceError(fault)
    return devices


def _health(pool: str, device: Device) -> DeviceHealth:
    taints = [taint.key for taint in device.taints if taint.effect != "None"]
    if taints:
        return DeviceHealth(pool, device.name, Health.UNHEALTHY, f"tainted: {', '.join(taints)}")
    return DeviceHealth(pool, device.name, Health.HEALTHY)
