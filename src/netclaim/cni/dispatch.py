"""Serve each plugin type by our own code, or by a program on the machine.

Promise: a chain may mix them freely; a call reaches exactly one server, chosen by its type alone.
Limit: decides nothing else. A plugin that calls another (its address management) is given this
object and makes a call of that type.
"""

from collections.abc import Mapping

from netclaim.cni.call import CniCall
from netclaim.cni.chain import Plugins
from netclaim.cni.result import Result


class PluginsByType:
    """Plugins, some types of which have a server of their own."""

    def __init__(self, special: Mapping[str, Plugins], *, otherwise: Plugins) -> None:
        self._special = dict(special)
        self._otherwise = otherwise

    async def run(self, call: CniCall) -> Result | None:
        """Hand the call to the server of its type."""
        return await self._special.get(call.plugin, self._otherwise).run(call)
