"""What requests need of devices: amounts of their capacities, worked out once for each pair.

Promise: however many claims and nodes ask, an answer is computed once. No I/O.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netclaim.allocator.errors import AllocationError
from netclaim.allocator.objects.capacity import Asked, TooSmall, consumed_by
from netclaim.allocator.objects.claim import Request
from netclaim.allocator.objects.device import Device
from netclaim.model.quantity import Quantity


class Need(NamedTuple):
    """How much of each capacity of a device a request consumes, or why it cannot be had."""

    consumed: Mapping[str, Quantity] = {}
    too_small: TooSmall | None = None  # even an unused device could not serve it

    def fits(self, device: Device, held: Mapping[str, int], shares: Sequence["Need"] = ()) -> bool:
        """Whether a device has that much left beside what claims have and what was picked."""
        if self.too_small is not None:
            return False
        return all(
            amount.nanos + held.get(name, 0) + sum(one.consumed[name].nanos for one in shares)
            <= device.capacities[name].value.nanos
            for name, amount in self.consumed.items()
        )


NOTHING = Need()


class Needs:
    """What requests need of the devices of one set of slices."""

    def __init__(self, *, fractional: bool = False) -> None:
        self._fractional = fractional
        self._known: dict[tuple[Asked, ...], dict[Device, Need | AllocationError]] = {}

    def of(self, request: Request, device: Device) -> Need:
        """Return what a request needs of a device.

        An AllocationError says that the scheduler would fail the pod.
        """
        if not request.capacity and not device.capacities:
            return NOTHING
        known = self._known.setdefault(request.capacity, {})
        need = known.get(device)
        if need is None:
            need = known[device] = self._need(request, device)
        if isinstance(need, AllocationError):
            raise AllocationError(f"request {request.full_name}, on device {device.id}: {need}")
        return need

    def _need(self, request: Request, device: Device) -> Need | AllocationError:
        try:
            too_small, consumed = consumed_by(
                request.capacity, device.capacities, fractional=self._fractional
            )
        except AllocationError as error:
            return error.with_traceback(None)  # kept for long, and its frames with it
        return Need(consumed, too_small)
