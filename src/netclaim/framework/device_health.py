"""How devices are, for kubelet to show in the pods' status. Pure.

A device that is offered is healthy, unless a taint keeps pods away from it; one that a claim holds
and that is no longer offered is unhealthy.
"""

from collections.abc import Iterable

from netclaim.framework.records import Booking
from netclaim.kubelet import DeviceHealth, Health
from netclaim.model.device import Device

__all__ = ["device_healths"]


def device_healths(
    pool: str, devices: Iterable[Device], bookings: Iterable[Booking]
) -> tuple[DeviceHealth, ...]:
    """One entry for each device that is offered or held."""
    offered = {device.name: _health(pool, device) for device in devices}
    held = {device.device for booking in bookings for device in booking.devices}
    gone = [
        DeviceHealth(pool, name, Health.UNHEALTHY, "the device is no longer there")
        for name in sorted(held - offered.keys())
    ]
    return (*offered.values(), *gone)


def _health(pool: str, device: Device) -> DeviceHealth:
    taints = [taint.key for taint in device.taints if taint.effect != "None"]
    if taints:
        return DeviceHealth(pool, device.name, Health.UNHEALTHY, f"tainted: {', '.join(taints)}")
    return DeviceHealth(pool, device.name, Health.HEALTHY)
