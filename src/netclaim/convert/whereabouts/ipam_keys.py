"""Read whereabouts' keys under `ipam`: the addresses of a pool, and what no pool can do.

    {"type": "whereabouts", "range": "10.10.1.0/24", "exclude": ["10.10.1.128/25"]}

Promise: a pod gets addresses that whereabouts could have given it, and with the same routes. What
whereabouts passes over is left out with a remark, as for other plugins. No I/O. Limit: what stands
in whereabouts' own file on the nodes is not seen.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from netclaim.convert.multus.definition import (
    Definition,
    UnconvertedError,
    is_definition,
    read_definition,
)
from netclaim.convert.remarks import Remark, within
from netclaim.convert.whereabouts.ranges import Keys, range_keys, read_range, with_gateway
from netclaim.manifests.objects import Object
from netclaim.model.claims.claim import JsonObject
from netclaim.model.devices.device_name import is_dns_label
from netclaim.model.pools.address_space import Range
from netclaim.model.pools.named_pools import POOLED
from netclaim.paths import Path

WHEREABOUTS: Final = "whereabouts"
RANGE_KEYS: Final = ("range", "range_start", "range_end", "exclude")
# How whereabouts works, and where it keeps its data; a pool has none of it.
INNER_KEYS: Final = frozenset({
    "configuration_path", "datastore", "etcd_ca_cert_file", "etcd_cert_file", "etcd_host",
    "etcd_key_file", "etcd_password", "etcd_username", "kubernetes", "leader_lease_duration",
    "leader_renew_deadline", "leader_retry_period", "log_file", "log_level",
    "reconciler_cron_expression", "sleep_for_race",
})  # fmt: skip
# What changes nothing that a pod can see, and why.
LEFT_OUT: Final[Mapping[str, str]] = {
    "node_slice_size": "left out: a pool needs no slices for nodes",
    "enable_overlapping_ranges": (
        "left out: in a domain no address is leased twice; networks that are separate have a"
        " network_name each"
    ),
}
KNOWN: Final = frozenset({
    "type", *RANGE_KEYS, "ipranges", "gateway", "routes", "dns", "network_name", "addresses",
    *INNER_KEYS, *LEFT_OUT,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class PoolDraft:
    """The addresses that networks of Multus have from whereabouts, as a pool has them."""

    domain: str  # whereabouts' network_name
    ranges: tuple[Range, ...]  # at most one of each family
    at: Path  # of the first range, in the configuration that names it


def with_pool(definition: Definition) -> tuple[Definition, PoolDraft | None, tuple[Remark, ...]]:
    """Return a definition whose addresses are a pool's if they were whereabouts'.

    The pool has no name in it yet (`named`).
    """
    for number, plugin in enumerate(definition.plugins):
        ipam = plugin.get("ipam")
        if isinstance(ipam, dict) and ipam.get("type") == WHEREABOUTS:
            said: list[tuple[Path, str, bool]] = []
            read = Keys.of(ipam, (*definition.plugin_at(number), "ipam"), said)
            draft = _draft(read)
            changed = _with_ipam(plugin, read)
            remarks = (within(definition.text, at, text, lost=lost) for at, text, lost in said)
            return _with_plugin(definition, number, changed), draft, tuple(remarks)
    return definition, None, ()


def networks_of(objects: Iterable[Object]) -> Iterator[tuple[Definition, PoolDraft]]:
    """Yield all networks with addresses from whereabouts, as far as they can be read."""
    for one in filter(is_definition, objects):
        try:
            definition, draft, _ = with_pool(read_definition(one))
        except UnconvertedError:
            continue
        if draft is not None:
            yield definition, draft


def named(definition: Definition, pool: str) -> Definition:
    """Return a definition whose addresses are those of the pool of this name."""
    for number, plugin in enumerate(definition.plugins):
        ipam = plugin.get("ipam")
        if isinstance(ipam, dict) and ipam.get("type") == POOLED:
            changed = {**plugin, "ipam": {**ipam, "pool": pool}}
            return _with_plugin(definition, number, changed)
    return definition


def _with_plugin(definition: Definition, number: int, plugin: JsonObject) -> Definition:
    plugins = list(definition.plugins)
    plugins[number] = plugin
    is_list = "plugins" in definition.config
    config = {**definition.config, "plugins": plugins} if is_list else plugin
    return replace(definition, plugins=tuple(plugins), config=config)


def _with_ipam(plugin: JsonObject, read: Keys) -> JsonObject:
    """Return the plugin with a pool in the place of whereabouts, which says the rest of it."""
    ipam: JsonObject = {"type": POOLED, "pool": ""}
    if routes := read.items("routes"):
        ipam["routes"] = routes
    changed = {**plugin, "ipam": ipam}
    if (dns := read.found.get("dns")) and not plugin.get("dns"):
        changed["dns"] = dns
    return changed


def _draft(read: Keys) -> PoolDraft:
    for key in read.found:
        if key in LEFT_OUT:
            read.say(key, LEFT_OUT[key])
        elif key not in KNOWN:
            read.say(key, "left out: whereabouts has no such key, and passes over it")
    if read.items("addresses"):
        text = "every pod has them too; the addresses of a network with a pool are the pool's alone"
        read.say("addresses", text, lost=True)
    domain = read.text("network_name")
    if domain and not is_dns_label(domain):
        text = (
            "becomes a pool's domain, which must be a DNS label of at most 63 characters; rename it"
        )
        raise UnconvertedError(text, path=read.path("network_name"))
    ranges: dict[int, Range] = {}
    at: Path = ()
    for one in range_keys(read):
        found = read_range(one)
        version = ipaddress.ip_network(found.cidr).version
        if version in ranges:
            text = f"a pod gets only one IPv{version} address from a pool; the first range is used"
            one.say("range", text, lost=True)
            continue
        ranges[version] = found
        at = at or one.path("range")
    return PoolDraft(domain, with_gateway(tuple(ranges.values()), read), at)
