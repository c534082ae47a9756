"""A pool on a cluster where everything that looks after it dies, again and again.

No address is in two pods at a time, and none is lost, whatever is killed, rebooted or gone for
good. Everything is watched from the beginning to the end, and not only looked at in between: in the
API, and on the network, where every address is asked for all the time.

In every test run 66 pods want the 61 addresses of a /26. NETCLAIM_POOL_PODS=N has N pods with
addresses of a /23, NETCLAIM_POOL_ROUNDS=N scales them down and up N times, and
NETCLAIM_POOL_COLLECTIONS=N has the collector look at all leases N times, while one pod after the
other is replaced. `make soak-pools` has 300, 2 and 240: as many looks as there are in an hour.
"""

import asyncio
import math
import os
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from ipaddress import IPv4Network
from pathlib import Path

import pytest
import yaml

from lab.cluster import Lab
from lab.helm import CHART_NAMESPACE, Helm, load_driver_image
from lab.kubectl import WAIT_S
from lab.progress import Progress
from netclaim.controller.cluster.objects import Objects
from netclaim.controller.cluster.watches import Watches
from netclaim.controller.pools.sweep import LeaseSweep
from netclaim.controller.settings import ControllerSettings
from netclaim.kube import Answered, connect, load_cluster
from tests.cluster.chart.test_chart_pools import deployment, of_kind
from tests.cluster.site.arp_witness import ArpWitness
from tests.cluster.site.drivers import eventually
from tests.cluster.site.pool_witness import PoolWitness

