"""The network driver from its settings: the one place where its real parts are chosen."""

import os
import time
from collections.abc import Mapping

from netclaim.cni import Chain, ExecPlugins, Plugins, PluginsByType, ResultCache, netns_alive
from netclaim.cni.exec import find_plugin
from netclaim.network.driver import LinkDriver
from netclaim.network.files import PluginFiles
from netclaim.network.guard import Guard
from netclaim.network.lent import LentDevices
from netclaim.network.made_bridges import MadeBridges
from netclaim.network.node import NodeLinks
from netclaim.network.pod_namespaces import PodNamespaces
from netclaim.network.settings import LinkSettings
from netclaim.plugins import in_process_plugins

__all__ = ["link_driver"]


def link_driver(
    settings: LinkSettings, *, in_process: Mapping[str, Plugins] | None = None
) -> LinkDriver:
    """Build the driver. `in_process` takes the place of our own plugins; programs serve the rest.

    Raises RequestError where the settings name a plugin type that we do not have.
    """
    programs = ExecPlugins(inherited=os.environ, deadline_s=settings.plugin_s)
    own = in_process
    if own is None:
        own = in_process_plugins(
            programs, exec_types=settings.exec_plugins, state_dir=settings.state_dir / "plugins"
        )

    def check_plugin(plugin: str) -> None:
        if plugin not in own:
            find_plugin(plugin, settings.cni_path)

    made = MadeBridges(settings.state_dir / "bridges")
    return LinkDriver(
        settings,
        links=NodeLinks(
            PodNamespaces(settings.pod_netns),
            settings.pod_networks,
            made,
            trust_alias="host-device" not in own,
        ),
        made=made,
        lent=LentDevices(settings.state_dir / "lent"),
        files=PluginFiles(settings.lease_dir / settings.name),
        guard=Guard(settings),
        chain=Chain(
            plugins=PluginsByType(own, otherwise=programs),
            cache=ResultCache(settings.state_dir / "cni"),
            path=settings.cni_path,
            netns_alive=netns_alive,
        ),
        check_plugin=check_plugin,
        now=time.time,
    )
