"""How many addresses a network has left, without letting claims make metrics."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from netclaim.cni.cache import CachedAttachment
from netclaim.network.addresses import KEPT_S, OTHER, AddressCollector, Usage, bounded
from netclaim.network.files import PluginFiles


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


def test_claims_do_not_make_series() -> None:
    """However many networks claims name, those with most leases are shown, the rest as one."""
    usages = {(f"red/n{number:04}", "ipv4"): Usage(1, 10) for number in range(1000)}
    usages["red/big", "ipv4"] = Usage(7, 10)
    kept = bounded(usages, 3)  # type: ignore[arg-type]
    assert {name for name, _ in kept} == {"red/big", "red/n0000", "red/n0001", OTHER}
    assert kept[OTHER, "ipv4"] == Usage(998, 9980)
