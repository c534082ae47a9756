"""Call CNI's GC: list for a network's plugins what is attached, so that they drop the rest.

Promise: only for networks that the driver has attached, of CNI 1.1.0, and only while no ADD of
theirs is under way. A plugin may keep its books by the network's name alone, so the list holds all
that the driver attached under that name; and where somebody else has attached a network of that
name, such as the runtime its primary one, no plugin is called: it would take theirs for leftovers.
What is attached is read once for all networks, in a thread: a tenant decides how many there are.
Limit: what a plugin does about it is its own affair; one that fails is logged and asked again.
"""

import asyncio
import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

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


# What a plugin's books may depend on: its type, where it keeps them, and the same of its ipam.
Books: TypeAlias = tuple[object, ...]


@dataclass(slots=True)
class _Attached:
    """What is attached under a name, or still has to be detached."""

    keys: set[AttachmentKey] = field(default_factory=set)
    networks: list[NetworkList] = field(default_factory=list)  # whose GC covers all books
    _covered: set[Books] = field(default_factory=set)

    def add(self, network: NetworkList) -> None:
        """Have a network's GC called unless those of others cover its plugins' books."""
        books = set(_books(network))
        if not books <= self._covered:
            self._covered |= books
            self.networks.append(network)


@dataclass(frozen=True, slots=True)
class PluginGc:
    """Calls GC of every network in turn."""

    chain: Chain
    gate: NetworkGate
    others: Callable[[], frozenset[str]]  # file names of others' CNI results; OSError: unknown

    async def collect(self, living: Living) -> None:
        """Call GC for all networks that are attached."""
        with self.gate.noting() as noted:
            try:
                others, attached = await asyncio.to_thread(self._look, living)
            except OSError as error:
                log.warning("gc.skipped", error=f"cannot read what others have attached: {error}")
                return
            for name, known in attached.items():
                if not known.networks:
                    continue
                if _has_prefix(others, f"{name}-"):
                    log.info("gc.skipped", network=name, error="others have a network of this name")
                    continue
                with self.gate.alone(name) as alone:
                    if alone:
                        await self._call(known.networks, known.keys | noted.get(name, set()))
                await asyncio.sleep(0)  # hooks have their turn, where no plugin is a program

    async def _call(
        self, networks: Iterable[NetworkList], valid: Collection[AttachmentKey]
    ) -> None:
        for network in networks:
            try:
                async with asyncio.timeout(GC_S):
                    await self.chain.gc_plugins(network, valid)
            except TimeoutError:
                log.warning(
                    "gc.failed", network=network.name, error=f"not finished within {GC_S:g} s"
                )
            except NetclaimError as error:
                log.warning("gc.failed", network=network.name, error=str(error))

    def _look(self, living: Living) -> tuple[Sequence[str], Mapping[str, _Attached]]:
        """The sorted file names of others' results, and what is attached under each name."""
        attached: defaultdict[str, _Attached] = defaultdict(_Attached)
        for key, name, network in self._attached(living):
            attached[name].keys.add(key)
            if network and at_least(network.version, LATEST) and not network.disable_gc:
                attached[network.name].add(network)
        return sorted(self.others()), attached

    def _attached(self, living: Living) -> Iterator[tuple[AttachmentKey, str, NetworkList | None]]:
        for each in living.attachments:
            interface = read_plan(each.plan)
            network = interface.network_to_undo
            yield AttachmentKey(each.pod.id, interface.if_name), network.name, network
        for entry in self.chain.cache.entries():
            decoded: NetworkList | None = None
            with suppress(RequestError):  # of a driver with other rules; its DEL is due some day
                decoded = decode_network(entry.config)
            yield entry.endpoint.key, entry.network_name, decoded


def _has_prefix(names: Sequence[str], prefix: str) -> bool:
    """Whether one of these sorted names begins like this."""
    position = bisect_left(names, prefix)
    return position < len(names) and names[position].startswith(prefix)


def _books(network: NetworkList) -> Iterator[Books]:
    for plugin in network.plugins:
        config = plugin.config
        ipam = config.get("ipam") or {}
        yield plugin.type, config.get("dataDir"), plugin.ipam_type, ipam.get("dataDir")
