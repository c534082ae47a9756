"""Claims that are written for dranet: converted, and run on a node with links to take.

What dranet's own examples and end-to-end tests ask for, in manifests of the same shapes; the
module `test_dranet_scenarios` lists which test does what each of those tests does.
"""

import asyncio
import subprocess
from contextlib import AsyncExitStack
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from netclaim.local.cluster import KUBECONFIG, EmbeddedCluster, embedded_cluster
from netclaim.local.input.manifests import Manifests, create_all, read_manifests
from netclaim.local.machine import NodePlace, contained, enter_node
from netclaim.local.node.driver_process import DriverOptions
from netclaim.local.node.kubelet import Pace
from netclaim.local.ping import ping
from netclaim.local.result.outcome import PodOutcome, outcomes, settled
from netclaim.local.topology import Hardware, Link, Network, Topology
from netclaim.local.trial import Trial, start_cluster, start_pods
from netclaim.network import DRIVER_NAME
from netclaim.network.policy.levels import LABEL
from netclaim.schema.kinds import CLAIM, DEPLOYMENT, POD, SLICE
from tests.embedded.local.test_convert import netclaim
from tests.embedded.local.test_flaps import POLL_S, ip_batch, shown
from tests.support.dranet_manifests import (
    DRIVER,
    RDMA,
    alone,
    claim_spec,
    deployment,
    device_class,
    named,
    namespace,
    parameters,
    request,
    template,
)

pytestmark = pytest.mark.embedded

NODE = "node"
MADE_AGAIN = """
link add kept0 type veth peer name kept0-peer
link set kept0-peer up
link set kept0 up
"""
PRIVILEGED = "privileged"  # the pod gets what the node has on its link
TRUSTED = "trusted"  # the namespace of those who may have what the node uses, and may forward
SUBNETS = (ip_network("172.18.0.0/24"), ip_network("fd00:18::/64"))
LONG_S = 300.0
GPU = Path(__file__).parents[3] / "examples/gpu.py"
ROOT = "pci0000:3a"
RAILS = ("rail0", "rail1", "rail2")
PAIRS = (("left0", "left1"), ("right0", "right1"))  # each pair on a network of its own
SINGLE = ("mlx5_6", "plain0", "quiet0", "kept0", "far0", "fast0", "big0", "twin0", "twin1")
FURNISH = """
address add 192.0.2.7/24 dev kept0
address add 2001:db8:5::7/96 dev kept0 nodad
route add 198.51.100.0/24 via 192.0.2.1 dev kept0
route add 203.0.113.0/24 via 192.0.2.1 dev kept0 table 777
rule add from 10.20.30.0/24 table 777 priority 500
neigh add 192.0.2.9 lladdr 02:00:00:00:00:99 dev kept0 nud permanent
neigh add 2001:db8:5::9 lladdr 02:00:00:00:00:9a dev kept0 nud permanent
"""


def topology() -> Topology:
    """A node with a link for every example."""
    rails = [
        Link(NODE, name, hardware=Hardware(100000, place % 2, ROOT, f"mlx5_{place}"))
        for place, name in enumerate(RAILS)
    ]
    return Topology(
        (NODE,),
        (
            Network("primary", (Link(NODE, "eth0"),), SUBNETS),
            Network("single", tuple(Link(NODE, name) for name in SINGLE)),
            *(
                Network(f"way{number}", tuple(Link(NODE, name) for name in pair))
                for number, pair in enumerate(PAIRS)
            ),
            Network("fabric", tuple(rails)),
        ),
    )


def address(name: str, *ips: str, **more: Any) -> dict[str, Any]:
    """An interface with addresses."""
    return {"name": name, "addresses": list(ips), **more}


def policy_routed(number: int) -> str:
    """A host behind a router: what concerns either side's network is routed by a table."""
    own, other = (f"10.{each}.0.0/24" for each in (100 + number, 101 - number))
    written = {
        "interface": address("eth1", f"10.{100 + number}.0.10/24"),
        "rules": [
            {"source": own, "table": 100, "priority": 32000},
            {"destination": other, "table": 100, "priority": 32000},
        ],
        "routes": [{"destination": "0.0.0.0/0", "table": 100, "gateway": f"10.{100 + number}.0.2"}],
    }
    return alone(f"host-{number}", PAIRS[number][0], written)


