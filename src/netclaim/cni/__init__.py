"""The CNI runtime: networks as users write them, and the calls that attach and detach them.

conflist      a network: a list of plugins, parsed once
chain         its plugins one after the other: ADD, DEL, CHECK, GC
call          one call of a plugin: command, endpoint, configuration
dispatch      by our own code, or by a program
exec          a program, executed
result        what a plugin answers
cache         the answers, kept on the disk for DEL
version       the versions of the specification
frozen_json   values that cannot change, so that what was judged is what runs
key_case      which keys a plugin takes for the same
quirks        what plugins do otherwise than the specification says
plain_files   small files beside those of others
errors        how a call fails
"""

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
from netclaim.cni.conflist import NetworkList, PluginConf, decode_network, parse_network
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
    "decode_network",
    "parse_network",
    "pod_args",
    "read_result",
]
