"""DeviceTaintRules: taints that an admin puts on devices, beside those that drivers publish.

Promise: a rule taints what its selector names, and everything if that is empty; a rule without a
selector taints nothing. The taints come after those of the slices, as for kube-scheduler. No I/O.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from netclaim.allocator.device import Device, DeviceId, Slice
from netclaim.allocator.errors import ObjectError
from netclaim.model.device import Taint

__all__ = ["RuleTaint", "TaintRule", "with_rules"]


class RuleTaint(Taint, frozen=True, kw_only=True):
    """A taint by a rule."""

    rule: str


@dataclass(frozen=True, slots=True)
class TaintRule:
    """A taint, and the devices that get it; None stands for every name."""

    name: str
    taint: RuleTaint
    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    selects: bool = True

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> "TaintRule":
        """Read a DeviceTaintRule object; it is the same in every version."""
        try:
            name, spec = obj["metadata"]["name"], obj["spec"]
            taint, selector = spec["taint"], spec.get("deviceSelector")
            return cls(
                name,
                RuleTaint(taint["key"], taint["effect"], taint.get("value") or "", rule=name),
                driver=(selector or {}).get("driver"),
                pool=(selector or {}).get("pool"),
                device=(selector or {}).get("device"),
                selects=selector is not None,
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ObjectError(f"not a DeviceTaintRule: {error!r}") from error

    def concerns(self, device: DeviceId) -> bool:
        """Whether a device gets the taint."""
        wanted = (self.driver, self.pool, self.device)
        return self.selects and all(
            want in (None, name) for want, name in zip(wanted, device, strict=True)
        )


def with_rules(slices: Iterable[Slice], rules: Iterable[TaintRule]) -> list[Slice]:
    """Return the slices with the taints of rules."""
    given = [rule for rule in rules if rule.selects]
    if not given:
        return list(slices)
    return [
        replace(one, devices=tuple(_tainted(device, given) for device in one.devices))
        for one in slices
    ]


def _tainted(device: Device, rules: Iterable[TaintRule]) -> Device:
    added = tuple(rule.taint for rule in rules if rule.concerns(device.id))
    return replace(device, taints=(*device.taints, *added)) if added else device
