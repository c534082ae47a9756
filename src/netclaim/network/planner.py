"""Plan what a device of a claim becomes: its link, its network, and its share of the link.

Promise: a plan leaves nothing to decide; whatever speaks against it is raised, with the place in
the claim. The same request on the same node makes the same plan. Limit: looks at the node and
changes nothing there; `driver` notes what follows from a plan.
"""

from collections.abc import Callable, Mapping, Sequence

from netclaim.cni import NetworkList
from netclaim.errors import RequestError
from netclaim.kernel import Link
from netclaim.model import Claim, Plan
from netclaim.network.device import device_name, find_by_device
from netclaim.network.discover import GENERIC
from netclaim.network.errors import LinkGoneError
from netclaim.network.files import PluginFiles
from netclaim.network.guard import Guard
from netclaim.network.link_choice import LinkChoice
from netclaim.network.link_keys import with_link, without_link
from netclaim.network.node import Snapshot
from netclaim.network.offer import LinkOffer
from netclaim.network.parameter_keys import WISHES
from netclaim.network.parameters import InterfaceRequest
from netclaim.network.plan import InterfacePlan, planned_network, read_plan
from netclaim.network.plugin_checks import PluginChecks
from netclaim.network.policy import Level
from netclaim.network.settings import LiveSettings
from netclaim.network.shares import Share, share_of
from netclaim.network.strict import config_faults
from netclaim.network.wishes import with_wishes

__all__ = ["Planner"]


class Planner:
    """Plans by the settings in force and the node as it is."""

    def __init__(
        self,
        settings: LiveSettings,
        *,
        choice: LinkChoice,
        offer: LinkOffer,
        files: PluginFiles,
        guard: Guard,
        plugin_checks: PluginChecks,
        now: Callable[[], float],
    ) -> None:
        """`now` is the time of day, in seconds since 1970."""
        self._live = settings
        self._choice = choice
        self._offer = offer
        self._files = files
        self._guard = guard
        self._plugin_checks = plugin_checks
        self._now = now

    async def decide(
        self, claim: Claim, request: InterfaceRequest, snapshot: Snapshot, level: Level
    ) -> tuple[Link | None, NetworkList, Plan]:
        """Make the plan for one device, or raise what speaks against it. Changes nothing."""
        link = self._allocated(request, snapshot)
        found = self._faults(claim, request)
        if link is None:
            network, used = await self._without_link(request, snapshot, level)
        else:
            used = (link,)
            if link.index in snapshot.carriers:  # asking for it alone would not help
                self._guard.check(claim, request, used, snapshot, found=found)
            network = with_link(request, link)
        self._guard.check(claim, request, used, snapshot, found=found)
        self._plugin_checks.check_there(network)
        with_wishes(network, request.wishes, request.wish_paths)  # or says which cannot
        share = await self._share(request, link, snapshot)
        plan = self._plan(claim, request, network, link, level=level, share=share)
        await self._plugin_checks.check_status(planned_network(read_plan(plan)))
        return link, network, plan

    def _faults(self, claim: Claim, request: InterfaceRequest) -> Sequence[RequestError]:
        """List the mistakes in a configuration that no pod has yet; what runs has proved itself."""
        if any(each.key == request.device.key for each in claim.reported):
            return ()
        return config_faults(request, self._plugin_checks.in_process)

    def _allocated(self, request: InterfaceRequest, snapshot: Snapshot) -> Link | None:
        """Find the allocated link; None for the device that is no particular one."""
        device = request.device.device
        if device == GENERIC and self._live.now.generic_device:
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
        if request.device.device == device_name(link.name):
            return share_of(request.device)
        (described,) = await snapshot.describe([link])
        return self._offer.slot_share(described)

    def _plan(
        self,
        claim: Claim,
        request: InterfaceRequest,
        network: NetworkList,
        link: Link | None,
        *,
        level: Level,
        share: Share,
    ) -> Plan:
        interface = InterfacePlan(
            if_name=request.ifname,
            config=network.to_dict(),
            link=link.name if link else "",
            link_up=link is not None and link.up,
            level=str(level),
            trusted=request.trusted,
            wishes=request.wishes,
            asked=tuple(key for key in WISHES if key in request.claimed),
            vouched=tuple(key for key in WISHES if key in (request.allowed or ())),
            made=self._now(),
            files=self._files.directory(claim.namespace, trusted=request.trusted),
            alone=share.alone,
            bandwidth=share.bandwidth,
        )
        return Plan(claim=claim.ref, device=request.device, network=interface.to_json())
