"""CNI plugins that run in process: same configuration, same results as the reference programs.

    plugin, engine, registry           what a type is; how it is called; the types that there are
    program, __main__                  a program called like one of ours, and ours called like one
    conf, errors, results              what comes in, what goes wrong, what goes out
    ipam, main_plugin, checks          what the plugins that make or move a link have in common
    pod, veth, stacked, configure      the container's namespace, and links, addresses, routes there
    mac, name_servers, masquerade      a link's MAC, resolvers, and the host as a gateway
    bridge, bridge_*, spoof_check      a pair of links, the host's end on a bridge
    ptp, macvlan, ipvlan, vlan,        the other types that make a link
        dummy, tap
    host_device, device_lookup,        a link of the host, lent to a container and returned
        lent_links, lent_identity, homecoming
    tuning, tuning_*, bandwidth,       the types that change a link which another made
        sbr, vrf
    host_local, host_local_conf,       addresses from ranges, kept on this host's disk
        ranges, lease_store, lease_files
    static                             addresses that the configuration names

docs/cni.md says how they are compared with the reference programs, and what they save.
"""

from netclaim.plugins.engine import InProcess
from netclaim.plugins.errors import PluginError
from netclaim.plugins.ipam import Ipam
from netclaim.plugins.plugin import Invocation, Plugin
from netclaim.plugins.registry import PLUGIN_TYPES, in_process_plugins

__all__ = [
    "PLUGIN_TYPES",
    "InProcess",
    "Invocation",
    "Ipam",
    "Plugin",
    "PluginError",
    "in_process_plugins",
]
