"""What CNI's GC tells plugins is all that is attached, whatever begins meanwhile."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from netclaim.cni import Chain, CniCall, Endpoint, Result, ResultCache, parse_network
from netclaim.cni.call import Command
from netclaim.model import Living
from netclaim.network.cleanup.gate import NetworkGate
from netclaim.network.cleanup.plugin_gc import PluginGc


class Listened:
    """Plugins that do nothing but remember what GC lists, by network, and may do more."""

    def __init__(self) -> None:
        self.listed: dict[str, set[str]] = {}
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def run(self, call: CniCall) -> Result | None:
        """Remember."""
        if call.command is not Command.GC:
            return Result()
        config = json.loads(json.dumps(dict(call.config)))
        valid = config["cni.dev/valid-attachments"]
        self.listed[config["name"]] = {each["containerID"] for each in valid}
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        return None


async def test_what_is_attached_during_the_round_is_listed(tmp_path: Path) -> None:
    """A pod that starts after the list was made, and before its network's turn, keeps all."""
    plugins, gate = Listened(), NetworkGate()
    chain = Chain(plugins, ResultCache(tmp_path), (), lambda _: True)
    gc = PluginGc(chain, gate, frozenset)

    async def add(name: str, sandbox: str) -> None:
        network = parse_network({"cniVersion": "1.1.0", "name": name, "plugins": [{"type": "x"}]})
        endpoint = Endpoint(sandbox, "/x", "net1")
        async with gate.using(name, endpoint.key):
            await chain.add(network, endpoint)

    await add("a", "s1")
    await add("b", "s1")
    plugins.meanwhile = lambda: add("b", "s2")
    await gc.collect(Living())
    assert plugins.listed == {"a": {"s1"}, "b": {"s1", "s2"}}


async def test_an_add_that_began_before_the_round_is_listed(tmp_path: Path) -> None:
    """What was under way while the list was made counts when it has ended."""
    gate, key = NetworkGate(), Endpoint("s1", "/x", "net1").key
    ended = asyncio.Event()
    async with asyncio.TaskGroup() as group:

        async def add() -> None:
            async with gate.using("a", key):
                await ended.wait()

        task = group.create_task(add())
        await asyncio.sleep(0)
        with gate.noting() as noted:
            ended.set()
            await task
        assert noted == {"a": {key}}
