"""The bandwidth of shares, enforced on the interfaces that pods have of a link.

Attach limits a new interface both ways to what the claim consumes of its link; detach removes what
is beside it in the pod. Pods that share a claim have equal parts of what it consumes, which change
as pods come and go. A pod with CAP_NET_ADMIN can lift its limit, so those that are known are looked
at now and then, and put back, which is logged and counted.

What a claim asked for is also kept for it on the link (`reserved`).

Promise: an interface that cannot be limited is not attached. One that lost its limit has it again
within `TEND_S` of the next look. Limit: in the pod's namespace, by the kernel's queues; see
`kernel/state/link_limit.py` for what gets past them. Which interfaces there are is known once they
are attached or asked after, as the framework does for all of them after a restart.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import structlog
from prometheus_client import Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from netclaim.cni import NetworkList
from netclaim.errors import HostError, NetclaimError
from netclaim.framework.telemetry import claim_fields, pod_fields
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
from netclaim.kernel.state.link_identity import link_index, link_mtu
from netclaim.kernel.state.link_limit import (
    MODULES,
    has_limit,
    is_limited,
    limit_link,
    relimit_link,
    remove_orphans,
    unlimit_link,
)
from netclaim.model import Attachment, JsonObject, Quantity
from netclaim.model.api.own_kinds.pod_network import KIND as POD_NETWORK
from netclaim.model.on_node.attachment import AttachmentKey
from netclaim.model.quantity import NANO
from netclaim.network.attach.reserved import ReservedBandwidth
from netclaim.network.metrics.table import LIMITS_RESTORED, LINK_ATTACHMENTS, LINK_BANDWIDTH
from netclaim.network.plan.interface_plan import InterfacePlan, read_plan
from netclaim.network.request.into_config.link_keys import hands_over, mtu_of

log = structlog.get_logger(__name__)

# Between two looks at all limits. A look takes 0.3 ms for each, and what a pod can take in between
# is bounded by it.
TEND_S: Final = 30.0
BITS_MIN: Final = 8_000  # a kilobyte a second: less would not carry the acknowledgements


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
    """The interfaces that are limited, and their limits."""

    driver: str
    monotonic: Callable[[], float]
    reserved: ReservedBandwidth
    _known: dict[AttachmentKey, _Known] = field(default_factory=dict)
    _tended_s: float = 0.0
    restored: Counter = field(init=False)

    def __post_init__(self) -> None:
        """Count from zero."""
        each = LIMITS_RESTORED
        self.restored = Counter(each.name, each.text, each.label_names, registry=None)
        self.restored.labels(self.driver)

    async def apply(self, netns: Netns, attachment: Attachment) -> None:
        """Limit a new interface in a pod, if its plan says so. NotLimitedError if that fails."""
        interface = read_plan(attachment.plan)
        self.note(attachment)  # before all else: pods that attach meanwhile count this one
        if not interface.bandwidth:
            return
        try:
            with Rtnl.open(netns) as rtnl:
                await self._limit(rtnl, attachment, interface)
        except KernelError as error:
            self._forget(attachment, interface)
            raise NotLimitedError(interface.if_name, error) from error
        await self._divide(attachment)
        await self.reserved.settle(interface.link)

    async def _limit(self, rtnl: Rtnl, attachment: Attachment, interface: InterfacePlan) -> None:
        index = link_index(rtnl, interface.if_name)
        mtu = link_mtu(rtnl, interface.if_name)
        if index is None or mtu is None:
            return  # a plugin that makes none; there is nothing to send by
        bits = self._bits(attachment)
        await limit_link(rtnl, index, bits, mtu=mtu)
        while bits != (now := self._bits(attachment)):
            bits = now
            await relimit_link(rtnl, index, bits, mtu=mtu)

    def _bits(self, attachment: Attachment) -> int:
        """What an interface may use: its part of what the claim consumes."""
        whole = read_plan(attachment.plan).bandwidth
        return max(whole // (1 + len(self._siblings(attachment))), min(whole, BITS_MIN))

    def _siblings(self, attachment: Attachment) -> list[_Known]:
        """The interfaces that other pods have by the same share of a link."""
        claim_uid, sandbox_id, device = attachment.key
        return [
            known
            for (uid, sandbox, key), known in self._known.items()
            if (uid, key) == (claim_uid, device) and sandbox != sandbox_id
        ]

    async def _divide(self, attachment: Attachment) -> None:
        """Give the other pods of a claim their parts, now that one has come or gone."""
        for known in self._siblings(attachment):
            each, netns = known.attachment, known.attachment.pod.netns
            if netns is None:
                continue
            try:
                with open_netns(netns) as opened, Rtnl.open(opened) as rtnl:
                    link = await _find(rtnl, each, known.interface.if_name)
                    if link is not None and await has_limit(rtnl, link.index):
                        await relimit_link(rtnl, link.index, self._bits(each), mtu=link.mtu)
            except NamespaceGoneError:
                continue  # the pod has ended, and detach follows
            except NetclaimError as error:
                log.warning("attach.limit_failed", **_fields(each), error=str(error))

    async def tidy(self, attachment: Attachment) -> None:
        """Remove what was made on the node for an interface that is gone; may be repeated."""
        interface, netns = read_plan(attachment.plan), attachment.pod.netns
        was_reserved = self._forget(attachment, interface)
        if not interface.bandwidth:
            return
        with suppress(NamespaceGoneError):  # and all that was in it
            if netns is not None:
                with open_netns(netns) as opened:
                    await remove_orphans(opened)
        await self._divide(attachment)
        if was_reserved:
            await self.reserved.settle(interface.link)

    def note(self, attachment: Attachment) -> None:
        """Know of an interface from now on; one that is known stays as it is."""
        interface = read_plan(attachment.plan)
        if interface.link:
            self._known[attachment.key] = _Known(attachment, interface)
            self.reserved.note(attachment, interface)

    def _forget(self, attachment: Attachment, interface: InterfacePlan) -> bool:
        """Whether bandwidth was reserved for an interface; it is no longer known."""
        self._known.pop(attachment.key, None)
        return self.reserved.forget(interface.link, attachment.key)

    async def mend(self, attachment: Attachment) -> None:
        """Limit an interface again if it is not limited; log what keeps it from being limited.

        One that is not there at all is somebody else's business. One that an earlier process has
        limited is known from now on, and looked at with the others: how many pods share its claim
        is not known yet.
        """
        is_new = attachment.key not in self._known
        self.note(attachment)
        interface, netns = read_plan(attachment.plan), attachment.pod.netns
        if netns is None or not interface.bandwidth:
            return
        if is_new:
            await self.reserved.settle(interface.link)
        bits = self._bits(attachment)
        try:
            with open_netns(netns) as opened, Rtnl.open(opened) as rtnl:
                link = await _find(rtnl, attachment, interface.if_name)
                if is_new and link is not None and await has_limit(rtnl, link.index):
                    return
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
        await self.reserved.tend()

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the metrics without samples."""
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
            bits[known.interface.link] += (
                self._bits(known.attachment) if known.interface.bandwidth else 0
            )
        for link in sorted(count):
            attachments.add_metric((self.driver, link), count[link])
            bandwidth.add_metric((self.driver, link), bits[link])
        return (attachments, bandwidth)


