"""CNI plugins that run in process: same configuration, same results as the reference programs."""

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
