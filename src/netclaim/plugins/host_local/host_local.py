"""host-local: addresses from ranges, kept on this host's disk.

Configuration: `ipam.ranges` (a list of sets of `subnet`, `rangeStart`, `rangeEnd`, `gateway`; one
address out of each set), or one range written flat; `routes`, `resolvConf`, `dataDir`. Addresses
can be asked for by capability (`ips`), in `args.cni.ips` and CNI_ARGS (IP); ranges by capability
(`ipRanges`).
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from netclaim.cni import DNS, AttachmentKey, IPConfig, Result
from netclaim.cni.conflist import PLAIN_NAME
from netclaim.kernel.requests.ip import IpAddress
from netclaim.plugins.engine.errors import ConfError, PluginError
from netclaim.plugins.engine.plugin import Asked, Invocation, Plugin
from netclaim.plugins.host_local.conf import (
    HostLocalConf,
    IpamKeys,
    StoreConf,
    read_host_local,
    refuse_ranges,
)
from netclaim.plugins.host_local.lease_files import Leases
from netclaim.plugins.host_local.lease_store import LOCK_S, LeaseStore
from netclaim.plugins.host_local.ranges import RangeSet
from netclaim.plugins.shared.name_servers import read_resolv_conf
from netclaim.plugins.shared.results import ip_config

T = TypeVar("T")

DATA_DIR: Final = "/var/lib/cni/networks"
# Threads for stores with many files: a second one, so that one slow disk does not hold up all.
STORE_THREADS: Final = 2
# And for resolvConf: a file system that never answers keeps a thread, and no store waits for it.
FILE_THREADS: Final = 2
RESOLV_CONF_S: Final = 2.0  # how long a file may take; a disk that has to wake up takes one


class HostLocal(Plugin):
    ipam_conf = IpamKeys

    @classmethod
    def refuse(cls, raw: Mapping[str, Any], asked: Asked) -> None:
        """Raise where the ranges, each sound by itself, do not go together."""
        refuse_ranges(raw, asked.version)

    def __init__(self, *, lock_s: float = LOCK_S) -> None:
        """`lock_s` is how long to wait for the lock of a network's leases."""
        self._lock_s = lock_s
        # One store for each network that is in use at this moment, for its turns.
        self._stores: WeakValueDictionary[str, LeaseStore] = WeakValueDictionary()
        self._store_threads = ThreadPoolExecutor(STORE_THREADS, "host-local-leases")
        self._file_threads = ThreadPoolExecutor(FILE_THREADS, "host-local-resolv-conf")

    async def add(self, invocation: Invocation) -> Result:
        """Lease an address out of each set of ranges, or none."""
        conf = read_host_local(invocation)
        dns = await self._name_servers(conf.resolv_conf) if conf.resolv_conf else DNS()
        key = invocation.endpoint.key
        ips = await self._in_store(
            self._directory(conf.network, conf.data_dir), lambda leases: _lease(leases, conf, key)
        )
        return Result(ips=ips, routes=conf.routes, dns=dns)

    async def delete(self, invocation: Invocation) -> None:
        """Release all that the attachment has; may be repeated."""
        conf = invocation.conf(StoreConf)
        key = invocation.endpoint.key
        directory = self._directory(conf.name, conf.ipam.data_dir)
        if _is_there(directory):  # else there is no lease, and no reason to make a store
            await self._in_store(directory, lambda leases: _release(leases, key))

    async def check(self, invocation: Invocation) -> None:
        """See that the attachment has an address, whichever."""
        conf = read_host_local(invocation)
        key = invocation.endpoint.key
        if not await self._in_store(
            self._directory(conf.network, conf.data_dir), lambda leases: leases.of(key)
        ):
            raise PluginError(f"container {key.container_id} has no lease")

    async def gc(self, invocation: Invocation) -> None:
        """Release what belongs to no valid attachment of the network."""
        conf = read_host_local(invocation)
        valid = invocation.valid_attachments()
        await self._in_store(
            self._directory(conf.network, conf.data_dir), lambda leases: _collect(leases, valid)
        )

    def _directory(self, network: str, data_dir: str) -> str:
        """Where the leases of a network are."""
        if not PLAIN_NAME.fullmatch(network):  # the caller has seen to it; it is a path here
            raise ConfError(f"{network!r} is not a valid network name")
        return f"{data_dir or DATA_DIR}/{network}"

    async def _in_store(self, directory: str, action: Callable[[Leases], T]) -> T:
        """Do something with the locked leases of a network."""
        store = self._stores.get(directory)
        if store is None:
            store = LeaseStore(directory, self._store_threads, lock_s=self._lock_s)
            self._stores[directory] = store
        return await store.transact(action)

    async def _name_servers(self, path: str) -> DNS:
        """Read name servers from a file, off the event loop."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(RESOLV_CONF_S):
                return await loop.run_in_executor(self._file_threads, read_resolv_conf, path)
        except TimeoutError as error:
            raise PluginError(
                f"resolvConf: {path!r} was not read within {RESOLV_CONF_S:g} s"
            ) from error


def _is_there(path: str) -> bool:
    return os.path.lexists(path)


def _lease(leases: Leases, conf: HostLocalConf, key: AttachmentKey) -> tuple[IPConfig, ...]:
    """Lease one address out of each set; none at all when one is not to be had."""
    leased: list[IPConfig] = []
    asked = list(conf.requested)
    try:
        for index, ranges in enumerate(conf.sets):
            wanted = next((ip for ip in asked if ranges.range_of(ip)), None)
            leased.append(_lease_one(leases, ranges, index, key, wanted))
            if wanted is not None:
                asked.remove(wanted)
        _check_none_left(asked)
    except Exception:
        for ip in leased:
            leases.remove(ip.address.partition("/")[0])
        raise
    return tuple(leased)


def _check_none_left(asked: list[IpAddress]) -> None:
    if asked:
        listed = " ".join(map(str, asked))
        raise PluginError(f"requested, but not in any range: {listed}")


def _lease_one(
    leases: Leases, ranges: RangeSet, index: int, key: AttachmentKey, wanted: IpAddress | None
) -> IPConfig:
    try:
        if wanted is None:
            return _lease_next(leases, ranges, index, key)
        return _lease_wanted(leases, ranges, index, key, wanted)
    except PluginError as error:
        raise PluginError(f"range set {index}: {error}") from error


def _lease_next(leases: Leases, ranges: RangeSet, index: int, key: AttachmentKey) -> IPConfig:
    for had in leases.addresses(key):
        if ranges.range_of(had):
            raise PluginError(
                f"container {key.container_id} already has {had}; run DEL before another ADD"
            )
    for address, each in ranges.after(leases.last(index)):
        if leases.reserve(address, key, index):
            return ip_config(address, each.subnet.prefixlen, each.gateway)
    raise PluginError(f"no IP addresses available in {ranges}")


def _lease_wanted(
    leases: Leases, ranges: RangeSet, index: int, key: AttachmentKey, wanted: IpAddress
) -> IPConfig:
    each = ranges.range_of(wanted)
    assert each is not None, "the caller chose the set by it"
    if wanted == each.gateway:
        raise PluginError(f"{wanted} is the gateway's address")
    if not leases.reserve(wanted, key, index):
        raise PluginError(f"{wanted} is already in use")
    return ip_config(wanted, each.subnet.prefixlen, each.gateway)


def _release(leases: Leases, key: AttachmentKey) -> None:
    for name in leases.of(key):
        leases.remove(name)


def _collect(leases: Leases, valid: frozenset[AttachmentKey]) -> None:
    ids = {key.container_id for key in valid}
    for name, holder in leases.holders().items():
        known = holder in valid if holder.ifname else holder.container_id in ids
        if not known:
            leases.remove(name)
