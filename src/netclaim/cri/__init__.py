"""The container runtime's own interface (CRI), as far as a driver needs it beside the hooks.

client: which sandboxes there are, and how to have one stopped.
"""

from netclaim.cri.client import CriClient, NoRuntimeError, RuntimeCallError, Sandbox, SandboxStatus

__all__ = ["CriClient", "NoRuntimeError", "RuntimeCallError", "Sandbox", "SandboxStatus"]
