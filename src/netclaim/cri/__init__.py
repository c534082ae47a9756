"""The container runtime's own interface (CRI), as far as a driver needs it beside the hooks."""

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
