"""Refuse versions of CNI that are older than a plugin."""

from netclaim.cni.version import at_least
from netclaim.plugins.errors import INCOMPATIBLE_VERSION, PluginError
from netclaim.plugins.plugin import Invocation

__all__ = ["refuse_older"]


def refuse_older(invocation: Invocation, oldest: str) -> None:
    """Raise unless the configuration is of version `oldest` or newer."""
    if not at_least(invocation.version, oldest):
        raise PluginError(
            "incompatible CNI versions",
            code=INCOMPATIBLE_VERSION,
            details=f"config is {invocation.version!r}, plugin supports {oldest} and newer",
        )
