"""The CNI runtime: networks as users write them, and the calls that attach and detach them."""

from netclaim.cni.cache import CachedAttachment, ResultCache
from netclaim.cni.call import (
    AttachmentKey,
    CniArgs,
    CniCall,
    Command,
    Endpoint,
    check_container_id,
    check_ifname,
    pod_args,
)
from netclaim.cni.chain import Chain, Plugins
from netclaim.cni.conflist import NetworkList, PluginConf, parse_network
from netclaim.cni.dispatch import PluginsByType
from netclaim.cni.errors import (
    BadResultError,
    CniDeadlineError,
    CniError,
    CniErrorKind,
    CniGroupError,
    PluginMissingError,
)
from netclaim.cni.exec import ExecPlugins
from netclaim.cni.result import DNS, Interface, IPConfig, NetworkData, Result, Route, read_result

__all__ = [
    "DNS",
    "AttachmentKey",
    "BadResultError",
    "CachedAttachment",
    "Chain",
    "CniArgs",
    "CniCall",
    "CniDeadlineError",
    "CniError",
    "CniErrorKind",
    "CniGroupError",
    "Command",
    "Endpoint",
    "ExecPlugins",
    "IPConfig",
    "Interface",
    "NetworkData",
    "NetworkList",
    "PluginConf",
    "PluginMissingError",
    "Plugins",
    "PluginsByType",
    "Result",
    "ResultCache",
    "Route",
    "check_container_id",
    "check_ifname",
    "parse_network",
    "pod_args",
    "read_result",
]
