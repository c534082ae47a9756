"""Plugins in process beside the reference programs: the same calls, in turn, in one run.

    python -m benchmarks.bench_plugins [POD_COUNT]

For each plugin, every pod is attached and detached once in each way, one after the other and then
ten at a time. CPU is that of this process and of the programs it starts. The bare messages are what
a macvlan takes at least: a socket in the namespace of the pod and the same netlink messages, but no
lease, configuration, sysctl or result. Runs in namespaces of its own, which end with it.
"""

import asyncio
import ipaddress
import os
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.own_node import build_node, is_inside, run_inside
from benchmarks.table import Row, percentile, print_table
from lab.parts.binaries import CNI_PLUGINS, Binaries
from lab.progress import Progress
from netclaim.cni import CniCall, Command, Endpoint, ExecPlugins, Plugins
from netclaim.kernel import Rtnl, open_netns
from netclaim.kernel.requests.ip import add_address
from netclaim.kernel.requests.links import (
    IFINFOMSG,
    create_link,
    get_link,
    macvlan,
    set_link,
)
from netclaim.kernel.state.removal import remove_link
from netclaim.plugins import in_process_plugins

__all__ = ["main"]

PODS = 100
AT_ONCE = 10
ADDRESS = ipaddress.ip_interface("10.60.0.2/16")
CONFIGS: dict[str, dict[str, Any]] = {
    "macvlan": {"master": "eth1"},
    "bridge": {"bridge": "br0", "isGateway": True},
    "ptp": {},
}


@dataclass(slots=True)
class Costs:
    """What one way of serving took, in seconds."""

    adds: list[float] = field(default_factory=list)
    dels: list[float] = field(default_factory=list)
    burst_adds: list[float] = field(default_factory=list)
    burst: float = 0.0
    cpu: float = 0.0


@dataclass(frozen=True, slots=True)
class Way:
    """One way of serving a plugin type, with leases of its own."""

    plugins: Plugins
    plugin_type: str
    config: dict[str, Any]
    path: tuple[str, ...]
    prefix: str  # of container ids
    costs: Costs

    async def call(self, command: Command, pod: int) -> float:
        """Make one call; returns how long it took."""
        endpoint = Endpoint(f"{self.prefix}{pod}", f"/run/netns/pod{pod}", "net1")
        call = CniCall(command, self.plugin_type, self.path, self.config, endpoint)
        started = time.perf_counter()
        await self.plugins.run(call)
        return time.perf_counter() - started


def cpu_seconds() -> float:
    """Return the CPU that we and our children have used so far."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


async def in_turn(ways: list[Way], pods: int, bare: list[float]) -> None:
    """Attach and detach one pod after the other, in each way and by bare messages."""
    for pod in range(pods):
        for way in ways:
            before = cpu_seconds()
            way.costs.adds.append(await way.call(Command.ADD, pod))
            way.costs.dels.append(await way.call(Command.DEL, pod))
            way.costs.cpu += cpu_seconds() - before
        bare.append(await bare_messages(pod))


async def bare_messages(pod: int) -> float:
    """Make a macvlan by the messages alone: ask for its master, make it, ask, address and up."""
    path = f"/run/netns/pod{pod}"
    with Rtnl.open() as host:
        started = time.perf_counter()
        with open_netns(path) as netns, Rtnl.open(netns) as inside:
            (master,) = await host.call(get_link("eth1"))
            parent = IFINFOMSG.unpack_from(master.payload)[2]
            await host.call(create_link("net1", macvlan(), parent_index=parent, netns_fd=netns.fd))
            (made,) = await inside.call(get_link("net1"))
            index = IFINFOMSG.unpack_from(made.payload)[2]
            await inside.batch([add_address(index, ADDRESS), set_link(index, up=True)])
            taken = time.perf_counter() - started
            await remove_link(netns, "net1")
    return taken


async def at_once(way: Way, pods: int) -> None:
    """Attach all pods, some at a time; then detach them."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(command: Command, pod: int) -> float:
        async with turns:
            return await way.call(command, pod)

    started = time.perf_counter()
    way.costs.burst_adds += await asyncio.gather(*(one(Command.ADD, n) for n in range(pods)))
    way.costs.burst = time.perf_counter() - started
    await asyncio.gather(*(one(Command.DEL, pod) for pod in range(pods)))


