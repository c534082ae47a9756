"""Have addresses managed by another plugin, as a main plugin does.

Promise: an address that was leased for something that then fails is released again.
Limit: a lease outlives a cancelled ADD until its DEL.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from netclaim.cni import Plugins, Result
from netclaim.cni.conflist import PLAIN_NAME
from netclaim.errors import NetclaimError
from netclaim.plugins.engine.conf import NetConf
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.plugin import Invocation, Plugin
from netclaim.plugins.engine.program import Program


@dataclass(frozen=True, slots=True)
class Ipam:
    """The plugins that manage addresses: our own, and programs."""

    own: Mapping[str, Plugin]
    programs: Plugins

    @asynccontextmanager
    async def lease(self, invocation: Invocation) -> AsyncIterator[Result]:
        """Lease addresses for what the block does; release them when it fails."""
        plugin = self._of(invocation)
        result = await plugin.add(invocation)
        try:
            yield _with_addresses(result)
        except Exception as error:
            try:
                await plugin.delete(invocation)
            except NetclaimError as second:
                error.add_note(f"and the lease could not be released: {second}")
            raise

    async def release(self, invocation: Invocation) -> None:
        """Release what the endpoint has; may be repeated."""
        await self._of(invocation).delete(invocation)

    def releases_first(self, invocation: Invocation) -> bool:
        """Whether addresses are released while the interface is still there."""
        return self._of(invocation).needs_interface

    async def check(self, invocation: Invocation) -> None:
        """Raise unless the endpoint has its lease."""
        await self._of(invocation).check(invocation)

    async def status(self, invocation: Invocation) -> None:
        """Raise when no addresses could be leased now."""
        await self._of(invocation).status(invocation)

    async def gc(self, invocation: Invocation) -> None:
        """Release what no valid attachment has."""
        await self._of(invocation).gc(invocation)

    def _of(self, invocation: Invocation) -> Plugin:
        """Return the plugin that the configuration names."""
        plugin_type = invocation.conf(NetConf).ipam.type
        if not PLAIN_NAME.fullmatch(plugin_type):
            raise PluginError(f"ipam.type {plugin_type!r} is not a plugin")
        return self.own.get(plugin_type) or Program(plugin_type, self.programs)


def _with_addresses(result: Result) -> Result:
    if not result.ips:
        raise PluginError("the IPAM plugin assigned no address")
    return result
