"""Looking after what many networks left takes time that grows with their number, off the loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from netclaim.cni import Chain, CniCall, Endpoint, Result, ResultCache
from netclaim.cni.cache import CachedAttachment
from netclaim.model import Attachment, Living, Plan
from netclaim.network.cleanup.gate import NetworkGate
from netclaim.network.cleanup.leftovers import Leftovers
from netclaim.network.cleanup.plugin_gc import PluginGc
from netclaim.network.links.remembered.lent import LentDevices
from netclaim.network.metrics.addresses import AddressCollector
from netclaim.network.plan.interface_plan import InterfacePlan
from netclaim.network.plugin_files import UNUSED_MAX, PluginFiles
from netclaim.plugins.host_device.lent_links import LentLinks
from tests.support.framework.parts import claim_of, device_of, pod_of
from tests.support.growth import assert_flat, assert_linear

LATER_S = 4_000_000_000.0  # than any file of a test


class Called:
    """Plugins that do nothing, and how often they were called."""

    def __init__(self) -> None:
        self.count = 0

    async def run(self, _: CniCall) -> Result | None:
        """Count."""
        self.count += 1
        return None


def config(name: str, root: Path, subnet: str = "10.0.0.0/24", kind: str = "dummy") -> Any:
    """A network as a claim writes it."""
    ipam = {"type": "host-local", "ranges": [[{"subnet": subnet}]], "dataDir": str(root / "leases")}
    return {"cniVersion": "1.1.0", "name": name, "plugins": [{"type": kind, "ipam": ipam}]}


def attached(root: Path, networks: list[Any]) -> tuple[Chain, Called, Living]:
    """Each of these networks in a sandbox of its own, and in the cache."""
    plugins, cache = Called(), ResultCache(root / "cache")
    attachments = []
    for number, network in enumerate(networks):
        interface = InterfacePlan(if_name="net1", config=network)
        plan = Plan(claim_of().ref, device_of(), network=interface.to_json())
        pod = pod_of(f"p{number}", f"s{number}")
        attachments.append(Attachment(plan=plan, pod=pod))
        cache.save(interface.network, Endpoint(pod.id, "/gone", "net1"), Result())
    living = Living(
        attachments=tuple(attachments), sandboxes=frozenset([each.pod.id for each in attachments])
    )
    return Chain(plugins, cache, (), lambda _: False), plugins, living


def test_gc_of_many_networks(tmp_path: Path) -> None:
    """A round of CNI's GC reads what is attached once, not once for each network."""

    def work_of(n: int) -> Callable[[], object]:
        networks = [config(f"n{number}", tmp_path) for number in range(n)]
        chain, plugins, living = attached(tmp_path / str(n), networks)
        others = frozenset([f"other-{number}" for number in range(n)])
        gc = PluginGc(chain, NetworkGate(), lambda: others)

        def collect() -> None:
            plugins.count = 0
            asyncio.run(gc.collect(living))
            assert plugins.count == n

        return collect

    assert_linear(work_of, 16, everywhere=True)


def test_gc_of_many_networks_of_one_name(tmp_path: Path) -> None:
    """Networks of a name are as many calls as there are books to keep, however they are mixed."""

    def work_of(n: int) -> Callable[[], object]:
        networks = [config("net", tmp_path) for _ in range(n)]
        for number, network in enumerate(networks):
            network["plugins"] += [{"type": "sbr"}] * (number % 8)
        chain, plugins, living = attached(tmp_path / str(n), networks)
        gc = PluginGc(chain, NetworkGate(), frozenset)

        def collect() -> None:
            plugins.count = 0
            asyncio.run(gc.collect(living))
            assert plugins.count == 3  # of the first network, and of the second with its `sbr`

        return collect

    assert_linear(work_of, 16, everywhere=True)


def leftovers_of(root: Path, chain: Chain) -> Leftovers:
    """What looks for leftovers."""
    unused: Any = None
    return Leftovers(
        chain=chain,
        files=PluginFiles(root),
        lent=LentDevices(root / "lent"),
        lent_links=LentLinks(root / "lent-links"),
        links=unused,
        threads=ThreadPoolExecutor(1),
        now=lambda: LATER_S,
    )


def looked_after(root: Path, n: int) -> Callable[[], object]:
    """A look for leftovers where n sandboxes live, of which each has everything."""
    networks = [config(f"n{number}", root) for number in range(n)]
    chain, _, living = attached(root, networks)
    tunings = root / "namespace/a/tuning"
    tunings.mkdir(parents=True, exist_ok=True)
    for each in living.attachments:
        (tunings / f"{each.pod.id}_net1.json").touch()
    leftovers = leftovers_of(root, chain)

    def find() -> None:
        assert asyncio.run(leftovers.find(living)) == ()

    return find


def test_leftovers(tmp_path: Path) -> None:
    """What lives is found in a table, not by a look at all that lives, for each file."""
    assert_linear(lambda n: looked_after(tmp_path / str(n), n), 16, everywhere=True)


def test_leftovers_hold_up_no_hook(tmp_path: Path) -> None:
    """The files of what lives are looked at in threads."""
    assert_flat(lambda n: looked_after(tmp_path / str(n), n), 32)


def test_what_lives() -> None:
    """Where the runtime cannot be asked, the journal is not read again for each file."""

    def work_of(n: int) -> Callable[[], object]:
        plan = Plan(claim_of().ref, device_of())
        sandboxes = [pod_of(f"p{number}", f"s{number}") for number in range(n)]
        living = Living(attachments=tuple(Attachment(plan=plan, pod=each) for each in sandboxes))

        def ask() -> None:
            assert all(living.may_run(each.id) for each in sandboxes)
            assert living.may_run("gone") is None

        return ask

    assert_linear(work_of, 32)


def test_tidying(tmp_path: Path) -> None:
    """A claim looks at some of its namespace's networks, however many there are."""

    def work_of(n: int) -> Callable[[], object]:
        for number in range(n):
            store = tmp_path / str(n) / "namespace/a/leases" / f"n{number}"
            store.mkdir(parents=True, exist_ok=True)
            (store / "10.0.0.2").write_text("sandbox\r\nnet1")
        return partial(PluginFiles(tmp_path / str(n)).tidy, "a", {"n0"})

    assert_flat(work_of, 2 * UNUSED_MAX)


def test_address_metrics(tmp_path: Path) -> None:
    """A scrape looks at each store and each configuration once."""

    def work_of(n: int) -> Callable[[], object]:
        root = tmp_path / str(n)
        entries = []
        for number in range(n):
            network = f"n{number}"
            store = root / "namespace/a/leases" / network
            store.mkdir(parents=True, exist_ok=True)
            (store / "10.0.0.2").write_text("sandbox\r\nnet1")
            written = config(network, root / "namespace/a", f"10.{number}.0.0/24")
            entries.append(
                CachedAttachment(
                    kind="cniCacheV1",
                    container_id=f"s{number}",
                    config=msgspec.json.encode(written),
                    ifname="net1",
                    network_name=network,
                )
            )

        def scrape() -> None:
            collector = AddressCollector("d", PluginFiles(root), lambda: entries, lambda: 0.0)
            (family,) = collector.collect()
            assert sum(each.value for each in family.samples if "used" in each.labels.values()) == n

        return scrape

    assert_linear(work_of, 16)
