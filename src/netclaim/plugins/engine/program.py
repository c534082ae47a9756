"""A plugin that is a program, called like one in process.

Promise: the program gets the very call that ours got, for its own type.
"""

from dataclasses import replace

from netclaim.cni import BadResultError, Command, Plugins, Result
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.plugin import Invocation, Plugin


class Program(Plugin):
    """One plugin type, served by a program."""

    def __init__(self, plugin_type: str, programs: Plugins) -> None:
        self._type = plugin_type
        self._programs = programs

    async def add(self, invocation: Invocation) -> Result:
        try:
            result = await self._run(invocation, Command.ADD)
        except BadResultError as error:
            raise PluginError(f"{self._type} printed no valid result: {error}") from error
        assert result is not None, "every ADD has a result"
        return result

    async def delete(self, invocation: Invocation) -> None:
        await self._run(invocation, Command.DEL)

    async def check(self, invocation: Invocation) -> None:
        await self._run(invocation, Command.CHECK)

    async def status(self, invocation: Invocation) -> None:
        await self._run(invocation, Command.STATUS)

    async def gc(self, invocation: Invocation) -> None:
        await self._run(invocation, Command.GC)

    async def _run(self, invocation: Invocation, command: Command) -> Result | None:
        call = replace(invocation.call, command=command, plugin=self._type)
        return await self._programs.run(call)