def router() -> str:
    """What joins the two networks: two links of one claim, each with parameters of its own."""
    requests = [request(f"side-{n}", DRIVER, named(PAIRS[n][1])) for n in (0, 1)]
    config = [
        parameters(
            {"interface": address(f"eth{n + 1}", f"10.{100 + n}.0.2/24", forwarding=True)},
            f"side-{n}",
        )
        for n in (0, 1)
    ]
    asked = claim_spec(*requests, config=config)
    return template("router", asked, TRUSTED) + deployment("router", "router", TRUSTED)


EXAMPLES = (
    namespace(TRUSTED, **{LABEL: "privileged"}),
    device_class(DRIVER),
    device_class("rdma", RDMA),
    alone("static", "plain0", {"interface": address("eth99", "169.254.169.13/24")}),
    alone("normalized", "mlx5_6", {"interface": address("eth99", "169.254.169.15/24")}),
    alone("arp", "quiet0", {"interface": {"name": "quiet", "arpIgnore": 1, "arpAnnounce": 2}}),
    alone(
        "routed",
        "far0",
        {
            "interface": address("eth99", "169.254.169.16/32"),
            "routes": [
                {"destination": "169.254.169.0/24", "gateway": "169.254.169.1"},
                {"destination": "169.254.169.1/32", "scope": 253},
            ],
        },
    ),
    alone(
        "tuned",
        "fast0",
        {
            "interface": address(
                "fast", "169.254.169.14/24", mtu=1321, hardwareAddr="00:11:22:33:44:55"
            ),
            "ethtool": {"features": {"tcp-segmentation-offload": False}},
        },
    ),
    alone(
        "large",
        "big0",
        {
            "interface": address(
                "big",
                "192.168.200.1/24",
                mtu=1400,
                gsoMaxSize=65536,
                groMaxSize=65536,
                gsoIPv4MaxSize=65536,
                groIPv4MaxSize=65536,
            ),
            "ethtool": {"features": {"generic-receive-offload": True}},
        },
    ),
    # Without parameters: the link as it is, and two of them by one request.
    template("kept", claim_spec(request("nic", DRIVER, named("kept0"))), TRUSTED),
    deployment("kept", "kept", TRUSTED),
    template("twins", claim_spec(request("nics", DRIVER, named("twin0", "twin1"), count=2))),
    deployment("twins", "twins"),
    # For cards: by what they can, and beside a GPU.
    template(
        "rdma",
        claim_spec(
            request("nic", "rdma", f'device.attributes["{DRIVER}"].ifName == "rail2"'),
            config=[parameters({"interface": {"name": "dranet0"}})],
        ),
    ),
    deployment("rdma", "rdma"),
    template(
        "aligned",
        claim_spec(
            request("gpu", "gpu.example.com"),
            request("nics", DRIVER, RDMA, f'device.attributes["{DRIVER}"].type != "bond"', count=2),
            constraints=[{"matchAttribute": "resource.kubernetes.io/pcieRoot"}],
        ),
    ),
    deployment("aligned", "aligned"),
    policy_routed(0),
    policy_routed(1),
    router(),
)
GPU_CLASS = """---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
"""
# Each pod's interfaces and addresses, by what made it.
INTERFACES = {
    "static": {"eth99": ("169.254.169.13/24",)},
    "normalized": {"eth99": ("169.254.169.15/24",)},
    "arp": {"quiet": ()},
    "routed": {"eth99": ("169.254.169.16/32",)},
    "tuned": {"fast": ("169.254.169.14/24",)},
    "large": {"big": ("192.168.200.1/24",)},
    "kept": {"kept0": ("192.0.2.7/24", "2001:db8:5::7/96")},
    "twins": {"net0": (), "net1": ()},
    "rdma": {"dranet0": ()},
    "aligned": {"net0": (), "net1": ()},
    "host-0": {"eth1": ("10.100.0.10/24",)},
    "host-1": {"eth1": ("10.101.0.10/24",)},
    "router": {"eth1": ("10.100.0.2/24",), "eth2": ("10.101.0.2/24",)},
}


def converted(tmp_path: Path, *documents: str) -> Manifests:
    """What the command makes of manifests, as the cluster gets it."""
    source, result = tmp_path / "dranet.yaml", tmp_path / "converted"
    source.write_text("".join(documents))
    done = netclaim("convert", "-f", source, "-o", result)
    assert done.returncode == 0, done.stderr
    assert "(not carried over)" not in done.stderr
    done = netclaim("check", "-f", result)
    assert done.returncode == 0, done.stdout
    return read_manifests([str(result)])


