"""The container runtime's own interface (CRI), as far as a driver needs it beside the hooks.

client: what the runtime is, which sandboxes there are, and how to have one stopped.
"""

from netclaim.cri.client import (
    Condition,
    CriClient,
    NoRuntimeError,
    RuntimeCallError,
    RuntimeStatus,
    Sandbox,
    SandboxStatus,
    Version,
)

__all__ = [
    "Condition",
    "CriClient",
    "NoRuntimeError",
    "RuntimeCallError",
    "RuntimeStatus",
    "Sandbox",
    "SandboxStatus",
    "Version",
]
