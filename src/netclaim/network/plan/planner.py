"""Plan what a device of a claim becomes: its link, its network, and its share of the link.

Promise: a plan leaves nothing to decide; whatever speaks against it is raised, with the place in
the claim. The same request on the same node makes the same plan. Limit: looks at the node and
changes nothing there; `driver` notes what follows from a plan.
"""

from collections.abc import Mapping, Sequence

import msgspec

from netclaim.cni import NetworkList
from netclaim.errors import RequestError
from netclaim.kernel import Link
from netclaim.model import Claim, Plan
from netclaim.model.devices.link_name import GENERIC, link_of, slotted
from netclaim.network.devices.device import device_name, find_by_device
from netclaim.network.devices.shares import Share, share_of
from netclaim.network.errors import LinkGoneError
from netclaim.network.judge.mistakes import config_faults
from netclaim.network.judge.network import size_fault
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.links.offering.choice import LinkChoice
from netclaim.network.links.offering.offer import LinkOffer
from netclaim.network.networks.known import KnownNetworks
from netclaim.network.plan.container_edits import edits_with
from netclaim.network.plan.guard import Guard
from netclaim.network.plan.handover import check_handover
from netclaim.network.plan.interface_plan import InterfacePlan, with_files
from netclaim.network.plan.network_share import check_network_share
from netclaim.network.plan.programs import ProgramChecks
from netclaim.network.plan.rdma_plan import rdma_plan
from netclaim.network.plugin_files import PluginFiles
from netclaim.network.policy.levels import Level
from netclaim.network.request.into_config.link_keys import moves_link, with_link, without_link
from netclaim.network.request.into_config.runtime import asks_for_device
from netclaim.network.request.into_config.wishes import WISHES, with_wishes
from netclaim.network.request.parameters import InterfaceRequest
from netclaim.network.settings import LiveSettings


class Planner:
    """Makes plans by the settings in force and the node as it is."""

    def __init__(
        self,
        settings: LiveSettings,
        *,
        choice: LinkChoice,
        offer: LinkOffer,
        files: PluginFiles,
        guard: Guard,
        program_checks: ProgramChecks,
        networks: KnownNetworks,
    ) -> None:
        self._live = settings
        self._choice = choice
        self._offer = offer
        self._files = files
        self._guard = guard
        self._program_checks = program_checks
        self._networks = networks

    async def decide(
        self, claim: Claim, request: InterfaceRequest, snapshot: Snapshot, level: Level
    ) -> tuple[Link | None, NetworkList, Plan]:
        """Make the plan for one device, or raise what speaks against it. Changes nothing."""
        unlimited = request.trusted or level is Level.PRIVILEGED
        too_large = None if unlimited else size_fault(request.network, request.plugin_paths)
        if too_large is not None:
            raise too_large
        found = self._faults(claim, request)
        if (rdma := await rdma_plan(claim, request, snapshot)) is not None:
            self._guard.check(claim, request, (), snapshot, found=found)
            return None, request.network, rdma
        link = self._allocated(request, snapshot)
        if link is None:
            network, used = await self._without_link(request, snapshot, level)
        else:
            used = (link,)
            if link.index in snapshot.carriers:  # asking for it alone would not help
                self._guard.check(claim, request, used, snapshot, found=found)
            network = with_link(request, link)
        self._guard.check(claim, request, used, snapshot, found=found)
        self._program_checks.check_there(network)
        wished = with_wishes(network, request.wishes, request.wish_paths)
        if link is not None:
            await check_handover(wished, link, snapshot, self._live.now)
        share = await self._share(request, link, snapshot)
        await self._check_share(request, share, link, snapshot, level)
        interface = self._plan(claim, request, network, link, level=level, share=share)
        if link is not None and (moves_link(network) or asks_for_device(network)):
            (described,) = await snapshot.describe([link])
            pci_address = str(described.attributes.get("pciAddress", ""))
            interface = msgspec.structs.replace(interface, pci_address=pci_address)
        await self._program_checks.check_status(with_files(wished, interface.files))
        plan = Plan(
            claim=claim.ref,
            device=request.device,
            edits=None if link is None else await edits_with(wished, link),
            network=interface.to_json(),
        )
        return link, network, plan

    def _faults(self, claim: Claim, request: InterfaceRequest) -> Sequence[RequestError]:
        """List the mistakes in a configuration that no pod has yet; what runs has proved itself."""
        if any(each.key == request.device.key for each in claim.reported):
            return ()
        return config_faults(request, self._program_checks.in_process)

    def _allocated(self, request: InterfaceRequest, snapshot: Snapshot) -> Link | None:
        """Find the allocated link; None for the device that is no particular one."""
        device = request.device.device
        if link_of(device) == GENERIC and self._live.now.generic_device:
            return None
        link = find_by_device(snapshot.links, device)
        if link is None:
            raise LinkGoneError(device)
        return link

    async def _without_link(
        self, request: InterfaceRequest, snapshot: Snapshot, level: Level
    ) -> tuple[NetworkList, tuple[Link, ...]]:
        """Put a network on the links that it names, as far as its author may know of them."""
        withheld: Mapping[int, str] = {}
        if not request.trusted and level is not Level.PRIVILEGED:
            withheld = self._guard.unnameable(await self._choice.applied(snapshot))
        return without_link(request, snapshot.links, snapshot.default, withheld=withheld)

    async def _share(
        self, request: InterfaceRequest, link: Link | None, snapshot: Snapshot
    ) -> Share:
        """What the claim has of its link; nothing of the device that is no particular one."""
        if link is None:
            return Share()
        name = request.device.device
        if name == device_name(link.name) or not slotted(name):
            return share_of(request.device)
        (described,) = await snapshot.describe([link])
        return self._offer.slot_share(described)

    async def _check_share(
        self,
        request: InterfaceRequest,
        share: Share,
        link: Link | None,
        snapshot: Snapshot,
        level: Level,
    ) -> None:
        """Hold what the claim has of its link against the network that it is for."""
        network = self._networks.named(request.pod_network)
        asked = share.alone or share.bandwidth
        if network is None or link is None or not asked or level is Level.PRIVILEGED:
            return
        (described,) = await snapshot.describe([link])
        check_network_share(request, share, network, usual=self._offer.usual_bandwidth(described))

    def _plan(
        self,
        claim: Claim,
        request: InterfaceRequest,
        network: NetworkList,
        link: Link | None,
        *,
        level: Level,
        share: Share,
    ) -> InterfacePlan:
        return InterfacePlan(
            if_name=request.ifname,
            config=network.to_dict(),
            link=link.name if link else "",
            link_up=link is not None and link.up,
            link_mtu=link.mtu if link else 0,
            level=str(level),
            trusted=request.trusted,
            wishes=request.wishes,
            asked=tuple(wish.name for wish in WISHES if wish.name in request.claimed),
            vouched=tuple(wish.name for wish in WISHES if wish.name in (request.allowed or ())),
            files=self._files.directory(claim.namespace, trusted=request.trusted),
            alone=share.alone,
            bandwidth=share.bandwidth,
            pod_network=request.pod_network,
        )
