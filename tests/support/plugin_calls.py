"""Calls of plugins that need nothing but a directory: address management."""

import json
from pathlib import Path
from typing import Any

from netclaim.cni import CniCall, CniError, Command, Endpoint, ExecPlugins, Plugins, Result
from netclaim.cni.frozen_json import decode_json
from netclaim.plugins import in_process_plugins


class NoPrograms:
    """A machine without plugin programs."""

    async def run(self, call: CniCall) -> Result | None:
        """Fail, as a program would that is not what it should be."""
        raise CniError("no program here", plugin=call.plugin, command=call.command)


def server(plugin_type: str) -> Plugins:
    """Return the server of a plugin type, as a process has it when it starts."""
    return in_process_plugins(NoPrograms())[plugin_type]


def call_of(
    command: str,
    config: dict[str, Any],
    *,
    container_id: str = "c0ffee",
    ifname: str = "net1",
    version: str = "1.1.0",
) -> CniCall:
    """Write a call of the plugin that the configuration names."""
    about_one = command in {"ADD", "DEL", "CHECK"}
    written = decode_json(json.dumps({"name": "net", "cniVersion": version} | config))
    endpoint = Endpoint(container_id, "", ifname) if about_one else None
    return CniCall(Command(command), config.get("type", ""), (), written, endpoint)


async def printed(plugins: Plugins, call: CniCall) -> bytes:
    """Return what a plugin prints, or would print if it were a program."""
    if isinstance(plugins, ExecPlugins):
        return await plugins.output(call)
    result = await plugins.run(call)
    return result.printed(call.version) if result is not None else b""


def host_local(directory: Path, *sets: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    """Configure host-local with its leases in a directory."""
    ipam = {"type": "host-local", "dataDir": str(directory), "ranges": list(sets)}
    return {"type": "host-local", "ipam": ipam} | more
