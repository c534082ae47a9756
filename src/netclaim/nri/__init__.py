"""NRI, the container runtime's plugin interface: our plugin, and a runtime to try it against.

    mux, ttrpc  the wire, as bytes          service    what the runtime calls of a plugin
    endpoint    both directions of it       hooks      our answer before the runtime's deadline
    connection  the wire on a socket        plugin     registers, serves, reconnects
    tasks       what runs beside a block    admission  how a runtime takes a plugin on
    values      what a hook is told         runtime    tells plugins of sandboxes and containers

Facts come from NRI 0.12; runtimes back to 0.8 (containerd 2.0) are served as well.
"""

from netclaim.nri.admission import RuntimeSettings
from netclaim.nri.errors import (
    CallTimeoutError,
    ConnectionLostError,
    HookTimeoutError,
    MessageTooBigError,
    ProtocolError,
    StatusError,
)
from netclaim.nri.plugin import Backoff, Plugin
from netclaim.nri.runtime import Runtime, listening
from netclaim.nri.service import Handlers
from netclaim.nri.values import Container, ContainerHook, ContainerState, RuntimeInfo

__all__ = [
    "Backoff",
    "CallTimeoutError",
    "ConnectionLostError",
    "Container",
    "ContainerHook",
    "ContainerState",
    "Handlers",
    "HookTimeoutError",
    "MessageTooBigError",
    "Plugin",
    "ProtocolError",
    "Runtime",
    "RuntimeInfo",
    "RuntimeSettings",
    "StatusError",
    "listening",
]
