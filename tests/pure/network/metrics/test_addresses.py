"""How many addresses a network has left, without letting claims make metrics."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from netclaim.cni.cache import CachedAttachment
from netclaim.network.metrics.addresses import KEPT_S, AddressCollector
from netclaim.network.metrics.series_names import (
    NAMESPACE_MAX,
    NETWORKS_MAX,
    OTHER,
    PLACE_S,
    SeriesNames,
)
from netclaim.network.plugin_files import PluginFiles


class Node:
    """Lease stores, and the networks that are attached."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.attached: list[CachedAttachment] = []
        self.now_s = 0.0
        self.looks = 0
        self.collector = AddressCollector(
            "d", PluginFiles(root), self.entries, monotonic=lambda: self.now_s
        )

    def entries(self) -> Iterator[CachedAttachment]:
        """What is attached."""
        self.looks += 1
        return iter(self.attached)

    def lease(self, owner: str, network: str, *addresses: str) -> None:
        """Leases of a network."""
        store = self.root / owner / "leases" / network
        store.mkdir(parents=True, exist_ok=True)
        for name in ("lock", "last_reserved_ip.0", *addresses):
            (store / name).write_text("sandbox\r\nnet1")

    def attach(self, owner: str, network: str, *subnets: str, **ipam: Any) -> None:
        """A network that is attached."""
        ranges = [[{"subnet": subnet}] for subnet in subnets]
        data_dir = f"{self.root}/{owner}/leases"
        plugin = {
            "type": "macvlan",
            "ipam": {"type": "host-local", "ranges": ranges, "dataDir": data_dir, **ipam},
        }
        config = {"cniVersion": "1.0.0", "name": network, "plugins": [plugin]}
        entry = CachedAttachment(
            kind="cniCacheV1",
            container_id="sandbox",
            config=msgspec.json.encode(config),
            ifname="net1",
            network_name=network,
        )
        self.attached.append(entry)

    def seen(self) -> dict[str, float]:
        """What is scraped: network, family and state, and how many."""
        registry = CollectorRegistry()
        registry.register(self.collector)
        found: dict[str, float] = {}
        for line in generate_latest(registry).decode().splitlines():
            if line.startswith("netclaim_network_addresses{"):
                labels = dict(each.split("=") for each in line[27 : line.index("}")].split(","))
                named = (labels[key].strip('"') for key in ("network", "family", "state"))
                found[" ".join(named)] = float(line.rpartition(" ")[2])
        return found


def test_used_and_free(tmp_path: Path) -> None:
    """Leases are used; of the ranges the gateway is not free, nor the broadcast address."""
    node = Node(tmp_path)
    node.lease("namespace/red", "lan", "10.0.0.2", "10.0.0.3", "fd00::2")
    node.attach("namespace/red", "lan", "10.0.0.0/29", "fd00::/125")
    node.attach("namespace/red", "lan", "10.0.0.0/29", "fd00::/125")
    node.lease("class", "storage", "10.1.0.2")
    node.attach("class", "storage", "10.1.0.0/30")
    assert node.seen() == {
        "red/lan ipv4 used": 2,
        "red/lan ipv4 free": 3,
        "red/lan ipv6 used": 1,
        "red/lan ipv6 free": 5,
        "storage ipv4 used": 1,
        "storage ipv4 free": 0,
    }


def test_a_part_of_the_subnet(tmp_path: Path) -> None:
    """A range counts, and not its subnet; networks of one name have all their ranges."""
    node = Node(tmp_path)
    node.lease("namespace/red", "lan", "10.0.0.20")
    ends = {"subnet": "10.0.0.0/24", "rangeStart": "10.0.0.20", "rangeEnd": "10.0.0.29"}
    node.attach("namespace/red", "lan", **{**ends, "ranges": []})
    assert node.seen() == {"red/lan ipv4 used": 1, "red/lan ipv4 free": 9}
    node.now_s += KEPT_S
    node.attach("namespace/red", "lan", "10.9.0.0/29")
    assert node.seen() == {"red/lan ipv4 used": 1, "red/lan ipv4 free": 14}


def test_nothing_attached(tmp_path: Path) -> None:
    """A network that nobody is attached to has leases, and no known range."""
    node = Node(tmp_path)
    node.lease("namespace/red", "lan", "10.0.0.2")
    assert node.seen() == {"red/lan ipv4 used": 1}


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    """A configuration of another version, or a store elsewhere, does not end a scrape."""
    node = Node(tmp_path)
    node.lease("namespace/red", "lan", "10.0.0.2")
    node.attach("namespace/red", "lan", "not a subnet")
    node.attach("elsewhere", "lan", "10.0.0.0/29")
    node.attached.append(msgspec.structs.replace(node.attached[0], config=b"no JSON"))
    assert node.seen() == {"red/lan ipv4 used": 1}


def test_scrapes_share_a_look(tmp_path: Path) -> None:
    """The disk is looked at once for scrapes that follow each other, and again later."""
    node = Node(tmp_path)
    for _ in range(3):
        node.seen()
    assert node.looks == 1
    node.now_s += KEPT_S
    node.seen()
    assert node.looks == 2


def test_claims_do_not_make_series(tmp_path: Path) -> None:
    """However many networks the claims of a namespace name, the rest of them are shown as one."""
    node = Node(tmp_path)
    for number in range(30):
        node.lease("namespace/red", f"n{number:02}", "10.0.0.2")
    node.lease("namespace/red", "ten", *(f"10.0.0.{last}" for last in range(2, 12)))
    node.lease("namespace/blue", "lan", "10.0.0.2")
    seen = node.seen()
    assert (seen["red/ten ipv4 used"], seen["blue/lan ipv4 used"]) == (10, 1)
    assert sum(name.startswith("red/") for name in seen) == NAMESPACE_MAX
    assert seen[f"{OTHER} ipv4 used"] == 31 - NAMESPACE_MAX


def test_names_that_rotate_do_not_make_series() -> None:
    """A place is free again a day after its network was seen last, so names come at that rate."""
    names, now_s = SeriesNames(), 0.0
    first = [f"red/n{number}" for number in range(NAMESPACE_MAX)]
    assert set(names.choose(dict.fromkeys(first, 1), now_s)) == set(first)
    assert names.choose({"red/later": 5}, now_s + 1) == frozenset()
    assert set(names.choose({"blue/later": 1, first[0]: 1}, now_s + 2)) == {"blue/later", first[0]}
    assert names.choose({"red/later": 5}, now_s + 1 + PLACE_S) == {"red/later"}


def test_networks_of_classes_have_names() -> None:
    """An admin chose them; only the node's limit is theirs."""
    names = SeriesNames()
    wanted = {f"net{number}": 1 for number in range(NETWORKS_MAX + 1)}
    assert len(names.choose(wanted, 0.0)) == NETWORKS_MAX
