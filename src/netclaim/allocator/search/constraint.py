"""Constraints while devices are being picked: what the picked ones have in common.

Promise: devices are admitted and refused as in the scheduler (1.37). What was admitted last is
dismissed first. Limit: schedulers before 1.37 compared only the last device of a request with those
of others.
"""

from abc import ABC, abstractmethod
from typing import Final

from netclaim.allocator.objects.claim import Constraint, Request
from netclaim.allocator.objects.device import Attribute, Device

UNKNOWN: Final = ""  # the kind of a value that we cannot read: equal to nothing


class Tally(ABC):
    """What a constraint has seen of the devices picked so far."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self._count = 0

    def admit(self, request: Request, device: Device) -> bool:
        """Count a device in if it fits with those before it."""
        if not self.constraint.concerns(request):
            return True
        value = device.attribute(self.constraint.attribute)
        if value is None or (self._count and not self._fits(value)):
            return False
        self._remember(value)
        self._count += 1
        return True

    def dismiss(self, request: Request) -> None:
        """Forget the device that was admitted last."""
        if self.constraint.concerns(request):
            self._count -= 1
            self._forget()

    @abstractmethod
    def _fits(self, value: Attribute) -> bool: ...

    @abstractmethod
    def _remember(self, value: Attribute) -> None: ...

    @abstractmethod
    def _forget(self) -> None: ...


class _Match(Tally):
    """All devices have the same value."""

    _value: Attribute | None = None

    def _fits(self, value: Attribute) -> bool:
        return value[0] != UNKNOWN and value == self._value

    def _remember(self, value: Attribute) -> None:
        if self._count == 0:
            self._value = value

    def _forget(self) -> None:
        pass


class _Distinct(Tally):
    """No two devices have the same value."""

    def __init__(self, constraint: Constraint) -> None:
        super().__init__(constraint)
        self._values: list[Attribute] = []

    def _fits(self, value: Attribute) -> bool:
        return value[0] != UNKNOWN and value not in self._values

    def _remember(self, value: Attribute) -> None:
        self._values.append(value)

    def _forget(self) -> None:
        self._values.pop()


def tally(constraint: Constraint) -> Tally:
    return _Match(constraint) if constraint.kind == "match" else _Distinct(constraint)
