"""CNI plugins that run in process: same configuration, same results as the reference programs.

    registry             the types that there are, put together
    engine               what a type is, and how calls reach it
    shared               what several types have in common
    types                the types that are one module each
    bridge, host_device  types that are several
    dhcp, host_local, link_settings, tuning  likewise
    strict               checking a configuration before its first use
    __main__             our plugins as programs

docs/cni.md says how they are compared with the reference programs, and what they save.
"""

from netclaim.plugins.engine.engine import InProcess
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.plugin import Invocation, Plugin
from netclaim.plugins.registry import PLUGIN_TYPES, in_process_plugins
from netclaim.plugins.shared.ipam import Ipam

__all__ = [
    "PLUGIN_TYPES",
    "InProcess",
    "Invocation",
    "Ipam",
    "Plugin",
    "PluginError",
    "in_process_plugins",
]
