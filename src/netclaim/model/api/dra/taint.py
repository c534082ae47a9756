"""Taints, what tolerates them, and rules by which an admin puts them on devices.

Taints and tolerations of devices have the same form as those of nodes and pods, and a
DeviceTaintRule is the same in every version of the API.
"""

from typing import Final

from netclaim.model.api.base import Base, Meta
from netclaim.model.api.dra.ids import DeviceId

NO_CARRIER: Final = "no-carrier"  # the key of the network driver's taint, behind its name
KEEPS_AWAY: Final = ("NoSchedule", "NoExecute")  # the scheduler ignores effects that it cannot know


class Taint(Base, frozen=True):
    """A reason to keep pods away."""

    key: str
    effect: str
    value: str = ""


class DeviceTaint(Taint, frozen=True):
    """A taint of a device, and since when it has it; RFC 3339."""

    time_added: str = ""


class Toleration(Base, frozen=True):
    """Which taints a request, or a pod, tolerates."""

    key: str = ""
    operator: str = ""  # Equal
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None  # how long it helps; None: for ever

    def tolerates(self, taint: Taint) -> bool:
        """Whether a taint is among them; an empty key or effect means every one."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == "Exists" or (
            self.operator in ("", "Equal") and self.value == taint.value
        )


class RuleSelector(Base, frozen=True):
    """Which devices a rule is about; None stands for every name."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class RuleSpec(Base, frozen=True):
    """What a rule says; without a selector it is about no device."""

    taint: DeviceTaint
    device_selector: RuleSelector | None = None


class DeviceTaintRule(Base, frozen=True):
    """A DeviceTaintRule object."""

    metadata: Meta
    spec: RuleSpec

    def concerns(self, device: DeviceId) -> bool:
        """Whether a device gets the taint."""
        selector = self.spec.device_selector
        if selector is None:
            return False
        wanted = (selector.driver, selector.pool, selector.device)
        return all(want in (None, name) for want, name in zip(wanted, device, strict=True))
