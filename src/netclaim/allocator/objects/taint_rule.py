"""DeviceTaintRules: taints that an admin puts on devices, beside those that drivers publish.

Promise: a rule taints what its selector names, and everything if that is empty; a rule without a
selector taints nothing. The taints come after those of the slices, as for kube-scheduler. No I/O.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from netclaim.allocator.objects.device import Device, Slice
from netclaim.model.api.dra.taint import DeviceTaintRule, Taint


class RuleTaint(Taint, frozen=True, kw_only=True):
    """A taint by a rule."""

    rule: str


def with_rules(slices: Iterable[Slice], rules: Iterable[DeviceTaintRule]) -> list[Slice]:
    """Return the slices with the taints of rules."""
    given = list(rules)
    if not given:
        return list(slices)
    return [
        replace(one, devices=tuple(_tainted(device, given) for device in one.devices))
        for one in slices
    ]


def _tainted(device: Device, rules: Sequence[DeviceTaintRule]) -> Device:
    added = tuple(_taint(rule) for rule in rules if rule.concerns(device.id))
    return replace(device, taints=(*device.taints, *added)) if added else device


def _taint(rule: DeviceTaintRule) -> RuleTaint:
    taint = rule.spec.taint
    return RuleTaint(taint.key, taint.effect, taint.value, rule=rule.metadata.name)
