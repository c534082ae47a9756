"""Calls of plugins are timed by type, command and outcome; claims do not make series."""

from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from netclaim.cni import CniCall, CniError, Command, Result
from netclaim.network.metrics.timed_plugins import TimedPlugins


class Plugins:
    """Serve every call, but for those of `broken`."""

    async def run(self, call: CniCall) -> Result | None:
        """Nothing, or an error."""
        if call.plugin == "broken":
            raise CniError("no", plugin=call.plugin, command=call.command)
        return Result()


def timed() -> TimedPlugins:
    """Plugins on a clock that goes on by a second at each look."""
    ticks: Iterator[int] = iter(range(1000))
    return TimedPlugins(
        Plugins(), "d", in_process={"macvlan"}, monotonic=lambda: float(next(ticks))
    )


def counts(plugins: TimedPlugins) -> dict[str, str]:
    """How often each plugin was called: its labels, and the number."""
    registry = CollectorRegistry()
    registry.register(plugins.seconds)
    lines = generate_latest(registry).decode().splitlines()
    named = "netclaim_plugin_seconds_count{"
    found = (line.removeprefix(named).split("} ") for line in lines if line.startswith(named))
    return {labels.replace('driver="d",', ""): value for labels, value in found}


async def test_types_and_outcomes() -> None:
    """Types in process have their names, all others are programs."""
    plugins = timed()
    for kind in ("macvlan", "macvlan", "my-own-plugin", "another"):
        assert await plugins.run(CniCall(Command.ADD, kind, (), {})) == Result()
    with pytest.raises(CniError):
        await plugins.run(CniCall(Command.DEL, "broken", (), {}))
    assert counts(plugins) == {
        'command="ADD",outcome="ok",plugin="macvlan"': "2.0",
        'command="ADD",outcome="ok",plugin="program"': "2.0",
        'command="DEL",outcome="error",plugin="program"': "1.0",
    }
