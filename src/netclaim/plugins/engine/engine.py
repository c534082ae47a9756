"""Serve plugin calls by code of our own, as a program that speaks CNI would.

Promise: the same checks in the same order with the same codes as the reference library, and results
as the version that the configuration asks for can hold them. Everything that goes wrong inside is a
CniError, apart from a plugin that is not installed. Configurations and results pass as values.
Limit: one plugin type; which server has which type, a `PluginsByType` knows.
"""

import os
from collections.abc import Mapping
from typing import Any

import msgspec
import structlog

from netclaim.cni import CniCall, CniError, Command, PluginMissingError, Result
from netclaim.cni.conflist import PLAIN_NAME
from netclaim.cni.errors import INCOMPATIBLE_VERSION
from netclaim.cni.version import CHECK, LATEST, NO_VERSION, SPEC_VERSIONS, at_least
from netclaim.errors import NetclaimError
from netclaim.kernel import NetnsId, current_netns_id
from netclaim.plugins.engine.errors import (
    BAD_NETNS,
    BAD_NETWORK,
    INTERNAL,
    UNDECODABLE,
    ConfError,
    PluginError,
)
from netclaim.plugins.engine.plugin import Invocation, Plugin

log = structlog.get_logger(__name__)

NO_DNS = Result().dns  # the very value that is left out where a result is written
# The oldest version that has the command; all have ADD and DEL.
SINCE = {Command.CHECK: CHECK, Command.GC: LATEST, Command.STATUS: LATEST}


class InProcess:
    """The server of one plugin type: a `Plugins` whose calls run here."""

    def __init__(self, plugin: Plugin, *, in_host_netns: bool = False) -> None:
        """Serve from the network namespace that we are in, which is the host's.

        `in_host_netns` lets a container have that namespace too.
        """
        self._plugin = plugin
        self._host = None if in_host_netns else current_netns_id()

    async def run(self, call: CniCall) -> Result | None:
        """Serve the call and return the result of an ADD."""
        try:
            return await self._serve(call)
        except CniError as error:  # of a plugin that ours called; the caller asked ours
            raise _cni_error(call, error.msg, error.code, error.details) from error
        except PluginError as error:
            raise _cni_error(call, str(error), error.code, error.details) from error
        except PluginMissingError:
            raise
        except NetclaimError as error:
            raise _cni_error(call, str(error), INTERNAL) from error

    async def _serve(self, call: CniCall) -> Result | None:
        invocation = read_call(call, oldest=self._plugin.oldest)
        if call.command in {Command.ADD, Command.DEL} and self._host is not None:
            _refuse_netns(invocation.endpoint.netns, self._host)
        plugin = self._plugin
        match call.command:
            case Command.ADD:
                return _answer(await plugin.add(invocation), invocation.version)
            case Command.DEL:
                await self._delete(invocation)
            case Command.CHECK:
                await plugin.check(invocation)
            case Command.STATUS:
                await plugin.status(invocation)
            case Command.GC:
                await plugin.gc(invocation)
        return None

    async def _delete(self, invocation: Invocation) -> None:
        """Undo what there is; a container must be able to go, whatever its configuration says."""
        try:
            await self._plugin.delete(invocation)
        except ConfError as error:
            log.info("cni.nothing_to_delete", plugin=invocation.call.plugin, why=str(error))


def read_call(call: CniCall, *, oldest: str = NO_VERSION) -> Invocation:
    """Check a call; PluginError where the protocol does not allow it."""
    _check_name(call.config.get("name", ""))
    return Invocation(call, _version(call.command, call.config, spoken_versions(oldest)))


def spoken_versions(oldest: str) -> tuple[str, ...]:
    """Return the CNI versions of a plugin that speaks them from `oldest` on."""
    return SPEC_VERSIONS[SPEC_VERSIONS.index(oldest) :]


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise PluginError("the configuration is not a network configuration", code=UNDECODABLE)
    if not name:
        raise PluginError("the network has no name", code=BAD_NETWORK)
    if not PLAIN_NAME.fullmatch(name):
        message = "the network's name contains invalid characters"
        raise PluginError(message, code=BAD_NETWORK, details=name)


def _version(command: Command, raw: Mapping[str, Any], spoken: tuple[str, ...]) -> str:
    version = raw.get("cniVersion") or NO_VERSION
    if not isinstance(version, str):
        raise PluginError("cniVersion must be a string", code=UNDECODABLE)
    if version not in spoken:
        raise PluginError(
            "this CNI version is not supported",
            code=INCOMPATIBLE_VERSION,
            details=f"asked for {version!r}; supported are {', '.join(spoken)}",
        )
    if command in SINCE and not at_least(version, SINCE[command]):
        raise PluginError(f"CNI {version} has no {command}", code=INCOMPATIBLE_VERSION)
    return version


def _answer(result: Result, version: str) -> Result:
    """Return what a program's answer would be read as: plugins in process print no empty `dns`."""
    answer = result.within(version)
    return answer if answer.dns != NO_DNS else msgspec.structs.replace(answer, dns=NO_DNS)


def _refuse_netns(path: str, host: NetnsId) -> None:
    """See before anything is done that the container is not the host itself."""
    try:
        status = os.stat(path)  # noqa: PTH116 -- a Path object is only in the way here
    except (OSError, ValueError):
        return  # gone, or none: a plugin may have something to do all the same
    if NetnsId(status.st_dev, status.st_ino) == host:
        message = "the container's network namespace is the host's own"
        raise PluginError(message, code=BAD_NETNS)


def _cni_error(call: CniCall, message: str, code: int, details: str = "") -> CniError:
    return CniError(
        message, code=code, details=details, plugin=call.plugin, command=str(call.command)
    )