NETWORK = "media"
POOL = "small"
MORE = 5  # pods than a /26 has addresses
SMALL = 61 + MORE  # a /26 without its gateway, and the two that mean the network itself
PODS = int(os.environ.get("NETCLAIM_POOL_PODS", str(SMALL)))
ROUNDS = int(os.environ.get("NETCLAIM_POOL_ROUNDS", "1"))
COLLECTIONS = int(os.environ.get("NETCLAIM_POOL_COLLECTIONS", "1"))
RANGE = IPv4Network("10.78.0.0/26" if PODS <= SMALL else "10.78.0.0/23")
GATEWAY, *ADDRESSES = map(str, RANGE.hosts())
SIZE = min(PODS, len(ADDRESSES))  # pods that can have an address
FEW = SIZE // 3
KUBELETS_OWN = 110  # pods on a node, with those of the chart
ON_A_NODE = 100
# One of them is lost for good.
NODES = ["kind-control-plane", "kind-worker", "kind-worker2", "kind-worker3", "kind-worker4"]
NODES = NODES[: max(3, 1 + math.ceil(PODS / ON_A_NODE))]
COLLECTION_S = 2.0  # between two looks; the controller's are 15 s apart
REBOOTED, LOST = "kind-worker", "kind-worker2"
OURS = ("app.kubernetes.io/name=netclaim", "app.kubernetes.io/name=netclaim-controller")
LIMIT_S = WAIT_S * max(1, PODS // SMALL)
pytestmark = pytest.mark.timeout(1200 if PODS <= SMALL else 7200)  # on a busy machine


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab of its own, which loses a node; all nodes have a link to a second network."""
    links = {
        name: dict.fromkeys(NODES, link) for name, link in (("primary", "eth0"), (NETWORK, "eth1"))
    }
    networks = [
        {"name": "primary", "subnet": "172.18.0.0/24", "links": links["primary"]},
        {"name": NETWORK, "links": links[NETWORK]},
    ]
    topology: Path = tmp_path_factory.mktemp("networks") / "topology.yaml"
    topology.write_text(yaml.safe_dump({"nodes": NODES, "networks": networks}))
    made = Lab(f"pool-{secrets.token_hex(3)}", Progress())
    made.up(topology, port=0)
    try:
        load_driver_image(made)
        Helm(made).install(f"--set=settings.attachments={{eth1={KUBELETS_OWN}}}")
        yield made
    finally:
        made.down()


class Scene:
    """The pods of a pool, and who watches them."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.user = lab.kubectl("default")
        self.system = lab.kubectl(CHART_NAMESPACE)
        self.seen = PoolWitness()
        self.arp = ArpWitness(ADDRESSES)

    def scale(self, pods: int) -> None:
        """Have so many pods."""
        self.user("scale", "deployment/camera", f"--replicas={pods}")

    def kill_ours(self) -> None:
        """End all drivers and controllers by force."""
        for label in OURS:
            self.system(
                *("delete", "pods", f"-l{label}", "--force", "--grace-period=0", "--wait=false")
            )

    def wait_leased(self, holds: Callable[[int], bool], what: str) -> None:
        """Wait until so many addresses are leased."""
        eventually(lambda: len(self.seen.leased), holds, what, limit_s=LIMIT_S)

    def wait_settled(self, pods: int, *, without: frozenset[str] = frozenset()) -> None:
        """Wait until so many pods are ready, have all leases and answer, and the others wait."""
        ready = min(pods, SIZE)

        def look() -> tuple[int, int, int, int]:
            leased, having = set(self.seen.leased), self.arp.having()
            here = len(self.seen.ready - without)
            return here, len(leased), len(self.seen.unschedulable), len(leased ^ having)

        eventually(
            look,
            lambda found: found == (ready, ready, pods - ready, 0),
            f"{ready} pods have {ready} addresses",
            limit_s=LIMIT_S,
        )
        note(f"{ready} pods ready, each with an address")

    def replace_one(self) -> None:
        """Delete a pod, and wait until another one has its place."""
        name = next(iter(self.seen.ready))
        self.user("delete", "pod", name, "--wait=false")
        self.wait_settled(PODS, without=frozenset((name,)))

    def controllers_said(self, since: datetime) -> str:
        """What the controllers have logged since then, but for those of the lost node."""
        there = ("pods", f"-l{OURS[1]}", f"--field-selector=spec.nodeName!={LOST}")
        names = [each["metadata"]["name"] for each in self.system.items(*there)]
        after = f"--since-time={since:%Y-%m-%dT%H:%M:%SZ}"
        said = "".join(self.system("logs", name, after) for name in names)
        assert names, "no controller is left"
        return said


def note(line: str) -> None:
    """Write a line with the time."""
    sys.stdout.write(f"{datetime.now(UTC):%H:%M:%S} {line}\n")
    sys.stdout.flush()


async def collected(scene: Scene) -> Counter[str]:
    """Look at all leases many times, as the controller does, while one pod after another goes.

    Returns the requests that it has made.
    """
    requests: Counter[str] = Counter()

    def observe(answered: Answered) -> None:
        requests[answered.verb] += 1

    async with connect(load_cluster(str(scene.lab.state.kubeconfig)), observe) as client:
        objects = await Objects.negotiated(client)
        watches = Watches(objects, ControllerSettings(), lambda *_: None)
        sweep = LeaseSweep(objects, watches)

        following = asyncio.create_task(watches.run())
        await watches.wait_synced()
        looks = 0
        while looks < COLLECTIONS:
            replacing = asyncio.create_task(asyncio.to_thread(scene.replace_one))
            while not replacing.done():
                await asyncio.wait([replacing], timeout=COLLECTION_S)
                await sweep.collect()
                looks += 1
            await replacing
        assert not following.done(), "the watches have ended"
    following.cancel()  # after its connections, which are closed when the block has ended
    await asyncio.gather(following, return_exceptions=True)
    return requests


def test_no_address_is_given_twice_and_none_is_lost(lab: Lab) -> None:
    """While drivers and controllers are killed, one node is rebooted and one never comes back."""
    scene = Scene(lab)
    user, seen, arp = scene.user, scene.seen, scene.arp
    ipam = {"type": "netclaim", "pool": POOL}
    network = {"type": "macvlan", "parent": {"name": "eth1"}, "ipam": ipam}
    ranges = [{"cidr": str(RANGE), "gateway": GATEWAY}]
    with seen.watching(lab.state.kubeconfig), arp.watching(lab, NETWORK):
        user.apply(
            of_kind("AddressPool", POOL, {"ranges": ranges}),
            of_kind("PodNetwork", NETWORK, network),
            deployment(PODS),
        )
        scene.wait_leased(lambda count: count > FEW, "some pods start")
        scene.kill_ours()
        scene.wait_settled(PODS)

        for number in range(ROUNDS):
            note(f"round {number + 1}")
            scene.scale(FEW)
            scene.kill_ours()
            scene.wait_settled(FEW)
            scene.scale(PODS)
            scene.wait_leased(lambda count: count > SIZE // 2, "more pods start")
            lab.reboot(REBOOTED)
            scene.kill_ours()
            scene.wait_settled(PODS)

        note(f"{LOST} is lost")
        lab.power_off(LOST)
        there = f"--field-selector=spec.nodeName={LOST}"
        gone = frozenset(each["metadata"]["name"] for each in user.items("pods", there))
        user("delete", "node", LOST)
        user("delete", "pods", there, "--force", "--grace-period=0", "--wait=false")
        scene.wait_settled(PODS, without=gone)

        since = datetime.now(UTC)
        requests = asyncio.run(collected(scene))
        assert requests["delete"] == 0
        assert "address.collected" not in scene.controllers_said(since)

        user("delete", "deployment", "camera", "--wait=true")
        scene.wait_leased(lambda count: count == 0, "no address is leased")
    note(f"{seen.changes} changes and {seen.lists} lists were seen")
    note(f"{arp.questions} questions were asked by ARP, and {arp.answers} answered")
    assert seen.faults == []
    assert arp.faults == []
    assert user.items("addressleases") == []
    assert arp.answers > SIZE
    assert seen.changes > 4 * SIZE
