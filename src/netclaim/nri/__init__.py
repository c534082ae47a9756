"""NRI, the container runtime's plugin interface: our plugin, and a runtime to try it against.

    wire       frames and calls on a socket     service    what the runtime calls of a plugin
    proto      the messages, generated          deadlines  answers before the runtime's deadline
    values     the messages as our own values   plugin     registers, serves, reconnects
    errors     how a call can fail              admission  how a runtime admits a plugin
    runtime    the runtime's side: reports sandboxes and containers to plugins

The facts are those of NRI 0.12; runtimes back to 0.8 (containerd 2.0) are served as well.
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