def sysctl(netns: str, name: str) -> str:
    """A sysctl of a namespace."""
    command = ["nsenter", f"--net={netns}", "cat", f"/proc/sys/{name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def check_insides(netns: dict[str, str]) -> None:
    """Look into the pods: the kernel has what was asked for."""
    assert sysctl(netns["arp"], "net/ipv4/conf/quiet/arp_ignore") == "1"
    assert sysctl(netns["arp"], "net/ipv4/conf/quiet/arp_announce") == "2"
    ways = shown(netns["routed"], "route", "show", "dev", "eth99")
    assert [(each["dst"], each.get("gateway")) for each in ways] == [
        ("169.254.169.0/24", "169.254.169.1"),
        ("169.254.169.1", None),
    ]
    (fast,) = shown(netns["tuned"], "link", "show", "fast")
    assert (fast["mtu"], fast["address"]) == (1321, "00:11:22:33:44:55")
    (big,) = shown(netns["large"], "-details", "link", "show", "big")
    assert (big["mtu"], big["gso_max_size"], big["gro_max_size"]) == (1400, 65536, 65536)
    kept = netns["kept"]
    neighbours = shown(kept, "neighbor", "show", "nud", "permanent")
    neighbours += shown(kept, "-6", "neighbor", "show", "nud", "permanent")
    found = {(each["dst"], each["dev"], each["lladdr"]) for each in neighbours}
    assert found == {
        ("192.0.2.9", "kept0", "02:00:00:00:00:99"),
        ("2001:db8:5::9", "kept0", "02:00:00:00:00:9a"),
    }
    (way,) = shown(kept, "route", "show", "table", "777")
    assert (way["dst"], way["gateway"], way["dev"]) == ("203.0.113.0/24", "192.0.2.1", "kept0")
    (rule,) = [each for each in shown(kept, "rule", "show") if each["table"] == "777"]
    assert (rule["priority"], rule["src"], rule["srclen"]) == (500, "10.20.30.0", 24)
    own = [
        each
        for each in shown(kept, "-6", "route", "show", "dev", "kept0")
        if each["dst"] == "2001:db8:5::/96"
    ]
    assert [each["protocol"] for each in own] == ["kernel"]  # once: none was copied beside it


def test_examples_that_were_converted_run(tmp_path: Path) -> None:
    """Every shape: pods have what they ask for, and those behind a router reach each other."""
    manifests = converted(tmp_path, *EXAMPLES, GPU_CLASS)

    async def whole() -> int:
        trial = Trial(
            topology=topology(),
            manifests=manifests,
            driver_names=(DRIVER_NAME,),
            programs={"gpu.example.com": [str(GPU), "--gpus", "1", "--pcie-root", ROOT]},
            timeout_s=LONG_S,
        )
        until_s = asyncio.get_running_loop().time() + LONG_S
        async with AsyncExitStack() as stack:
            cluster = await start_cluster(trial, stack, until_s)
            ip_batch(cluster, NODE, FURNISH)
            result = await start_pods(cluster, trial, until_s)
            assert {each.name: each.reason for each in result.pods if each.reason} == {}
            by_name = {each.owner.partition(" ")[2] or each.name: each for each in result.pods}
            assert {
                name: {each.name: each.ips for each in pod.interfaces}
                for name, pod in by_name.items()
            } == INTERFACES
            netns = {name: cluster.netns_of(each.uid) for name, each in by_name.items()}
            check_insides(netns)
            assert await ping(netns["host-0"], "10.101.0.10")
            assert await ping(netns["host-1"], "10.100.0.10")
        return 0

    assert contained(lambda: asyncio.run(whole())) == 0


async def started(cluster: EmbeddedCluster) -> asyncio.subprocess.Process:
    """Start the driver, which may end before the cluster does, and wait until it serves."""
    (node,) = cluster.nodes
    process = await asyncio.create_subprocess_exec(
        *DriverOptions(DRIVER_NAME, KUBECONFIG, flags=(f"--policy={PRIVILEGED}",)).command(
            node.place, node.pod_subnets
        ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        preexec_fn=enter_node(node.place, cluster.topology.all_links(NODE)),
    )
    await node.drivers.wait_registered(DRIVER_NAME)
    return process


async def ended(cluster: EmbeddedCluster, process: asyncio.subprocess.Process) -> None:
    """End the driver as its container is ended, and see that its sockets are gone."""
    (node,) = cluster.nodes
    assert len(sockets(node.place)) == 2
    process.terminate()
    assert await process.wait() == 0
    assert sockets(node.place) == []
    while node.drivers.is_registered(DRIVER_NAME):  # noqa: ASYNC110 (nobody tells of it)
        await asyncio.sleep(POLL_S)


def sockets(place: NodePlace) -> list[Path]:
    """The sockets by which kubelet finds and calls drivers."""
    return [path for path in place.kubelet_dir.rglob("*.sock") if path.is_socket()]


def device(cluster: EmbeddedCluster, name: str) -> dict[str, Any]:
    """A device as the node offers it; nothing if it does not."""
    devices = [each for found in cluster.store.list(SLICE) for each in found["spec"]["devices"]]
    return next((each for each in devices if each["name"] == name), {})


def at_home(netns: str) -> list[list[str]]:
    """What the node has on the link, as far as somebody entered it; nothing if it is away."""
    links = shown(netns, "address", "show", "dev", "kept0", "scope", "global")
    routes = shown(netns, "route", "show", "dev", "kept0", "table", "all")
    neighbours = shown(netns, "neighbor", "show", "dev", "kept0", "nud", "permanent")
    return [
        [each["local"] for link in links for each in link.get("addr_info", []) if each],
        [each["dst"] for each in routes if each.get("protocol") != "kernel"],
        sorted(each["dst"] for each in neighbours),
    ]


def test_a_link_comes_back_again_and_again(tmp_path: Path) -> None:
    """With all that it had, and its device is in the slice unchanged; the next pod has it so.

    A driver that was ended meanwhile, and one that missed the end of a pod, make no difference.
    """
    asked = claim_spec(request("nic", DRIVER, named("kept0")))
    manifests = converted(
        tmp_path, device_class(DRIVER), template("kept", asked), deployment("kept", "kept")
    )
    (workload,) = [each for each in manifests.items if each.kind == DEPLOYMENT.name]

    async def ready(cluster: EmbeddedCluster) -> str:
        """Wait for the pod; returns its namespace."""

        def now() -> tuple[PodOutcome, ...]:
            return outcomes(cluster.store, [DRIVER_NAME])

        await cluster.store.wait_for(lambda: settled(now(), 1))
        (pod,) = now()
        assert [(each.name, each.ips) for each in pod.interfaces] == [
            ("kept0", ("192.0.2.7/24", "2001:db8:5::7/96"))
        ], pod.reason
        return cluster.netns_of(pod.uid)

    async def whole() -> int:
        pace = Pace(prepare_s=0.05, sandbox_s=0.05, unprepare_s=0.05)
        async with embedded_cluster(topology(), [], pace=pace) as cluster:
            store, node = cluster.store, str(cluster.nodes[0].place.netns)
            ip_batch(cluster, NODE, FURNISH)
            process = await started(cluster)
            await store.wait_for(lambda: "ipv4" in str(device(cluster, "kept0")))
            home, offered = at_home(node), device(cluster, "kept0")
            assert list(create_all(cluster.verbs, manifests.items)) == []
            await ready(cluster)
            assert at_home(node) == [[], [], []]
            assert device(cluster, "kept0") == offered

            await gone(cluster)
            assert at_home(node) == home
            assert device(cluster, "kept0") == offered

            assert list(create_all(cluster.verbs, [workload])) == []
            await ready(cluster)
            await ended(cluster, process)
            process = await started(cluster)
            assert device(cluster, "kept0") == offered

            await ended(cluster, process)
            cluster.verbs.delete(DEPLOYMENT, "kept", "default")
            await store.wait_for(lambda: not any(map(alive, store.list(POD))))
            process = await started(cluster)
            await gone(cluster)
            await store.wait_for(lambda: not device(cluster, "kept0"))
            ip_batch(cluster, NODE, MADE_AGAIN + FURNISH)  # a veth ends with the pod's namespace
            await store.wait_for(lambda: "ipv4" in str(device(cluster, "kept0")))
            assert list(create_all(cluster.verbs, [workload])) == []
            netns = await ready(cluster)
            assert shown(netns, "neighbor", "show", "dev", "kept0", "nud", "permanent")
            await ended(cluster, process)
        return 0

    assert contained(lambda: asyncio.run(whole())) == 0


async def gone(cluster: EmbeddedCluster) -> None:
    """Delete the workload if it is there, and wait until nothing is left of it."""
    if cluster.store.get(DEPLOYMENT, "kept", "default") is not None:
        cluster.verbs.delete(DEPLOYMENT, "kept", "default")
    await cluster.store.wait_for(lambda: not any(cluster.store.list(POD)))
    await cluster.store.wait_for(lambda: not any(cluster.store.list(CLAIM)))


def alive(pod: dict[str, Any]) -> bool:
    """Whether nobody has said that a pod is to end."""
    return "deletionTimestamp" not in pod["metadata"]
