"""Call CNI's GC: list for a network's plugins what is attached, so that they drop the rest.

Promise: only for networks that the driver has attached, of CNI 1.1.0, and only while no ADD of
theirs is under way. A plugin may keep its books by the network's name alone, so the list holds all
that the driver attached under that name; and where somebody else has attached a network of that
name, such as the runtime its primary one, no plugin is called: it would take theirs for leftovers.
Limit: what a plugin does about it is its own affair; one that fails is logged and asked again.
"""

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from netclaim.cni import AttachmentKey, Chain, NetworkList, decode_network
from netclaim.cni.version import LATEST, at_least
from netclaim.errors import NetclaimError, RequestError
from netclaim.model import Living
from netclaim.network.cleanup.gate import NetworkGate
from netclaim.network.plan.interface_plan import read_plan

log = structlog.get_logger(__name__)

# Pods of the network that start meanwhile wait so long, as their hook can; a program takes 10 ms.
GC_S: Final = 1.0


def result_names(directories: Iterable[Path]) -> frozenset[str]:
    """The names of the files in which others keep their CNI results: NETWORK-CONTAINER-IFNAME."""
    names: set[str] = set()
    for directory in directories:
        try:
            with os.scandir(directory) as entries:
                names |= {entry.name for entry in entries}
        except FileNotFoundError:
            continue
    return frozenset(names)


@dataclass(frozen=True, slots=True)
class PluginGc:
    """Calls GC of every network in turn."""

    chain: Chain
    gate: NetworkGate
    others: Callable[[], frozenset[str]]  # file names of others' CNI results; OSError: unknown

    async def collect(self, living: Living) -> None:
        """Call GC for all networks that are attached."""
        try:
            others = self.others()
        except OSError as error:
            log.warning("gc.skipped", error=f"cannot read what others have attached: {error}")
            return
        for name, networks in self._networks(living).items():
            if any(each.startswith(f"{name}-") for each in others):
                log.info("gc.skipped", network=name, error="others have a network of this name")
                continue
            with self.gate.alone(name) as alone:
                if alone:
                    await self._call(networks, self._valid(name, living))

    async def _call(self, networks: Iterable[NetworkList], valid: frozenset[AttachmentKey]) -> None:
        for network in networks:
            try:
                async with asyncio.timeout(GC_S):
                    await self.chain.gc(network, valid)
            except TimeoutError:
                log.warning(
                    "gc.failed", network=network.name, error=f"not finished within {GC_S:g} s"
                )
            except NetclaimError as error:
                log.warning("gc.failed", network=network.name, error=str(error))

    def _networks(self, living: Living) -> Mapping[str, Iterable[NetworkList]]:
        """The networks to call GC for, by name: one of those that keep their files alike."""
        shapes: defaultdict[str, dict[tuple[Any, ...], NetworkList]] = defaultdict(dict)
        for network in self._attached(living):
            if at_least(network.version, LATEST) and not network.disable_gc:
                shapes[network.name].setdefault(_shape(network), network)
        return {name: tuple(by_shape.values()) for name, by_shape in shapes.items()}

    def _attached(self, living: Living) -> Iterator[NetworkList]:
        for attachment in living.attachments:
            yield read_plan(attachment.plan).network_to_undo
        for entry in self.chain.cache.entries():
            with suppress(RequestError):  # of a driver with other rules; its DEL is due some day
                yield decode_network(entry.config)

    def _valid(self, name: str, living: Living) -> frozenset[AttachmentKey]:
        """What is attached under a name, and what still has to be detached."""
        planned = ((each.pod.id, read_plan(each.plan)) for each in living.attachments)
        known = {
            AttachmentKey(sandbox_id, interface.if_name)
            for sandbox_id, interface in planned
            if interface.network_to_undo.name == name
        }
        entries = self.chain.cache.entries()
        return frozenset(known | {e.endpoint.key for e in entries if e.network_name == name})


def _shape(network: NetworkList) -> tuple[Any, ...]:
    """What a plugin's books may depend on: its type, and where it keeps them."""
    configs = ((plugin, plugin.config) for plugin in network.plugins)
    return tuple(
        (
            plugin.type,
            config.get("dataDir"),
            plugin.ipam_type,
            (config.get("ipam") or {}).get("dataDir"),
        )
        for plugin, config in configs
    )
