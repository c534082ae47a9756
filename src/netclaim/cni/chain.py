"""Attach a container to a network and detach it, by the plugins of the network's list.

Promise: the specification's order and configuration for every command. `add` that fails has undone
what it did, or says that it could not. Every operation may be repeated: ADD returns the saved
result, DEL finds nothing left to do.
Limit: operations on one container must not overlap, nor GC with anything on its network; the caller
sees to that. A cancelled operation ends at once and undoes nothing: the caller's DEL is due.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import structlog

from netclaim.cni import version as cni
from netclaim.cni.cache import ResultCache
from netclaim.cni.call import AttachmentKey, CniCall, Command, Endpoint, execution_config
from netclaim.cni.conflist import NetworkList, PluginConf
from netclaim.cni.errors import (
    BadResultError,
    CniDeadlineError,
    CniError,
    CniGroupError,
    PluginMissingError,
)
from netclaim.cni.quirks import KEEPS_LEASE, NEEDS_NETNS, NOTHING_TO_DELETE
from netclaim.cni.result import Result
from netclaim.errors import NetclaimError

T = TypeVar("T")

log = structlog.get_logger(__name__)


class Plugins(Protocol):
    """What serves plugin calls: programs on the machine, or code of our own."""

    async def run(self, call: CniCall) -> Result | None:
        """Serve the call and return the result of an ADD; other commands have none.

        Raises CniError when the plugin fails, HostError when it cannot run here, BadResultError
        when it printed no result. A cancelled call stops at once.
        """
        ...


@dataclass(frozen=True, slots=True)
class Chain:
    """A CNI runtime."""

    plugins: Plugins
    cache: ResultCache
    path: tuple[str, ...]  # directories that hold plugins
    netns_alive: Callable[[str], bool]

    async def add(
        self,
        network: NetworkList,
        endpoint: Endpoint,
        *,
        add_s: float | None = None,
        undo_s: float | None = None,
    ) -> Result:
        """Attach; when that fails, or lasts longer than `add_s`, detach and raise the reason.

        When the DEL fails too, or lasts longer than `undo_s`, a CniGroupError holds both reasons
        and a DEL is still due. Without limits here, each plugin has its own.
        Repeated with the same configuration, it returns the saved result and calls no plugin.
        """
        saved = self.cache.load(network.name, endpoint.key)
        if saved and (saved.netns, saved.config) == (endpoint.netns, network.to_json()):
            return saved.result
        begun: list[PluginConf] = []
        try:
            return await _in_time(self._add(network, endpoint, begun), add_s, network, Command.ADD)
        except Exception as error:
            if begun:
                await self._undo(replace(network, plugins=tuple(begun)), endpoint, undo_s, error)
            raise

    async def delete(self, network: NetworkList, endpoint: Endpoint) -> None:
        """Detach, with what the cache knows of the ADD.

        A plugin that fails keeps none of the others from undoing their part: a link comes home even
        if what was tuned on it cannot be put back. Then what failed is raised, and the saved
        result stays for the next attempt. Works with the namespace gone. Succeeds also if there is
        nothing to detach.
        """
        alive = self.netns_alive(endpoint.netns)
        target = endpoint if alive else replace(endpoint, netns="")
        added = self._added(network, endpoint)
        failed: list[NetclaimError] = []
        for plugin in reversed(network.plugins):
            if alive or plugin.type not in NEEDS_NETNS:
                try:
                    await self._delete_one(network, plugin, target, added)
                except NetclaimError as error:
                    failed.append(error)
        if len(failed) > 1:
            raise CniGroupError("; ".join(map(str, failed)), failed)
        if failed:
            raise failed[0]
        self.cache.drop(network.name, endpoint.key)

    async def check(self, network: NetworkList, endpoint: Endpoint) -> bool:
        """Have every plugin compare the attachment with its result; CniError when one disagrees.

        Returns whether that was done: a list can forbid it, or be too old for it.
        """
        if network.disable_check or not cni.at_least(network.version, cni.CHECK):
            return False
        added = self._added(network, endpoint)
        for plugin in network.plugins:
            call = self._call(Command.CHECK, network, plugin, endpoint, previous=added)
            await self.plugins.run(call)
        return True

    async def gc(self, network: NetworkList, valid: Collection[AttachmentKey]) -> None:
        """Detach what the cache holds of this network beyond `valid`, then call GC of its plugins.

        Goes on after a failure, and raises all of them at the end.
        """
        if network.disable_gc:
            return
        failed: list[Exception] = []
        for entry in list(self.cache.entries()):
            if entry.network_name == network.name and entry.endpoint.key not in valid:
                try:
                    await self.delete(network, entry.endpoint)
                except NetclaimError as error:
                    failed.append(error)
        try:
            await self.gc_plugins(network, valid)
        except CniGroupError as error:
            failed += error.exceptions
        if failed:
            raise CniGroupError(f"GC of the network {network.name}", failed)

    async def gc_plugins(self, network: NetworkList, valid: Collection[AttachmentKey]) -> None:
        """Call GC of a network's plugins alone, where they know it: since CNI 1.1.0.

        Goes on after a failure, and raises all of them at the end. For a caller that listed the
        cache itself: `valid` holds all that it has of this network.
        """
        if network.disable_gc or not cni.at_least(network.version, cni.LATEST):
            return
        if failed := await self._gc_plugins(network, valid):
            raise CniGroupError(f"GC of the network {network.name}", failed)

    async def status(self, network: NetworkList) -> None:
        """Raise the CniError of the first plugin that could not serve an ADD now.

        Before CNI 1.1.0 plugins cannot be asked, and nothing is raised.
        """
        if cni.at_least(network.version, cni.LATEST):
            for plugin in network.plugins:
                await self.plugins.run(self._call(Command.STATUS, network, plugin))

    async def _add(
        self, network: NetworkList, endpoint: Endpoint, begun: list[PluginConf]
    ) -> Result:
        """Run ADD through the list; `begun` grows by each plugin that may have done something."""
        result: Result | None = None
        for plugin in network.plugins:
            begun.append(plugin)
            call = self._call(Command.ADD, network, plugin, endpoint, previous=result)
            try:
                result = await self.plugins.run(call)
            except PluginMissingError:
                begun.pop()
                raise
            except BadResultError as error:
                raise CniError(
                    f"printed no valid result: {error}", plugin=plugin.type, command=Command.ADD
                ) from error
        assert result is not None, "a list has a plugin, and every ADD a result"
        self.cache.save(network, endpoint, result)
        return result

    async def _undo(
        self, begun: NetworkList, endpoint: Endpoint, undo_s: float | None, reason: Exception
    ) -> None:
        log.info("cni.undo", network=begun.name, container=endpoint.container_id, why=str(reason))
        try:
            await _in_time(self.delete(begun, endpoint), undo_s, begun, Command.DEL)
        except NetclaimError as error:
            message = f"{reason}; the DEL after it failed too: {error}"
            raise CniGroupError(message, [reason, error]) from reason

    async def _delete_one(
        self, network: NetworkList, plugin: PluginConf, target: Endpoint, added: Result | None
    ) -> None:
        call = self._call(Command.DEL, network, plugin, target, previous=added)
        try:
            await self.plugins.run(call)
        except CniError as error:
            if error.code not in NOTHING_TO_DELETE:
                raise
            log.info("cni.nothing_to_delete", plugin=plugin.type, why=str(error))
        if not target.netns and plugin.ipam_type and plugin.type in KEEPS_LEASE:
            await self.plugins.run(replace(call, plugin=plugin.ipam_type))

    async def _gc_plugins(
        self, network: NetworkList, valid: Collection[AttachmentKey]
    ) -> list[Exception]:
        listed = [{"containerID": key.container_id, "ifname": key.ifname} for key in sorted(valid)]
        # The second name is a misprint of the specification that plugins were built against.
        added = {"cni.dev/valid-attachments": listed, "cni.dev/attachments": listed}
        failed: list[Exception] = []
        for plugin in network.plugins:
            try:
                await self.plugins.run(self._call(Command.GC, network, plugin, added=added))
            except NetclaimError as error:
                failed.append(error)
        return failed

    def _added(self, network: NetworkList, endpoint: Endpoint) -> Result | None:
        """Return the saved result for CHECK and DEL, which have it since CNI 0.4.0."""
        if not cni.at_least(network.version, cni.CHECK):
            return None
        saved = self.cache.load(network.name, endpoint.key)
        return saved.result if saved else None

    def _call(
        self,
        command: Command,
        network: NetworkList,
        plugin: PluginConf,
        endpoint: Endpoint | None = None,
        *,
        added: Mapping[str, Any] | None = None,
        previous: Result | None = None,
    ) -> CniCall:
        offered = endpoint.capability_args if endpoint else None
        config = execution_config(network, plugin, added=added, capability_args=offered)
        return CniCall(command, plugin.type, self.path, config, endpoint, previous)


async def _in_time(
    operation: Coroutine[None, None, T],
    limit_s: float | None,
    network: NetworkList,
    command: Command,
) -> T:
    try:
        async with asyncio.timeout(limit_s):
            return await operation
    except TimeoutError as error:
        raise CniDeadlineError(
            f"not finished after {limit_s:g} s, stopped",
            plugin=" + ".join(plugin.type for plugin in network.plugins),
            command=command,
        ) from error