def shown(data: JsonObject, interface: InterfacePlan, network: NetworkList) -> JsonObject:
    """What the claim's status shows of an interface: its bandwidth and its PodNetwork too.

    And its MTU and PCI address, as far as they follow from the plan: plugins do not say them.
    """
    more: JsonObject = {}
    if mtu := mtu_of(network, interface.link_mtu):
        more["mtu"] = mtu
    if interface.pci_address:
        more["pciAddress"] = interface.pci_address
    if hands_over(network):
        more["vfio"] = True
    if interface.bandwidth:
        more["bandwidth"] = str(Quantity(interface.bandwidth * NANO))
    if interface.pod_network:
        more["podNetwork"] = {"kind": POD_NETWORK, "name": interface.pod_network}
    return {**data, **more}


async def _find(rtnl: Rtnl, attachment: Attachment, name: str) -> Link | None:
    """Find the interface by its name, or where the pod has renamed it, by its address."""
    link = await find_link(rtnl, name)
    mac = attachment.interface.hardware_address.lower() if attachment.interface else ""
    if link is not None or not mac:
        return link
    return next((each for each in await list_links(rtnl) if each.mac == mac), None)


def _fields(attachment: Attachment) -> dict[str, str]:
    return {**claim_fields(attachment.plan.claim), **pod_fields(attachment.pod)}
