"""Calls of plugins that need nothing but a directory: address management."""

import json
from pathlib import Path
from typing import Any

from netclaim.cni import CniCall, CniError, Command, Endpoint, Plugins
from netclaim.plugins import in_process_plugins


class NoPrograms:
    """A machine without plugin programs."""

    async def run(self, call: CniCall) -> bytes:
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
    written = json.dumps({"name": "net", "cniVersion": version} | config)
    endpoint = Endpoint(container_id, "", ifname) if about_one else None
    return CniCall(Command(command), config.get("type", ""), (), written.encode(), endpoint)


def host_local(directory: Path, *sets: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    """Configure host-local with its leases in a directory."""
    ipam = {"type": "host-local", "dataDir": str(directory), "ranges": list(sets)}
    return {"type": "host-local", "ipam": ipam} | more
