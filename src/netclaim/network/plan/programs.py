"""See in prepare, rather than in the runtime's hook, whether a network's plugins can serve an ADD.

Promise: a program that is not installed is named, and one that says by CNI's STATUS that it is not
available fails with its own words, as something that may pass.
Limit: what runs in process is always there, and is asked only for the programs that it calls.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Final

import structlog

from netclaim.cni import Chain, CniError, CniErrorKind, NetworkList
from netclaim.cni.errors import PluginMissingError
from netclaim.cni.exec import find_plugin
from netclaim.network.judge.mistakes import guessed_type

log = structlog.get_logger(__name__)

STATUS_S: Final = 2.0  # a program takes some 10 ms; kubelet waits 45 s for the whole claim


@dataclass(frozen=True, slots=True)
class ProgramChecks:
    """Checks of the programs that a network needs."""

    chain: Chain
    in_process: frozenset[str]  # plugin types that are no programs

    def check_there(self, network: NetworkList) -> None:
        """Raise PluginMissingError unless all programs are installed."""
        for plugin in network.plugins:
            for each in filter(None, (plugin.type, plugin.ipam_type)):
                if each not in self.in_process:
                    try:
                        find_plugin(each, self.chain.path)
                    except PluginMissingError as error:
                        hint = guessed_type(each, ipam=each == plugin.ipam_type)
                        raise PluginMissingError(each, self.chain.path, hint=hint) from error

    async def check_status(self, network: NetworkList) -> None:
        """Raise the CniError of a program that is not available.

        Nothing else that goes wrong counts: a program that speaks CNI 1.1.0 need not know STATUS,
        and many answer 999 for everything. Before 1.1.0 nobody can be asked.
        """
        for plugin in network.plugins:
            types = {plugin.type, plugin.ipam_type or plugin.type}
            if types <= self.in_process:
                continue
            try:
                async with asyncio.timeout(STATUS_S):
                    await self.chain.status(replace(network, plugins=(plugin,)))
            except CniError as error:
                if error.kind is CniErrorKind.NOT_READY:
                    raise
                log.info("prepare.status_unknown", plugin=plugin.type, error=str(error))
            except TimeoutError:
                log.info("prepare.status_unknown", plugin=plugin.type, error="no answer in time")
