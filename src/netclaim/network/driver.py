"""The network driver: links as devices, and claims on them as interfaces in pods by CNI.

Promise: prepare finds every mistake that can be found without the pod, and everything that the
claim may not have; the plan it makes leaves nothing to decide. Attach judges the plan once more,
then runs its plugins, limits what they made, and nothing else; detach asks no permission. Limit:
built on the framework as any driver is; it knows neither kubelet nor the runtime, and of the API
server no more than pools of addresses and their leases.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, nullcontext
from typing import Final

import structlog
from prometheus_client.registry import Collector

from netclaim.cni import Chain, CniArgs, Endpoint, NetworkList, Result, pod_args
from netclaim.cni.errors import PluginBusyError
from netclaim.errors import HostError, NetclaimError, PeerError
from netclaim.framework import Hold, NetworkDriver, NotBegunError, Objects
from netclaim.framework.telemetry import claim_fields, pod_fields
from netclaim.kernel import Link, NamespaceGoneError, open_netns
from netclaim.kernel.host.hardware.vfio import has_vfio
from netclaim.model import (
    AllocatedDevice,
    Attachment,
    Claim,
    Device,
    Interface,
    JsonObject,
    Leftover,
    Living,
    Plan,
    PodSandbox,
    Prepared,
)
from netclaim.model.devices.link_name import link_of
from netclaim.model.on_node.node import NodeFacts
from netclaim.network.attach.bandwidth import BandwidthLimits, shown
from netclaim.network.attach.dad import DadHold
from netclaim.network.attach.renewals import Renewals
from netclaim.network.attach.wish import steady_mac, wished_args
from netclaim.network.cleanup.leftovers import Leftovers
from netclaim.network.cleanup.plugin_gc import PluginGc
from netclaim.network.devices.shares import has_alone
from netclaim.network.errors import (
    LinkGoneError,
    NameTakenError,
    NoCarrierError,
    NotUndoneError,
    UnfitNodeError,
    about,
)
from netclaim.network.judge.carried import DHCP
from netclaim.network.links.node.node_links import NOTHING_SEEN, Snapshot
from netclaim.network.links.offered import OfferedLinks
from netclaim.network.networks.claims import with_networks
from netclaim.network.plan.guard import Guard
from netclaim.network.plan.interface_plan import InterfacePlan, pooled_at, read_plan
from netclaim.network.plan.planner import Planner
from netclaim.network.plugin_files import PluginFiles
from netclaim.network.pod_network import LABEL as NETWORK_LABEL
from netclaim.network.pools.cluster import ClusterPools
from netclaim.network.pools.leases import Leases
from netclaim.network.pools.quota import Quota
from netclaim.network.pools.restore import Restorer
from netclaim.network.pools.terms import check_shares
from netclaim.network.request.into_config.link_keys import hands_over, moves_link
from netclaim.network.request.parameters import InterfaceRequest, read_claim
from netclaim.network.settings import LinkSettings, LiveSettings
from netclaim.plugins.dhcp.terms import LeaseTerms, Refusal

log = structlog.get_logger(__name__)

# A minute, as between two looks at what the kernel does not announce; a request each, of each node.
LABELS_S: Final = 60.0
# The addresses of the node and of the API servers, which change when an admin changes them.
ADDRESSES_S: Final = 300.0


class LinkDriver(NetworkDriver):
    """Offers the node's links and wires them into pods."""

    reads_namespace = True  # its label says how far its claims are trusted
    may_block = True  # in netlink requests, above all: see docs/decisions/0015

    def __init__(
        self,
        settings: LiveSettings,
        *,
        links: OfferedLinks,
        files: PluginFiles,
        guard: Guard,
        planner: Planner,
        chain: Chain,
        leftovers: Leftovers,
        plugin_gc: PluginGc,
        limits: BandwidthLimits,
        restorer: Restorer,
        terms: LeaseTerms,
        renewals: Renewals,
        collectors: Sequence[Collector],
    ) -> None:
        self.name = settings.now.name
        self._live = settings
        self._links = links
        self._files = files
        self._guard = guard
        self._planner = planner
        self._chain = chain
        self._leftovers = leftovers
        self._plugin_gc = plugin_gc
        self._limits = limits
        self._restorer = restorer
        self._terms = terms
        self._renewals = renewals
        self._collectors = collectors
        self._dad = DadHold()
        self._attaching: set[tuple[str, str]] = set()  # sandbox, interface name
        self._policy: tuple[object, ...] = ()  # that was logged last
        self._leases: Leases | None = None  # until the API server is known
        self._node_labels: Mapping[str, str] | None = None

    @property
    def _settings(self) -> LinkSettings:
        return self._live.now

    @property
    def device_metadata(self) -> bool:  # type: ignore[override]
        """Whether containers can read about their interfaces; fixed when the driver starts."""
        return self._settings.device_metadata

    @property
    def node_age_s(self) -> float:  # type: ignore[override]
        """How old the node's addresses may be, and its labels if they decide what is offered.

        Or what may be leased.
        """
        reads_labels = self._links.choice.reads_labels or self._links.networks.known.reads_labels
        if self._leases is not None:
            reads_labels = reads_labels or self._leases.pools.reads_labels
        return LABELS_S if reads_labels else ADDRESSES_S

    def collectors(self) -> Sequence[Collector]:
        return self._collectors

    async def discover(self) -> AsyncGenerator[tuple[Device, ...], None]:
        """Yield all devices, and again all of them when a link changed in a way that shows."""
        async with (
            self._renewals.running(),
            aclosing(self._links.follow(self._limits.tend)) as followed,
        ):
            async for devices in followed:
                yield devices

    def learn_objects(self, objects: Objects) -> None:
        """Lease addresses of pools by these."""
        pools = ClusterPools(objects, time.monotonic, lambda: self._node_labels)
        self._leases = Leases(pools, Quota(pools))

    def learn_node(self, node: NodeFacts) -> None:
        """Replace what is known of the node, and offer links by it."""
        self._node_labels = node.labels
        self._links.learn_node(node)
        self._log_policy()

    def change(self, settings: LinkSettings) -> None:
        """Work by these settings from now on, as far as they can change under a running driver.

        May be called in any thread. A hook that runs meanwhile may see the old ones in one step and
        the new ones in the next.
        """
        self._live.now = settings
        self._links.list_again()
        self._log_policy()

    def _log_policy(self) -> None:
        """Log the policy if it has changed since it was last logged."""
        now = self._settings
        policy = (now.policy, now.policy_ceiling, now.claim_plugins)
        if policy != self._policy:
            log.info(
                "policy",
                default=str(now.policy),
                ceiling=str(now.policy_ceiling),
                claim_plugins=sorted(now.claim_plugins),
            )
        self._policy = policy

    @property
    def class_labels(self) -> str:  # type: ignore[override]
        """The classes of networks, if networks are to be devices; fixed when the driver starts."""
        return NETWORK_LABEL if self._settings.network_devices else ""

    def learn_classes(self, classes: Sequence[JsonObject]) -> None:
        """Replace what is known of the cluster's networks, and offer them by it."""
        self._links.learn_networks(classes)

    def learn_dropped(self, fields: frozenset[str]) -> None:
        """Offer slots if the API server drops shares, and shares if it does not."""
        self._links.learn_dropped(fields)

    def holds(self, device: AllocatedDevice) -> Sequence[Hold]:
        """What a claim has of a link: by a share of it, as a whole, or by a slot.

        A link may be held by all of these at a time, if the API server was another one before.
        """
        held = super().holds(device)
        link = Hold((device.pool, "link", link_of(device.device)), whole=has_alone(device))
        return (*held, link) if held else ()

    async def prepare(self, claim: Claim) -> Prepared:
        """Decide what each device of the claim becomes; the same claim gets the same plan again."""
        claim = with_networks(claim, self._links.networks.known)
        requests = await asyncio.to_thread(read_claim, claim)  # milliseconds, if a tenant likes
        check_shares(claim, requests)
        level = self._guard.level_of(claim)
        snapshot = await self._links.node.snapshot()
        plans = []
        names: set[str] = set()  # of networks that the claim itself wrote
        leaving: list[Link] = []
        async with self._leases.all_or_none(claim) if self._leases else nullcontext():
            for request in requests:
                await asyncio.sleep(0)  # other claims and attaches go on between two devices
                with about(request.device.key):
                    decided = await self._planner.decide(claim, request, snapshot, level)
                    link, network, plan = decided
                    if pooled_at(network):
                        plan = await self._with_addresses(claim, request, plan, snapshot)
                if not request.trusted:
                    names.add(network.name)
                self._links.made.note(network, {each.name for each in snapshot.links})
                if link is not None and moves_link(network):
                    leaving.append(link)
                plans.append(plan)
        if names:
            self._files.make_root()
            if self._files.are_many(claim.namespace):
                await asyncio.to_thread(self._files.tidy, claim.namespace, names)
        if leaving:
            self._links.lent.keep(claim.uid, await snapshot.describe(leaving))
        return Prepared(claim=claim.ref, plans=tuple(plans))

    async def _with_addresses(
        self, claim: Claim, request: InterfaceRequest, plan: Plan, snapshot: Snapshot
    ) -> Plan:
        """Return the plan with addresses of a pool, if its network has them leased."""
        if self._leases is None:
            return plan
        level = self._guard.level_of(claim)
        withheld = self._guard.withheld(plan, snapshot)
        return await self._leases.take(claim, request, plan, level, withheld=withheld)

    async def preflight(self, claim: Claim) -> None:
        """See whether prepare would succeed now."""
        level = self._guard.level_of(claim)
        claim = with_networks(claim, self._links.networks.known)
        snapshot = await self._links.node.snapshot()
        requests = await asyncio.to_thread(read_claim, claim)
        check_shares(claim, requests)
        for request in requests:
            await asyncio.sleep(0)
            with about(request.device.key):
                try:
                    link, _, _ = await self._planner.decide(claim, request, snapshot, level)
                except HostError as error:
                    if request.trusted:
                        raise UnfitNodeError(str(error)) from error
                    raise
                if link is not None and self._links.health.lacks_carrier(link):
                    raise NoCarrierError(link.name)

    async def unprepare(self, prepared: Prepared) -> None:
        """Forget the links that the claim took into pods, and give back its addresses.

        May be repeated.
        """
        self._links.lent.drop(prepared.claim.uid)
        if self._leases is not None:
            await self._leases.give_back(prepared)

    async def attach(self, plan: Plan, pod: PodSandbox) -> Attachment:
        """Run the plan's plugins for the pod, then limit what they made to its share.

        May be repeated only after `detach`.
        """
        return await self._attach(plan, pod, ())

    async def reattach(self, plan: Plan, pod: PodSandbox, had: Interface) -> Attachment:
        """Attach with the addresses that the pod had; with others, if these are not to be had."""
        wish = wished_args(read_plan(plan).network, had)
        try:
            return await self._attach(plan, pod, wish)
        except NotBegunError:
            raise
        except NetclaimError as error:
            if not wish:
                raise
            fields = claim_fields(plan.claim) | pod_fields(pod)
            log.warning("attach.wish_refused", **fields, error=str(error))
        await self.detach(Attachment(plan=plan, pod=pod))
        return await self._attach(plan, pod, ())

    async def _attach(self, plan: Plan, pod: PodSandbox, wish: CniArgs) -> Attachment:
        interface = read_plan(plan)
        assert pod.netns is not None, "the framework's promise"
        looks = self._guard.looks_at_node(interface)
        seen = await self._links.node.snapshot() if looks else NOTHING_SEEN
        self._guard.check_plan(plan, interface, seen)
        network = interface.network
        with self._only_one(pod.id, interface.if_name):
            if await self._links.node.pod_has(pod.netns, interface.if_name):
                raise NameTakenError(interface.if_name)
            if interface.link and not await self._links.node.has(interface.link):
                raise LinkGoneError(interface.link)
            with open_netns(pod.netns) as netns, self._dad.during(netns, interface.if_name):
                wish = wish or steady_mac(network, pod.uid, interface.if_name)
                endpoint = _endpoint(interface, pod, wish)
                refusal = await self._lease_refusal(plan, interface)
                async with self._plugin_gc.gate.using(network.name, endpoint.key):
                    with self._terms.during(endpoint.key, refusal):
                        result = await self._chain.add(
                            network,
                            endpoint,
                            add_s=self._settings.add_s,
                            undo_s=self._settings.undo_s,
                        )
                attachment = Attachment(
                    plan=plan,
                    pod=pod,
                    interface=_interface(result, interface.if_name, network),
                    data=shown(result.to_dict(network.version), interface, network),
                )
                await self._limits.apply(netns, attachment)
        self._renewals.note(attachment)
        return attachment

    async def _lease_refusal(self, plan: Plan, interface: InterfacePlan) -> Refusal:
        """What a DHCP server's answers are judged by: the node as it is now."""
        if not any(plugin.ipam_type == DHCP for plugin in interface.network.plugins):
            return lambda _granted: "the network is not one with dhcp"
        return self._guard.lease_refusal(plan, interface, await self._links.node.snapshot())

    async def detach(self, attachment: Attachment) -> None:
        """Run the plugins backwards, which releases addresses too; may be repeated."""
        interface = read_plan(attachment.plan)
        network = interface.network_to_undo
        self._renewals.forget(attachment)
        try:
            await self._chain.delete(network, _endpoint(interface, attachment.pod))
        except PluginBusyError as error:
            raise NotUndoneError(str(error)) from error
        finally:
            if interface.link and moves_link(network):
                await self._links.node.restore(interface.link, up=interface.link_up)
            await self._limits.tidy(attachment)

    async def is_attached(self, attachment: Attachment) -> bool:
        """See whether the pod has its interface, and may use it.

        With its link, most kinds of interface go too; and a DHCP lease can end.
        """
        if self._renewals.is_lost(attachment):
            return False
        netns = attachment.pod.netns
        interface = read_plan(attachment.plan)
        name = interface.if_name
        if hands_over(interface.network_to_undo):
            return await asyncio.to_thread(has_vfio, interface.pci_address)
        mac = attachment.interface.hardware_address if attachment.interface else ""
        try:
            return netns is not None and await self._links.node.pod_has(netns, name, mac)
        except NamespaceGoneError:
            return False

    def why_lost(self, attachment: Attachment) -> str:
        return self._renewals.why_lost(attachment)

    def learn_doubts(self, look_again: Callable[[PodSandbox], None]) -> None:
        self._renewals.learn_doubts(look_again)

    async def mend(self, attachment: Attachment) -> None:
        """Limit an interface again that is there without its limit; have its lease renewed."""
        self._renewals.note(attachment)
        await self._limits.mend(attachment)

    async def recall(self, plan: Plan, pod: PodSandbox) -> Attachment | None:
        """Return the attachment that the cached result of the plan's plugins describes."""
        interface = read_plan(plan)
        network = interface.network_to_undo
        cached = self._chain.cache.load(network.name, _endpoint(interface, pod).key)
        if cached is None:
            return None
        return Attachment(
            plan=plan,
            pod=pod,
            interface=_interface(cached.result, interface.if_name, network),
            data=shown(cached.raw_result, interface, network),
        )

    async def check(self, attachment: Attachment) -> None:
        """See whether the interface is as its result says, by CNI's CHECK where the list has it.

        An attachment that was taken over from an earlier driver has no result to compare with.
        """
        if not await self.is_attached(attachment):
            raise PeerError(f"the pod lacks its interface on {attachment.plan.device.device}")
        interface = read_plan(attachment.plan)
        network, endpoint = interface.network_to_undo, _endpoint(interface, attachment.pod)
        if self._chain.cache.load(network.name, endpoint.key) is not None:
            await self._chain.check(network, endpoint)

    async def leftovers(self, living: Living) -> Sequence[Leftover]:
        """Find what plugins and the driver keep of sandboxes and claims that are gone."""
        return await self._leftovers.find(living)

    async def collect(self, leftover: Leftover) -> None:
        await self._leftovers.remove(leftover)

    async def tell_living(self, living: Living) -> None:
        """Call CNI's GC, so that plugins let go of everything else; restore leases of the pods."""
        try:
            if self._leases is not None:
                await self._restorer.restore(self._leases, living)
        finally:
            await self._plugin_gc.collect(living)

    @contextmanager
    def _only_one(self, sandbox_id: str, ifname: str) -> Iterator[None]:
        """Keep two claims of a pod from making the same interface at the same time."""
        key = (sandbox_id, ifname)
        if key in self._attaching:
            raise NameTakenError(ifname)
        self._attaching.add(key)
        try:
            yield
        finally:
            self._attaching.discard(key)


def _endpoint(interface: InterfacePlan, pod: PodSandbox, wish: CniArgs = ()) -> Endpoint:
    args = pod_args(namespace=pod.namespace, name=pod.name, uid=pod.uid, sandbox_id=pod.id)
    return Endpoint(pod.id, pod.netns or "", interface.if_name, (*args, *wish))


def _interface(result: Result, ifname: str, network: NetworkList) -> Interface:
    shown = result.network_data(ifname)
    name = "" if hands_over(network) else shown.interface_name
    return Interface(name, shown.hardware_address, shown.ips)
