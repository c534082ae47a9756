"""The bandwidth of shares, enforced on the interfaces that pods have of a link.

Attach limits a new interface both ways to what the claim consumes of its link; detach removes what
is beside it in the pod. A pod with CAP_NET_ADMIN can lift its limit, so those that are known are
looked at now and then, and put back, which is logged and counted.

Promise: an interface that cannot be limited is not attached. One that lost its limit has it again
within `TEND_S` of the next look. Limit: in the pod's namespace, by the kernel's queues; see
`kernel/link_limit.py` for what gets past them. Which interfaces there are is known once they are
attached or asked after, as the framework does for all of them after a restart.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog
from prometheus_client import Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from netclaim.errors import HostError, NetclaimError
from netclaim.framework.subject import claim_fields, pod_fields
from netclaim.kernel import (
    KernelError,
    Link,
    NamespaceGoneError,
    Netns,
    Rtnl,
    find_link,
    list_links,
    open_netns,
)
from netclaim.kernel.link_identity import link_index, link_mtu
from netclaim.kernel.link_limit import (
    MODULES,
    is_limited,
    limit_link,
    remove_orphans,
    unlimit_link,
)
from netclaim.model import Attachment, JsonObject, Quantity
from netclaim.model.attachment import AttachmentKey
from netclaim.model.quantity import NANO
from netclaim.network.metrics import LIMITS_RESTORED, LINK_ATTACHMENTS, LINK_BANDWIDTH
from netclaim.network.plan import InterfacePlan, read_plan

__all__ = ["BandwidthLimits", "NotLimitedError", "shown"]

log = structlog.get_logger(__name__)

# Between two looks at all limits. A look takes 0.3 ms for each, and what a pod can take in between
# is bounded by it.
TEND_S: Final = 30.0


class NotLimitedError(HostError):
    """An interface could not be limited to its share."""

    def __init__(self, ifname: str, error: KernelError) -> None:
        super().__init__(
            f"cannot limit the bandwidth of {ifname}: {error}; "
            f"the node's kernel needs the modules {', '.join(MODULES)}"
        )


@dataclass(frozen=True, slots=True)
class _Known:
    """An interface that a pod has of a link."""

    attachment: Attachment
    interface: InterfacePlan


@dataclass(slots=True, eq=False)  # a registry has it as a key
class BandwidthLimits(Collector):
    """Limits interfaces, knows which are, and counts them."""

    driver: str
    monotonic: Callable[[], float]
    _known: dict[AttachmentKey, _Known] = field(default_factory=dict)
    _tended_s: float = 0.0
    restored: Counter = field(init=False)

    def __post_init__(self) -> None:
        """Count from zero."""
        each = LIMITS_RESTORED
        self.restored = Counter(each.name, each.text, each.label_names, registry=None)
        self.restored.labels(self.driver)

    async def apply(self, netns: Netns, interface: InterfacePlan) -> None:
        """Limit a new interface in a pod, if its plan says so. NotLimitedError if that fails."""
        if not interface.bandwidth:
            return
        with Rtnl.open(netns) as rtnl:
            index = link_index(rtnl, interface.if_name)
            mtu = link_mtu(rtnl, interface.if_name)
            if index is None or mtu is None:
                return  # a plugin that makes none; there is nothing to send by
            try:
                await limit_link(rtnl, index, interface.bandwidth, mtu=mtu)
            except KernelError as error:
                raise NotLimitedError(interface.if_name, error) from error

    async def tidy(self, attachment: Attachment) -> None:
        """Remove what was beside an interface that is gone. Again: does nothing."""
        self._known.pop(attachment.key, None)
        netns = attachment.pod.netns
        if netns is None or not read_plan(attachment.plan).bandwidth:
            return
        try:
            with open_netns(netns) as opened:
                await remove_orphans(opened)
        except NamespaceGoneError:
            return  # and all that was in it

    def note(self, attachment: Attachment) -> None:
        """Know of an interface from now on. Again: nothing."""
        interface = read_plan(attachment.plan)
        if interface.link:
            self._known[attachment.key] = _Known(attachment, interface)

    async def mend(self, attachment: Attachment) -> None:
        """Limit an interface again if it is not limited; log what keeps it from being limited.

        One that is not there at all is somebody else's business. Again: looks again.
        """
        self.note(attachment)
        interface, netns = read_plan(attachment.plan), attachment.pod.netns
        if netns is None or not interface.bandwidth:
            return
        try:
            with open_netns(netns) as opened, Rtnl.open(opened) as rtnl:
                link = await _find(rtnl, attachment, interface.if_name)
                bits = interface.bandwidth
                if link is None or await is_limited(rtnl, link.index, bits, mtu=link.mtu):
                    return
                await unlimit_link(rtnl, link.index)
                await limit_link(rtnl, link.index, bits, mtu=link.mtu)
        except NamespaceGoneError:
            return  # the pod has ended, and detach follows
        except NetclaimError as error:
            log.warning("attach.limit_failed", **_fields(attachment), error=str(error))
            return
        self.restored.labels(self.driver).inc()
        log.warning("attach.limit_restored", **_fields(attachment), interface=link.name)

    async def tend(self) -> None:
        """Look at all limits, unless that was done a moment ago."""
        now_s = self.monotonic()
        if now_s - self._tended_s < TEND_S:
            return
        self._tended_s = now_s
        for known in tuple(self._known.values()):
            await self.mend(known.attachment)

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The metrics without a look at anything."""
        return tuple(
            GaugeMetricFamily(each.name, each.text, labels=each.label_names)
            for each in (LINK_ATTACHMENTS, LINK_BANDWIDTH)
        )

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """How many interfaces each link has in pods, and the sum of what they are limited to."""
        attachments, bandwidth = self.describe()
        count: Tally[str] = Tally()
        bits: Tally[str] = Tally()
        for known in tuple(self._known.values()):
            count[known.interface.link] += 1
            bits[known.interface.link] += known.interface.bandwidth
        for link in sorted(count):
            attachments.add_metric((self.driver, link), count[link])
            bandwidth.add_metric((self.driver, link), bits[link])
        return (attachments, bandwidth)


def shown(data: JsonObject, interface: InterfacePlan) -> JsonObject:
    """What the claim's status shows of an interface, with the bandwidth that is enforced."""
    if not interface.bandwidth:
        return data
    return {**data, "bandwidth": str(Quantity(interface.bandwidth * NANO))}


async def _find(rtnl: Rtnl, attachment: Attachment, name: str) -> Link | None:
    """Find the interface by its name, or where the pod has renamed it, by its address."""
    link = await find_link(rtnl, name)
    mac = attachment.interface.hardware_address.lower() if attachment.interface else ""
    if link is not None or not mac:
        return link
    return next((each for each in await list_links(rtnl) if each.mac == mac), None)


def _fields(attachment: Attachment) -> dict[str, str]:
    return {**claim_fields(attachment.plan.claim), **pod_fields(attachment.pod)}
