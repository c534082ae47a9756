"""How many addresses of each network are leased on this node, and how many are left.

What is leased is what the lease stores have files for; what could be is what the configurations of
the attached networks say. Promise: read-only, and only below the driver's own directories; looked
at when somebody scrapes, in that thread, at most every 15 seconds. A claim can name any network:
`series_names` chooses those with a series of their own. Limit: leases by the plugin `host-local`,
in process or as a program. A network that nothing is attached to any more has no `free`: what its
range was is not kept.
"""

import ipaddress
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, Literal, TypeAlias

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from netclaim.cni import decode_network
from netclaim.cni.cache import CachedAttachment
from netclaim.cni.call import execution_config
from netclaim.errors import NetclaimError
from netclaim.network.metrics.series_names import OTHER, SeriesNames
from netclaim.network.metrics.table import ADDRESSES
from netclaim.network.plugin_files import PluginFiles
from netclaim.plugins.host_local.conf import configured_ranges
from netclaim.plugins.host_local.lease_store import ENTRIES_MAX
from netclaim.plugins.host_local.ranges import Range

KEPT_S: Final = 15.0  # two scrapers, or one that is restless, cost one look

Family: TypeAlias = Literal["ipv4", "ipv6"]
FAMILIES: Final[Mapping[int, Family]] = {4: "ipv4", 6: "ipv6"}


@dataclass(slots=True)
class Usage:
    """The addresses of one network and family; `capacity` is None while it is not known."""

    used: int = 0
    capacity: int | None = None

    def add(self, other: "Usage") -> None:
        """Count another one in; what is not known does not count."""
        self.used += other.used
        if other.capacity is not None:
            self.capacity = (self.capacity or 0) + other.capacity


Networks: TypeAlias = Mapping[tuple[str, Family], Usage]


@dataclass(slots=True, eq=False)  # a registry has it as a key
class AddressCollector(Collector):
    """Looks at the lease stores when it is scraped."""

    driver: str
    files: PluginFiles
    attached: Callable[[], Iterable[CachedAttachment]]
    monotonic: Callable[[], float]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _seen: tuple[float, Networks] | None = None
    _names: SeriesNames = field(default_factory=SeriesNames)

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The metric without a look at anything."""
        return (self._family(),)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The metric as it was a moment ago, at most."""
        family = self._family()
        for (network, version), usage in sorted(self._networks().items()):
            family.add_metric((self.driver, network, version, "used"), usage.used)
            if usage.capacity is not None:
                free = max(0, usage.capacity - usage.used)
                family.add_metric((self.driver, network, version, "free"), free)
        return (family,)

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(ADDRESSES.name, ADDRESSES.text, labels=ADDRESSES.label_names)

    def _networks(self) -> Networks:
        with self._lock:
            now_s = self.monotonic()
            if self._seen is None or now_s - self._seen[0] >= KEPT_S:
                self._seen = (now_s, self._bounded(self._look(), now_s))
            return self._seen[1]

    def _bounded(self, usages: Networks, now_s: float) -> Networks:
        """Count the networks without a name of their own as one."""
        leased: Counter[str] = Counter()
        for (network, _), usage in usages.items():
            leased[network] += usage.used
        named = self._names.choose(leased, now_s)
        result: dict[tuple[str, Family], Usage] = {}
        for (network, version), usage in usages.items():
            name = network if network in named else OTHER
            result.setdefault((name, version), Usage()).add(usage)
        return result

    def _look(self) -> Networks:
        usages: dict[tuple[str, Family], Usage] = {}
        names = self._stores()
        for store, name in names.items():
            for version, used in _leased(store).items():
                usages[name, version] = Usage(used)
        for store, ranges in self._ranges().items():
            for each in ranges:
                if store in names:
                    usage = usages.setdefault((names[store], _family(each)), Usage())
                    usage.capacity = (usage.capacity or 0) + _size(each)
        return usages

    def _stores(self) -> Mapping[Path, str]:
        """The lease stores, and what their networks are called."""
        try:
            return {store: self.files.network_of(store) for store in self.files.stores()}
        except NetclaimError:  # a directory that cannot be read; who leases says so
            return {}

    def _ranges(self) -> Mapping[Path, AbstractSet[Range]]:
        """The ranges of the networks that are attached, by store."""
        found: defaultdict[Path, set[Range]] = defaultdict(set)
        for config in {entry.config for entry in self.attached()}:
            try:
                for store, ranges in _configured(config):
                    found[store] |= ranges
            except NetclaimError:  # it could be attached by an earlier version, or a program
                continue
        return found


def _configured(config: bytes) -> Iterable[tuple[Path, frozenset[Range]]]:
    network = decode_network(config)
    for plugin in network.plugins:
        if plugin.ipam_type == "host-local":
            conf = configured_ranges(execution_config(network, plugin), network.version)
            ranges = frozenset(each for ranges in conf.sets for each in ranges.ranges)
            yield Path(conf.data_dir) / conf.network, ranges


def _leased(store: Path) -> Mapping[Family, int]:
    """Count the addresses that a store has files for; one that is gone has none."""
    counts: Counter[Family] = Counter()
    try:
        with os.scandir(store) as entries:
            for entry in islice(entries, ENTRIES_MAX):
                try:
                    counts[FAMILIES[ipaddress.ip_address(entry.name).version]] += 1
                except ValueError:  # the lock, or where the next round begins
                    continue
    except OSError:
        return {}
    return counts


def _family(each: Range) -> Family:
    return FAMILIES[each.subnet.version]


def _size(each: Range) -> int:
    """How many addresses of a range can be leased: all but the gateway's."""
    return int(each.end) - int(each.start) + 1 - (each.gateway in each)
