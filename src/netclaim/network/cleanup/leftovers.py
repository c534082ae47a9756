"""Leftovers: what plugins and the driver keep on the node that nothing that lives explains.

    result        the result of an ADD whose sandbox is gone: its DEL is due
    lent-link     a link that our host-device lent to such a sandbox
    lease         an address that host-local leased to such a sandbox, in a store of this driver
    tuning        how a link of such a sandbox was before it was tuned
    lent-device   the note that a claim, which is not prepared, took devices away

Promise: looks below the driver's own directories only, at regular files older than a minute. A
sandbox is gone if the runtime does not run it and its namespace is not there, as far as that is
known; where the runtime could not be asked, what does not name its namespace stays. A DEL that
fails is due again in the next round, and given up after an hour.
Limit: a DEL is all that is done about a result; what its plugins do is theirs. Threads look at the
files, since tenants decide how many there are.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import structlog

from netclaim.cni import AttachmentKey, Chain, NetworkList, decode_network
from netclaim.cni.cache import CachedAttachment
from netclaim.errors import HostError, NetclaimError
from netclaim.model import Leftover, Living
from netclaim.network.links.node.node_links import NodeLinks
from netclaim.network.links.remembered.lent import LentDevices
from netclaim.network.plugin_files import PluginFiles
from netclaim.network.request.into_config.link_keys import linked_names, moves_link
from netclaim.plugins.host_device.handed_over import Programs
from netclaim.plugins.host_device.homecoming import bring_home
from netclaim.plugins.host_device.lent_links import LentLinks
from netclaim.plugins.host_local.lease_files import Leases
from netclaim.plugins.host_local.lease_store import LeaseStore

log = structlog.get_logger(__name__)

YOUNG_S: Final = 60.0  # as the framework has it: of a call under way, or not listed yet
GIVE_UP_S: Final = 3600.0  # long enough for somebody to read the log and mend a plugin
LOCK_S: Final = 1.0  # for a store that others are at; it is looked at again in ten minutes

ResultKey: TypeAlias = tuple[str, AttachmentKey]  # the network's name, and whose


@dataclass(slots=True)
class Leftovers:
    """What finds leftovers and removes them."""

    chain: Chain
    files: PluginFiles
    lent: LentDevices
    lent_links: LentLinks
    links: NodeLinks
    threads: Executor  # for large stores
    now: Callable[[], float]  # in seconds since 1970
    _programs: Programs = field(default_factory=Programs, init=False)
    _failing: dict[ResultKey, float] = field(default_factory=dict)  # DELs, and since when

    async def find(self, living: Living) -> tuple[Leftover, ...]:
        """Find all; results first, whose DEL removes most of the others."""
        return (
            *await asyncio.to_thread(self._of_sandboxes, living),
            *[each async for each in self._leases(living)],
            *await asyncio.to_thread(lambda: [*self._tunings(living), *self._notes(living)]),
        )

    async def remove(self, leftover: Leftover) -> None:
        """Remove one; may be repeated."""
        memo = leftover.memo
        match leftover.kind:
            case "result":
                await self._delete(memo["network"], AttachmentKey(*memo["key"]))
            case "lent-link":
                key = AttachmentKey(*memo["key"])
                await bring_home(memo["netns"], key, self.lent_links, self._programs)
            case "lease":
                await self._release(Path(memo["store"]), memo["address"], leftover.sandbox_id)
            case "tuning":
                _unlink(Path(memo["path"]))
            case "lent-device":
                self.lent.drop(leftover.claim_uid)

    def _of_sandboxes(self, living: Living) -> list[Leftover]:
        results = list(self._results(living))
        return [*results, *self._lent_links(living, results)]

    def _results(self, living: Living) -> Iterator[Leftover]:
        for entry in self.chain.cache.entries():
            key = entry.endpoint.key
            written = self.chain.cache.written(entry.network_name, key)
            if self._is_old(written) and self._is_gone(living, key.container_id, entry.netns):
                yield Leftover(
                    "result",
                    f"interface {key.ifname} of network {entry.network_name} "
                    f"in sandbox {key.container_id}",
                    sandbox_id=key.container_id,
                    memo={"network": entry.network_name, "key": list(key)},
                )

    def _lent_links(self, living: Living, results: list[Leftover]) -> Iterator[Leftover]:
        due = {tuple(each.memo["key"]) for each in results}
        for lent in self.lent_links.all():
            old = self._is_old(self.lent_links.written(lent.key))
            gone = self._is_gone(living, lent.container_id, lent.netns)
            if lent.key not in due and old and gone:
                yield Leftover(
                    "lent-link",
                    f"link {lent.name}, lent to sandbox {lent.container_id} as {lent.ifname}",
                    sandbox_id=lent.container_id,
                    memo={"netns": lent.netns, "key": list(lent.key)},
                )

    async def _leases(self, living: Living) -> AsyncIterator[Leftover]:
        for store in await asyncio.to_thread(self.files.stores):
            try:
                held = await self._store(store).transact(_written)
            except NetclaimError as error:
                log.warning("collect.store_skipped", store=str(store), error=str(error))
                continue
            for address, (sandbox_id, written) in sorted(held.items()):
                if sandbox_id and self._is_old(written) and living.may_run(sandbox_id) is False:
                    yield Leftover(
                        "lease",
                        f"address {address} of network {store.name}, "
                        f"leased to sandbox {sandbox_id} ({store / address})",
                        sandbox_id=sandbox_id,
                        memo={"store": str(store), "address": address},
                    )
            await asyncio.sleep(0)  # a node may have thousands of them

    def _tunings(self, living: Living) -> Iterator[Leftover]:
        if living.sandboxes is None:
            return
        for directory in self.files.tunings():
            for name in _names(directory, ".json"):
                if any(each in living.sandboxes for each in _containers(name)):
                    continue
                path = directory / name
                if self._is_old(_mtime(path)):
                    what = f"saved settings of a link that was tuned ({path})"
                    yield Leftover("tuning", what, memo={"path": str(path)})

    def _notes(self, living: Living) -> Iterator[Leftover]:
        for claim_uid, written in self.lent.notes().items():
            if claim_uid not in living.claims and self._is_old(written):
                what = f"record of devices lent to claim {claim_uid}"
                yield Leftover("lent-device", what, claim_uid=claim_uid)

    def _is_old(self, written: float | None) -> bool:
        return written is not None and written < self.now() - YOUNG_S

    def _is_gone(self, living: Living, sandbox_id: str, netns: str) -> bool:
        return not living.may_run(sandbox_id) and not self.chain.netns_alive(netns)

    async def _delete(self, network_name: str, key: AttachmentKey) -> None:
        """Have what the cache knows of an ADD undone."""
        entry = self.chain.cache.load(network_name, key)
        if entry is None:
            return
        try:
            await self._undo(entry)
        except NetclaimError as error:
            since = self._failing.setdefault((network_name, key), self.now())
            if self.now() - since < GIVE_UP_S:
                raise
            self._give_up(network_name, key, error)
        self._failing.pop((network_name, key), None)

    async def _undo(self, entry: CachedAttachment) -> None:
        network = decode_network(entry.config)
        try:
            await self.chain.delete(network, entry.endpoint)
        finally:
            await self._restore(network)

    def _give_up(self, network_name: str, key: AttachmentKey, error: NetclaimError) -> None:
        at = {"network": network_name, "sandbox": key.container_id, "ifname": key.ifname}
        log.error("collect.given_up", error=str(error), **at)
        self.chain.cache.drop(network_name, key)

    async def _restore(self, network: NetworkList) -> None:
        """Give a link that came back from a pod its name, as after any DEL."""
        if moves_link(network):
            for name in linked_names(network):
                await self.links.restore(name, up=False)

    async def _release(self, store: Path, address: str, sandbox_id: str) -> None:
        def release(leases: Leases) -> None:
            holder = leases.holders().get(address)
            if holder is not None and holder.container_id == sandbox_id:
                leases.remove(address)

        if _mtime(store) is not None:  # else it was forgotten meanwhile, and would be made anew
            await self._store(store).transact(release)

    def _store(self, path: Path) -> LeaseStore:
        return LeaseStore(str(path), self.threads, lock_s=LOCK_S)


def _written(leases: Leases) -> dict[str, tuple[str, float | None]]:
    """Who has each address, and since when."""
    written: dict[str, tuple[str, float | None]] = {}
    for name, holder in leases.holders().items():
        try:
            status = os.stat(name, dir_fd=leases.directory, follow_symlinks=False)
        except OSError:
            continue
        written[name] = holder.container_id, status.st_mtime
    return written


def _names(directory: Path, suffix: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return sorted([entry.name for entry in entries if entry.name.endswith(suffix)])
    except OSError:  # gone meanwhile, or not to be read, which who writes there says
        return []


def _containers(name: str) -> Iterator[str]:
    """What may be the container of CONTAINER_IFNAME.json, where both may hold the separator."""
    position = name.find("_")
    while position >= 0:
        yield name[:position]
        position = name.find("_", position + 1)


def _mtime(path: Path) -> float | None:
    try:
        return path.lstat().st_mtime
    except OSError:
        return None


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise HostError(f"cannot remove {path}: {error.strerror}") from error
