"""What the network driver counts beyond what every driver does, and plugins that are timed.

`METRICS` declares it, as the framework's table does for its own. Promise: the types that run in
process have their names as labels; a type that a program serves is `program`, whatever a claim
calls it, so that claims do not make series. Limit: a plugin that another one calls for addresses is
part of that one's time.
"""

from collections.abc import Callable, Collection
from typing import Final

from prometheus_client import Histogram

from netclaim.cni import CniCall, Command, Plugins
from netclaim.framework.metric_table import OUTCOMES, Declared
from netclaim.framework.metrics import BUCKETS_S
from netclaim.framework.traces import span
from netclaim.plugins import PLUGIN_TYPES

__all__ = [
    "ADDRESSES",
    "CARRIER_LOSSES",
    "LIMITS_RESTORED",
    "LINK_ATTACHMENTS",
    "LINK_BANDWIDTH",
    "METRICS",
    "PLUGIN_SECONDS",
    "SLOT_DEVICES",
    "TimedPlugins",
]

PROGRAM: Final = "program"

PLUGIN_SECONDS: Final = Declared(
    "netclaim_plugin_seconds",
    "histogram",
    "Time of one call of a CNI plugin.",
    {
        "plugin": (*sorted(PLUGIN_TYPES), PROGRAM),
        "command": tuple(map(str, Command)),
        **OUTCOMES,
    },
)
ADDRESSES: Final = Declared(
    "netclaim_network_addresses",
    "gauge",
    "Addresses of a network that `host-local` has leased on this node, or could still lease.",
    {
        "network": "`NAMESPACE/NETWORK` for a claim's network, `NETWORK` for a class's; "
        "`(other)` for all beyond 16 of a namespace, or 64",
        "family": ("ipv4", "ipv6"),
        "state": ("used", "free"),
    },
)
CARRIER_LOSSES: Final = Declared(
    "netclaim_carrier_losses_total",
    "counter",
    "Times that a link which is offered lost its carrier.",
)
LINK: Final = {"link": "the link's name on the node"}
LINK_ATTACHMENTS: Final = Declared(
    "netclaim_link_attachments",
    "gauge",
    "Interfaces that pods have of a link.",
    LINK,
)
LINK_BANDWIDTH: Final = Declared(
    "netclaim_link_limits_bits_per_second",
    "gauge",
    "The sum of the bandwidths that the interfaces of a link are limited to.",
    LINK,
)
LIMITS_RESTORED: Final = Declared(
    "netclaim_limits_restored_total",
    "counter",
    "Limits of interfaces that somebody in the pod had removed, and that were put back.",
)
SLOT_DEVICES: Final = Declared(
    "netclaim_slot_devices",
    "gauge",
    "Devices that are slots of links. More than 0 where the API server drops what makes a link "
    "shareable: the cluster lacks DRAConsumableCapacity.",
)
METRICS: Final = (
    PLUGIN_SECONDS,
    ADDRESSES,
    CARRIER_LOSSES,
    SLOT_DEVICES,
    LINK_ATTACHMENTS,
    LINK_BANDWIDTH,
    LIMITS_RESTORED,
)


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
        each = PLUGIN_SECONDS
        self.seconds = Histogram(
            each.name, each.text, each.label_names, buckets=BUCKETS_S, registry=None
        )
        self._plugins = plugins
        self._driver = driver
        self._in_process = frozenset(in_process)
        self._monotonic = monotonic

    async def run(self, call: CniCall) -> bytes:
        """Have the call served, and take the time."""
        plugin = call.plugin if call.plugin in self._in_process else PROGRAM
        outcome = "error"
        started_s = self._monotonic()
        try:
            with span(f"{call.plugin} {call.command}", plugin=call.plugin):
                output = await self._plugins.run(call)
            outcome = "ok"
            return output
        finally:
            took_s = self._monotonic() - started_s
            self.seconds.labels(self._driver, plugin, call.command, outcome).observe(took_s)
