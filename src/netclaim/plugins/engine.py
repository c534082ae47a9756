"""Serve plugin calls by code of our own, as a program that speaks CNI would.

Promise: the same checks in the same order with the same codes as the reference library, and results
in the version that the configuration asks for. Whatever goes wrong inside is a CniError, apart from
a plugin that is not installed.
Limit: one plugin type; who serves which type, a `PluginsByType` knows.
"""

import os
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import msgspec
import structlog

from netclaim.cni import CniCall, CniError, Command, PluginMissingError, Result
from netclaim.cni.conflist import PLAIN_NAME
from netclaim.cni.version import CHAINING, CHECK, LATEST, NO_VERSION, SPEC_VERSIONS, at_least
from netclaim.errors import NetclaimError
from netclaim.kernel import NetnsId, current_netns_id
from netclaim.plugins.errors import (
    BAD_NETNS,
    BAD_NETWORK,
    INCOMPATIBLE_VERSION,
    INTERNAL,
    UNDECODABLE,
    ConfError,
    PluginError,
)
from netclaim.plugins.plugin import Invocation, Plugin

__all__ = ["InProcess"]

log = structlog.get_logger(__name__)

BEFORE_CHAINS = frozenset(SPEC_VERSIONS[: SPEC_VERSIONS.index(CHAINING)])
# The oldest version that has the command; all have ADD, DEL and VERSION.
SINCE = {Command.CHECK: CHECK, Command.GC: LATEST, Command.STATUS: LATEST}


class InProcess:
    """The server of one plugin type: a `Plugins` whose calls run here."""

    def __init__(self, plugin: Plugin, *, in_host_netns: bool = False) -> None:
        """Serve from the network namespace that we are in, which is the host's.

        `in_host_netns` lets a container have that namespace too.
        """
        self._plugin = plugin
        self._host = None if in_host_netns else current_netns_id()

    async def run(self, call: CniCall) -> bytes:
        """Serve the call and return what a plugin would print."""
        try:
            return await self._serve(call)
        except CniError as error:  # of a plugin that ours called: ours is the one that was asked
            raise _cni_error(call, error.msg, error.code, error.details) from error
        except PluginError as error:
            raise _cni_error(call, str(error), error.code, error.details) from error
        except PluginMissingError:
            raise
        except NetclaimError as error:
            raise _cni_error(call, str(error), INTERNAL) from error

    async def _serve(self, call: CniCall) -> bytes:
        if call.command is Command.VERSION:
            return _versions(self._plugin.oldest)
        invocation = read_call(call, oldest=self._plugin.oldest)
        if call.command in {Command.ADD, Command.DEL} and self._host is not None:
            _refuse_netns(invocation.endpoint.netns, self._host)
        plugin = self._plugin
        match call.command:
            case Command.ADD:
                return _written(await plugin.add(invocation), invocation.version)
            case Command.DEL:
                await self._delete(invocation)
            case Command.CHECK:
                await plugin.check(invocation)
            case Command.STATUS:
                await plugin.status(invocation)
            case Command.GC:
                await plugin.gc(invocation)
        return b""

    async def _delete(self, invocation: Invocation) -> None:
        """Undo what there is; a container must be able to go, whatever its configuration says."""
        try:
            await self._plugin.delete(invocation)
        except ConfError as error:
            log.info("cni.nothing_to_delete", plugin=invocation.call.plugin, why=str(error))


def read_call(call: CniCall, *, oldest: str = NO_VERSION) -> Invocation:
    """Take a call apart; PluginError where the protocol does not allow it."""
    raw = _network(call.config)
    return Invocation(call, _version(call.command, raw, _spoken(oldest)), raw)


@lru_cache(maxsize=256)  # a node has few networks, and calls for each of its pods
def _network(config: bytes) -> Mapping[str, Any]:
    try:
        raw: Any = msgspec.json.decode(config)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PluginError(f"the configuration is not JSON: {error}", code=UNDECODABLE) from error
    if not isinstance(raw, dict) or not isinstance(raw.get("name", ""), str):
        raise PluginError("the configuration is not a network configuration", code=UNDECODABLE)
    if not raw.get("name"):
        raise PluginError("the network has no name", code=BAD_NETWORK)
    if not PLAIN_NAME.fullmatch(raw["name"]):
        message = "the network's name contains invalid characters"
        raise PluginError(message, code=BAD_NETWORK, details=raw["name"])
    return raw


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


def _refuse_netns(path: str, host: NetnsId) -> None:
    """See before anything is done that the container is not the host itself."""
    try:
        status = os.stat(path)  # noqa: PTH116 -- a Path object is only in the way here
    except (OSError, ValueError):
        return  # gone, or none: a plugin may have something to do all the same
    if NetnsId(status.st_dev, status.st_ino) == host:
        message = "the container's network namespace is the host's own"
        raise PluginError(message, code=BAD_NETNS)


def _written(result: Result, version: str) -> bytes:
    written = _in_02x(result, version) if version in BEFORE_CHAINS else result.to_dict(version)
    if not written.get("dns"):
        written.pop("dns", None)
    return msgspec.json.encode(written)


def _in_02x(result: Result, version: str) -> dict[str, Any]:
    """Write a result as the oldest versions have it: one address of each family, no interfaces."""
    written: dict[str, Any] = {"cniVersion": version}
    for key, colon in (("ip4", False), ("ip6", True)):
        ip = next((ip for ip in result.ips if (":" in ip.address) is colon), None)
        if ip is None:
            continue
        routes = [route for route in result.routes if (":" in route.dst) is colon]
        written[key] = {"ip": ip.address} | ({"gateway": ip.gateway} if ip.gateway else {})
        if routes:
            written[key]["routes"] = routes
    return written | {"dns": msgspec.to_builtins(result.dns)}


def _versions(oldest: str) -> bytes:
    return msgspec.json.encode({"cniVersion": LATEST, "supportedVersions": _spoken(oldest)})


@cache
def _spoken(oldest: str) -> tuple[str, ...]:
    return SPEC_VERSIONS[SPEC_VERSIONS.index(oldest) :]


def _cni_error(call: CniCall, message: str, code: int, details: str = "") -> CniError:
    return CniError(
        message, code=code, details=details, plugin=call.plugin, command=str(call.command)
    )
