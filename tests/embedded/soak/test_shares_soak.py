"""Shares of a link come and go, by the hundred and through restarts, and nothing is left of them.

Each pod has four, by one claim. NETCLAIM_SHARES=N has N shares at a time, a multiple of four, and
NETCLAIM_SHARES_ROUNDS=N lets them come and go N times; `make soak` has 300 and 3.
"""

import asyncio
import copy
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from netclaim.local.cluster import EmbeddedCluster, embedded_cluster
from netclaim.local.input.topology_file import load_topology
from netclaim.local.machine import contained
from netclaim.local.node.kubelet import Pace
from netclaim.local.result.outcome import outcomes
from netclaim.local.topology import DEFAULT_TOPOLOGY
from netclaim.schema.kinds import CLAIM, CLASS, TEMPLATE
from tests.embedded.local.test_cluster import (
    DRIVER,
    add_pod,
    all_gone,
    claim_spec,
    make,
)
from tests.embedded.soak.test_soak import NODE, left_of_pods

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(3600)]

SHARES: Final = int(os.environ.get("NETCLAIM_SHARES", "12"))
AT_ONCE: Final = 5  # pods, of which the driver lets no namespace start too many
A_POD: Final = 4  # 75 pods for 300 shares: a node has room for 110
ROUNDS: Final = int(os.environ.get("NETCLAIM_SHARES_ROUNDS", "2"))
RESPAWN: Final = Path(__file__).parent / "respawn.py"


def shared_claim() -> dict[str, Any]:
    """A claim for four macvlans, each with a share of eth1 and an address of a large network."""
    one = claim_spec("eth1", "10.20.0.0/16")["devices"]
    del one["requests"][0]["exactly"]["adminAccess"]
    requests, configs = [], []
    for number in range(A_POD):
        request, config = copy.deepcopy((one["requests"][0], one["config"][0]))
        request["name"] = f"r{number}"
        config["requests"] = [request["name"]]
        config["opaque"]["parameters"]["interface"] = f"net{number + 1}"
        requests.append(request)
        configs.append(config)
    return {"devices": {"requests": requests, "config": configs}}


def on_the_node(cluster: EmbeddedCluster) -> dict[str, Any]:
    """The node's links and queues, and whatever else comes and goes with pods."""
    (node,) = (node for node in cluster.nodes if node.place.name == NODE)
    tc = ["nsenter", f"--net={node.place.netns}", "tc", "-j", "qdisc", "show"]
    ip = ["nsenter", f"--net={node.place.netns}", "ip", "-j", "link", "show"]
    shown = {
        "queues": [(one["dev"], one["kind"]) for one in json.loads(_printed(tc))],
        "links": sorted(link["ifname"] for link in json.loads(_printed(ip))),
    }
    return {**shown, **left_of_pods(cluster)}


def _printed(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_shares_come_and_go() -> None:
    """With a driver that is killed while pods have them; no share is given twice at a time."""

    async def whole(notes: Path) -> int:
        line = (str(RESPAWN), str(notes), f"--driver-name={DRIVER}", f"--attachments=eth1={SHARES}")
        pace = Pace(prepare_s=0.05, sandbox_s=0.05, unprepare_s=0.05)
        topology = load_topology(DEFAULT_TOPOLOGY)
        async with embedded_cluster(topology, [], programs={DRIVER: line}, pace=pace) as cluster:
            make(cluster, CLASS, "c", {})
            make(cluster, TEMPLATE, "t", {"spec": shared_claim()})
            before = on_the_node(cluster)
            for number in range(ROUNDS):
                await come_and_go(cluster, notes)
                sys.stdout.write(f"round {number + 1}: {SHARES} shares\n")
                assert on_the_node(cluster) == before
        return 0

    with TemporaryDirectory(prefix="nc") as directory:
        notes = Path(directory) / "pids"
        assert contained(lambda: asyncio.run(whole(notes))) == 0


def all_ready(cluster: EmbeddedCluster) -> bool:
    """Whether all pods have their interfaces; one that was refused is tried again."""
    return all(pod.state == "ready" for pod in outcomes(cluster.store, [DRIVER]))


def kill_drivers(notes: Path, count: int) -> None:
    """Kill the drivers that were started last; their supervisor starts others."""
    for pid in notes.read_text().split()[-count:]:
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


async def come_and_go(cluster: EmbeddedCluster, notes: Path) -> None:
    """Let pods take all shares of a link, restart the drivers, and let the pods go."""
    for first in range(0, SHARES // A_POD, AT_ONCE):
        for number in range(first, min(first + AT_ONCE, SHARES // A_POD)):
            add_pod(cluster, f"p{number}", resourceClaimTemplateName="t")
        await cluster.store.wait_for(lambda: all_ready(cluster))
    results = [
        result
        for each in cluster.store.list(CLAIM)
        for result in each["status"]["allocation"]["devices"]["results"]
    ]
    assert {each["device"] for each in results} == {"eth1"}
    assert len({each["shareID"] for each in results}) == SHARES
    kill_drivers(notes, len(cluster.nodes))
    await all_gone(cluster)  # which takes a driver on the node that has the pods
    await cluster.store.wait_for(lambda: not list(cluster.store.list(CLAIM)))