async def measure(pods: int) -> None:
    """Measure each plugin in both ways, and print."""
    path = Binaries(Progress()).path(CNI_PLUGINS)
    build_node(*(f"pod{pod}" for pod in range(pods)))
    programs = ExecPlugins(inherited=os.environ, deadline_s=60.0)
    with tempfile.TemporaryDirectory() as directory:
        own = in_process_plugins(programs, state_dir=Path(directory))
        for number, (plugin_type, keys) in enumerate(CONFIGS.items()):
            servers = {"exec": programs, "own": own[plugin_type]}
            ways = [
                Way(
                    plugins,
                    plugin_type,
                    _config(plugin_type, keys, f"{directory}/{name}", number),
                    (str(path),),
                    name,
                    Costs(),
                )
                for name, plugins in servers.items()
            ]
            bare: list[float] = []
            await in_turn(ways, pods, bare)
            for way in ways:
                await at_once(way, pods)
            _print(plugin_type, ways[0].costs, ways[1].costs, bare)


def _config(plugin_type: str, keys: dict[str, Any], store: str, number: int) -> dict[str, Any]:
    subnet = f"10.{50 + number}.0.0/16"
    ipam = {"type": "host-local", "dataDir": store, "ranges": [[{"subnet": subnet}]]}
    config = {"cniVersion": "1.0.0", "name": f"bench-{plugin_type}", "type": plugin_type}
    return config | keys | {"ipam": ipam}


def _print(plugin_type: str, program: Costs, own: Costs, bare: list[float]) -> None:
    goal = "at least 8" if plugin_type == "macvlan" else ""
    rows = [
        Row("ADD by exec, p50 / p99", _ms(program.adds)),
        Row("ADD in process, p50 / p99", _ms(own.adds)),
        Row("exec / in process, p50", _ratio(program.adds, own.adds), goal),
        Row("DEL by exec, p50 / p99", _ms(program.dels)),
        Row("DEL in process, p50 / p99", _ms(own.dels)),
        Row("exec / in process, p50", _ratio(program.dels, own.dels)),
        Row(f"ADD by exec, {AT_ONCE} at once, p50 / p99", _ms(program.burst_adds)),
        Row(f"ADD in process, {AT_ONCE} at once, p50 / p99", _ms(own.burst_adds)),
        Row("exec / in process, p50", _ratio(program.burst_adds, own.burst_adds), goal),
        Row("the whole burst, exec / in process", f"{program.burst / own.burst:.1f}"),
        Row(f"CPU of {len(own.adds)} ADD and DEL by exec", f"{program.cpu:.2f} s"),
        Row(f"CPU of {len(own.adds)} ADD and DEL in process", f"{own.cpu:.2f} s"),
        Row(
            "exec / in process",
            f"{program.cpu / own.cpu:.1f}",
            "at least 10" if plugin_type == "macvlan" else "",
        ),
    ]
    if plugin_type == "macvlan":
        rows += [
            Row("the bare netlink messages of an ADD, p50 / p99", _ms(bare)),
            Row("ADD in process / bare messages, p50", _ratio(own.adds, bare), "at most 2"),
        ]
    print_table(f"{plugin_type} + host-local", rows)


def _ms(values: list[float]) -> str:
    return f"{1000 * percentile(values, 0.5):.2f} / {1000 * percentile(values, 0.99):.2f} ms"


def _ratio(first: list[float], second: list[float]) -> str:
    return f"{percentile(first, 0.5) / percentile(second, 0.5):.1f}"


def main() -> None:
    """Enter namespaces of our own, then measure."""
    if is_inside():
        asyncio.run(measure(int(sys.argv[-1])))
        return
    pods = sys.argv[1] if sys.argv[1:] and sys.argv[1].isdecimal() else str(PODS)
    run_inside("bench_plugins", pods)


if __name__ == "__main__":
    main()
