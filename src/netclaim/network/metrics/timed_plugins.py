"""Plugins whose calls are timed.

Promise: the types that run in process have their names as labels; a type that a program serves is
`program`, whatever a claim calls it, so that claims do not make series. Limit: a plugin that
another one calls for addresses is part of that one's time.
"""

from collections.abc import Callable, Collection

from netclaim.cni import CniCall, Plugins, Result
from netclaim.framework.telemetry import span
from netclaim.network.metrics.table import PLUGIN_SECONDS, PROGRAM


class TimedPlugins:
    """Plugins whose calls are timed."""

    def __init__(
        self,
        plugins: Plugins,
        driver: str,
        *,
        in_process: Collection[str],
        monotonic: Callable[[], float],
    ) -> None:
        """`in_process` are the types that have a name of their own."""
        self.seconds = PLUGIN_SECONDS.histogram()
        self._plugins = plugins
        self._driver = driver
        self._in_process = frozenset(in_process)
        self._monotonic = monotonic

    async def run(self, call: CniCall) -> Result | None:
        """Have the call served, and take the time."""
        plugin = call.plugin if call.plugin in self._in_process else PROGRAM
        outcome = "error"
        started_s = self._monotonic()
        try:
            with span(f"{call.plugin} {call.command}", plugin=call.plugin):
                result = await self._plugins.run(call)
            outcome = "ok"
            return result
        finally:
            took_s = self._monotonic() - started_s
            self.seconds.labels(self._driver, plugin, call.command, outcome).observe(took_s)
