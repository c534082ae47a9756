"""The network driver from its settings: the one place where its real parts are chosen."""

import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from netclaim.cni import Chain, ExecPlugins, Plugins, PluginsByType, ResultCache
from netclaim.kernel import is_live
from netclaim.network.attach.bandwidth import BandwidthLimits
from netclaim.network.attach.claimed_links import claimed_links
from netclaim.network.attach.renewals import Renewals
from netclaim.network.attach.reserved import ReservedBandwidth
from netclaim.network.cleanup.gate import NetworkGate
from netclaim.network.cleanup.leftovers import Leftovers
from netclaim.network.cleanup.plugin_gc import PluginGc, result_names
from netclaim.network.driver import LinkDriver
from netclaim.network.judge.pod_network import network_faults
from netclaim.network.links.card_functions import FunctionNumbers
from netclaim.network.links.carrier.health import LinkHealth
from netclaim.network.links.function_drivers import FunctionDrivers
from netclaim.network.links.node.node_links import NodeLinks
from netclaim.network.links.node.pod_namespaces import PodNamespaces
from netclaim.network.links.offered import OfferedLinks
from netclaim.network.links.offering.choice import LinkChoice
from netclaim.network.links.offering.networks import OfferedNetworks
from netclaim.network.links.offering.offer import LinkOffer
from netclaim.network.links.remembered.lent import LentDevices
from netclaim.network.links.remembered.made_bridges import MadeBridges
from netclaim.network.metrics.addresses import AddressCollector
from netclaim.network.metrics.timed_plugins import TimedPlugins
from netclaim.network.networks.known import KnownNetworks
from netclaim.network.plan.guard import Guard
from netclaim.network.plan.planner import Planner
from netclaim.network.plan.programs import ProgramChecks
from netclaim.network.plugin_files import PluginFiles
from netclaim.network.pools.restore import Restorer
from netclaim.network.settings import LinkSettings, LiveSettings
from netclaim.plugins import PLUGIN_TYPES, in_process_plugins
from netclaim.plugins.dhcp.terms import LeaseTerms
from netclaim.plugins.registry import lease_records, lent_links


def link_driver(
    settings: LinkSettings, *, in_process: Mapping[str, Plugins] | None = None
) -> LinkDriver:
    """Build the driver. `in_process` takes the place of our own plugins; programs serve the rest.

    Raises RequestError where the settings name a plugin type that we do not have.
    """
    programs = ExecPlugins(inherited=os.environ, deadline_s=settings.plugin_s)
    plugin_state = settings.state_dir / "plugins"
    own, terms = in_process, LeaseTerms()
    if own is None:
        own = in_process_plugins(
            programs, exec_types=settings.exec_plugins, state_dir=plugin_state, terms=terms
        )

    def others_results() -> frozenset[str]:
        """Of the runtime, and of other drivers that keep their state beside ours."""
        beside = settings.state_dir.parent.glob("*/cni/results")
        others = [path for path in beside if path.parent.parent != settings.state_dir]
        return result_names([settings.runtime_results, *others])

    live = LiveSettings(settings)
    made = MadeBridges(settings.state_dir / "bridges")
    node_links = NodeLinks(
        PodNamespaces(settings.pod_netns),
        lambda: live.now.pod_networks,
        made,
        trust_alias="host-device" not in own,
    )
    lent = LentDevices(settings.state_dir / "lent")
    lent_apart = LentDevices(settings.state_dir / "lent")  # for a thread
    files = PluginFiles(settings.lease_dir / settings.name)
    timed = TimedPlugins(
        PluginsByType(own, otherwise=programs),
        settings.name,
        in_process=PLUGIN_TYPES & own.keys(),
        monotonic=time.monotonic,
    )
    cache = ResultCache(settings.state_dir / "cni")
    chain = Chain(
        plugins=timed,
        cache=cache,
        path=settings.cni_path,
        netns_alive=is_live,
    )
    health = LinkHealth(live, time.monotonic)
    offer = LinkOffer(live)
    reserved = ReservedBandwidth(
        settings.name, offer.room.bandwidth_of, lambda: live.now.protect_bandwidth
    )
    limits = BandwidthLimits(settings.name, time.monotonic, reserved)
    networks = OfferedNetworks(
        KnownNetworks(settings.state_dir / "networks.json"),
        offer,
        live,
        lambda network: "; ".join(map(str, network_faults(network, settings.name))),
    )
    restorer = Restorer(settings.name)
    renewals = Renewals(settings.name, lease_records(plugin_state))
    choice, guard = LinkChoice(live, offer), Guard(live)
    return LinkDriver(
        live,
        links=OfferedLinks(
            live,
            node_links,
            choice=choice,
            offer=offer,
            health=health,
            drivers=FunctionDrivers(settings.name),
            made=made,
            lent=lent,
            networks=networks,
            functions=FunctionNumbers(live, lambda: claimed_links(lent_apart, cache)),
        ),
        files=files,
        guard=guard,
        planner=Planner(
            live,
            choice=choice,
            offer=offer,
            files=files,
            guard=guard,
            program_checks=ProgramChecks(chain, in_process=frozenset(own)),
            networks=networks.known,
        ),
        chain=chain,
        leftovers=Leftovers(
            chain=chain,
            files=files,
            lent=lent,
            lent_links=lent_links(plugin_state),
            links=node_links,
            threads=ThreadPoolExecutor(1, "collect-leases"),
            now=time.time,
        ),
        plugin_gc=PluginGc(chain, NetworkGate(), others_results),
        limits=limits,
        restorer=restorer,
        terms=terms,
        renewals=renewals,
        collectors=(
            timed.seconds,
            health.losses,
            limits,
            limits.restored,
            restorer.restored,
            renewals,
            renewals.renewed,
            offer.slot_devices,
            offer.room,
            AddressCollector(settings.name, files, cache.entries, time.monotonic),
        ),
    )
