"""Our plugins as programs: `python -m netclaim.plugins TYPE`, called as the specification says.

Promise: for a runtime it is the reference program of that type: environment, standard input and
output, exit status, error codes.
Limit: starts a Python for each call. The driver calls the same code in its own process.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec
import structlog

from netclaim.cni import CniArgs, CniCall, CniError, Command, Endpoint, ExecPlugins, Result
from netclaim.cni.frozen_json import FrozenObject, decode_json
from netclaim.cni.version import LATEST, SPEC_VERSIONS
from netclaim.errors import NetclaimError, RequestError
from netclaim.plugins.engine.engine import spoken_versions
from netclaim.plugins.engine.errors import BAD_ENVIRONMENT, INTERNAL, UNDECODABLE, PluginError
from netclaim.plugins.registry import (
    IPAM_CLASSES,
    PLUGIN_CLASSES,
    PLUGIN_TYPES,
    in_process_plugins,
)

ENDPOINT = ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME")
ATTACHING = frozenset({Command.ADD, Command.CHECK, Command.DEL})
PLUGIN_S = 60.0  # how long a program that ours calls may run; who called us has a limit of its own


def main(arguments: list[str], environment: Mapping[str, str]) -> int:
    """Serve one call; returns the exit status."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    if len(arguments) != 1 or arguments[0] not in PLUGIN_TYPES:
        known = "|".join(sorted(PLUGIN_TYPES))
        sys.stderr.write(f"usage: python -m netclaim.plugins {known}\n")
        return 2
    if not environment.get("CNI_COMMAND"):
        versions = ", ".join(SPEC_VERSIONS)
        sys.stderr.write(f"netclaim's CNI plugin {arguments[0]}; speaks CNI {versions}\n")
        return 0
    try:
        output = _serve(arguments[0], environment)
    except NetclaimError as error:
        sys.stdout.buffer.write(_error(error))
        return 1
    sys.stdout.buffer.write(output)
    return 0


def _serve(plugin: str, environment: Mapping[str, str]) -> bytes:
    """Serve the call and return what to print."""
    said = environment["CNI_COMMAND"]
    if said not in set(Command):
        raise PluginError(f"unknown CNI_COMMAND: {said}", code=BAD_ENVIRONMENT)
    command = Command(said)
    if command is Command.VERSION:
        spoken = spoken_versions({**PLUGIN_CLASSES, **IPAM_CLASSES}[plugin].oldest)
        return msgspec.json.encode({"cniVersion": LATEST, "supportedVersions": spoken})
    call = _call(command, plugin, environment)
    result = asyncio.run(_run(call, environment))
    return result.printed(call.version) if result is not None else b""


async def _run(call: CniCall, environment: Mapping[str, str]) -> Result | None:
    override = environment.get("CNI_NETNS_OVERRIDE", "").upper() in {"1", "TRUE"}
    programs = ExecPlugins(inherited=environment, deadline_s=PLUGIN_S)
    return await in_process_plugins(programs, in_host_netns=override)[call.plugin].run(call)


def _call(command: Command, plugin: str, environment: Mapping[str, str]) -> CniCall:
    """Read the call that the environment and standard input describe."""
    needed = ["CNI_PATH", *(ENDPOINT if command in ATTACHING else ())]
    missing = [
        name
        for name in needed
        if not environment.get(name) and (name, command) != ("CNI_NETNS", Command.DEL)
    ]
    if missing:
        raise PluginError(
            f"these variables are missing: {', '.join(missing)}", code=BAD_ENVIRONMENT
        )
    endpoint = _endpoint(environment) if command in ATTACHING else None
    path = tuple(environment["CNI_PATH"].split(os.pathsep))
    return CniCall(command, plugin, path, read_config(sys.stdin.buffer.read()), endpoint)


def read_config(text: bytes) -> FrozenObject:
    """Read a configuration from its JSON text."""
    try:
        config = decode_json(text)
    except (ValueError, RecursionError) as error:
        raise PluginError(f"the configuration is not JSON: {error}", code=UNDECODABLE) from error
    if not isinstance(config, FrozenObject):
        raise PluginError("the configuration is not a network configuration", code=UNDECODABLE)
    return config


def _endpoint(environment: Mapping[str, str]) -> Endpoint:
    args = _args(environment.get("CNI_ARGS", ""))
    try:
        container_id, netns, ifname = (environment.get(name, "") for name in ENDPOINT)
        return Endpoint(container_id, netns, ifname, args)
    except RequestError as error:
        raise PluginError(str(error), code=BAD_ENVIRONMENT) from error


def _args(written: str) -> CniArgs:
    pairs: list[tuple[str, str]] = []
    for pair in written.split(";") if written else []:
        key, equals, value = pair.partition("=")
        if not equals or "=" in value:
            raise PluginError(f"CNI_ARGS: {pair!r} is not KEY=VALUE")
        pairs.append((key, value))
    return tuple(pairs)


def _error(error: NetclaimError) -> bytes:
    """Write an error as plugins print it."""
    code = error.code if isinstance(error, CniError | PluginError) else INTERNAL
    message = error.msg if isinstance(error, CniError) else str(error)
    written: dict[str, Any] = {"cniVersion": SPEC_VERSIONS[-1], "code": code, "msg": message}
    if isinstance(error, CniError | PluginError) and error.details:
        written["details"] = error.details
    return msgspec.json.encode(written)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
