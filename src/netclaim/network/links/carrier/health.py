"""The offered links with what their carrier says of them: taints, and no needless changes.

Promise: a link without carrier has the taint DRIVER/no-carrier with the effect NoSchedule, and with
NoExecute too when pods have to go; `carrier` says when. While it is tainted it is published as it
was when it was lost, so that a link which flaps makes no writes by its state either.
Limit: links that are in a pod are out of sight; the pod sees their carrier itself.
"""

import fnmatch
from collections.abc import Callable, Iterable
from typing import Final

import msgspec
import structlog
from prometheus_client import Counter

from netclaim.kernel import Link
from netclaim.model.api.dra.taint import NO_CARRIER
from netclaim.model.devices.device import AttributeValue, Device, Taint
from netclaim.network.links.carrier.carrier import Carrier, Patience, lacks_carrier, observed
from netclaim.network.metrics.table import CARRIER_LOSSES
from netclaim.network.settings import LinkSettings, LiveSettings

log = structlog.get_logger(__name__)

STATE: Final = "state"  # the attribute that follows the carrier


class _Known(msgspec.Struct, frozen=True):
    """A link's carrier, and the state that is published while it is lost."""

    carrier: Carrier = Carrier()
    state: AttributeValue = ""


class LinkHealth:
    """Follows the carriers of the links that are offered."""

    def __init__(self, settings: LiveSettings, monotonic: Callable[[], float]) -> None:
        self._settings = settings
        self._monotonic = monotonic
        self._known: dict[str, _Known] = {}  # by the links' names
        self._driver = settings.now.name
        each = CARRIER_LOSSES
        self.losses = Counter(each.name, each.text, each.label_names, registry=None)
        self.losses.labels(self._driver)

    def judged(self, offered: Iterable[tuple[Link, Device]]) -> tuple[Device, ...]:
        """The devices as they are to be published, which may change with time alone.

        A link may be offered as several devices. Links that are not offered are forgotten.
        """
        settings, now_s = self._settings.now, self._monotonic()
        known: dict[str, _Known] = {}
        devices = []
        for link, device in offered:
            if link.name not in known:
                before = self._known.get(link.name, _Known())
                known[link.name] = self._look(link, before, settings, now_s)
            devices.append(self._marked(device, known[link.name]))
        self._known = known
        return tuple(devices)

    def lacks_carrier(self, link: Link) -> bool:
        """Whether a link should have a carrier and has none."""
        return self._is_watched(link) and lacks_carrier(link)

    @property
    def due_in_s(self) -> float | None:
        """How long until devices change although no link does; None: they will not."""
        dues = [each.carrier.due_s for each in self._known.values()]
        due_s = min((due for due in dues if due is not None), default=None)
        return None if due_s is None else max(0.0, due_s - self._monotonic())

    def _look(self, link: Link, before: _Known, settings: LinkSettings, now_s: float) -> _Known:
        patience = Patience(settings.flap_hold_s, settings.evict_after_s)
        there = not self.lacks_carrier(link)
        carrier = observed(before.carrier, there=there, now_s=now_s, patience=patience)
        if before.carrier.there and not there:
            self.losses.labels(self._driver).inc()
        if before.carrier.lost and carrier.lost:
            self._log_eviction(link, before.carrier, carrier)
            return _Known(carrier, before.state)
        if carrier.lost:
            log.warning("discover.carrier_lost", link=link.name, losses=len(carrier.losses_s))
        elif before.carrier.lost:
            log.info("discover.carrier_back", link=link.name)
        return _Known(carrier, link.oper_state)

    def _is_watched(self, link: Link) -> bool:
        ignored = self._settings.now.ignore_carrier
        return not any(fnmatch.fnmatchcase(link.name, pattern) for pattern in ignored)

    def _log_eviction(self, link: Link, before: Carrier, now: Carrier) -> None:
        if now.evicting and not before.evicting:
            log.warning("discover.evicting", link=link.name)

    def _marked(self, device: Device, known: _Known) -> Device:
        if not known.carrier.lost:
            return device
        key = f"{self._driver}/{NO_CARRIER}"
        taints = [Taint(key=key, effect="NoSchedule")]
        if known.carrier.evicting:
            taints.append(Taint(key=key, effect="NoExecute"))
        return msgspec.structs.replace(
            device,
            attributes={**device.attributes, STATE: known.state},
            taints=(*device.taints, *taints),
        )
