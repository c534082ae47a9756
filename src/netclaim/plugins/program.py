"""A plugin that is a program, called like one of ours.

Promise: the program gets the very call that ours got, for its own type.
"""

from dataclasses import replace

from netclaim.cni import BadResultError, Command, Plugins, Result, read_result
from netclaim.plugins.errors import PluginError
from netclaim.plugins.plugin import Invocation, Plugin

__all__ = ["Program"]


class Program(Plugin):
    """One plugin type, served by whoever runs programs."""

    def __init__(self, plugin_type: str, programs: Plugins) -> None:
        self._type = plugin_type
        self._programs = programs

    async def add(self, invocation: Invocation) -> Result:
        """Have the program attach."""
        output = await self._run(invocation, Command.ADD)
        try:
            return read_result(output, invocation.version)
        except BadResultError as error:
            raise PluginError(f"{self._type} printed no valid result: {error}") from error

    async def delete(self, invocation: Invocation) -> None:
        """Have the program detach. Again: its own affair."""
        await self._run(invocation, Command.DEL)

    async def check(self, invocation: Invocation) -> None:
        """Have the program compare."""
        await self._run(invocation, Command.CHECK)

    async def status(self, invocation: Invocation) -> None:
        """Ask the program whether it is ready."""
        await self._run(invocation, Command.STATUS)

    async def gc(self, invocation: Invocation) -> None:
        """Have the program collect."""
        await self._run(invocation, Command.GC)

    async def _run(self, invocation: Invocation, command: Command) -> bytes:
        call = replace(invocation.call, command=command, plugin=self._type)
        return await self._programs.run(call)
