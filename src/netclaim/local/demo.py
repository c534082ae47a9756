"""`netclaim demo`: the demo of the KubeCon talk, in its order, on an embedded cluster.

It shows the environment, the slices, the request, the claims, one claim, the pods, one pod's
interfaces, and a ping between two of them; then a pod that gets the same from a PodNetwork, by one
line.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from netclaim.kernel import open_netns
from netclaim.local.cluster import EmbeddedCluster
from netclaim.local.input.manifests import read_manifests
from netclaim.local.ip_text import ip_addresses, ip_links
from netclaim.local.ping import ping
from netclaim.local.result.outcome import PodOutcome
from netclaim.local.result.show import Result, show_result
from netclaim.local.staying_up import wait_for_user
from netclaim.local.trial import (
    ALL_WELL,
    SOME_FAILED,
    Trial,
    quiet_logs,
    start_cluster,
    start_pods,
)
from netclaim.manifests.text.yaml_dialect import dump
from netclaim.model.claims.claim import JsonObject
from netclaim.network.policy.levels import Level
from netclaim.schema.kinds import CLAIM, CLASS, DEPLOYMENT, NODE, POD_NETWORK, SLICE, TEMPLATE
from netclaim.screen import Screen

DEMO: Final = Path(__file__).parent / "kubecon-demo.yaml"
ONE_LINE: Final = Path(__file__).parent / "one-line.yaml"  # after it
PINGS: Final = 3
POD_COLUMNS: Final = ("NAME", "READY", "STATUS", "IP", "NODE", "INTERFACE")
ABOUT_LEVELS: Final = {
    Level.RESTRICTED: "a claim only names its interface; its DeviceClass sets the rest",
    Level.BASELINE: "claims may bring their own networks, but not reach the node or other tenants",
    Level.PRIVILEGED: "a claim may do everything to the node's network",
}


async def tell(trial: Trial, screen: Screen) -> int:
    """Run the demo and show it; returns the exit code."""
    quiet_logs()
    started_s = time.monotonic()
    until_s = asyncio.get_running_loop().time() + trial.timeout_s
    async with AsyncExitStack() as stack:
        with screen.working(f"starting {len(trial.topology.nodes)} nodes, each with its driver"):
            cluster = await start_cluster(trial, stack, until_s)
        await _environment(cluster, screen)
        _slices(cluster, screen)
        if trial.beside is not None:  # it may wait for somebody who looks
            opening_s = time.monotonic()
            await stack.enter_async_context(trial.beside(screen))
            waited_s = time.monotonic() - opening_s
            started_s, until_s = started_s + waited_s, until_s + waited_s
        with screen.working("starting the pods"):
            result = await start_pods(cluster, trial, until_s)
        took_s = time.monotonic() - started_s
        if not _is_well(result, screen):
            return SOME_FAILED
        pods = result.pods
        await cluster.store.wait_for(lambda: _is_counted(cluster))
        _request(cluster, screen)
        _claims(cluster, screen)
        _pods(pods, screen)
        await _inside(cluster, pods, screen)
        began_s = time.monotonic()
        with screen.working("starting one more pod"):
            result = await _start_one_line(cluster, trial)
        took_s += time.monotonic() - began_s
        if not _is_well(result, screen):
            return SOME_FAILED
        before = {pod.uid for pod in pods}
        await _one_line(cluster, next(p for p in result.pods if p.uid not in before), screen)
        screen.line("")
        screen.line(
            f"{len(result.pods)} pods on {len(cluster.nodes)} nodes, each with an interface of its"
            f" own: {took_s:.1f} s from nothing, without a cluster",
            good=True,
        )
        if trial.keep:
            await wait_for_user(cluster, screen)
    return ALL_WELL


def _is_well(result: Result, screen: Screen) -> bool:
    """Whether all pods have started; shows which have not."""
    if not result.is_well:
        show_result(result, screen)
    return result.is_well


async def _start_one_line(cluster: EmbeddedCluster, trial: Trial) -> Result:
    """Start the pod that names a PodNetwork, with as much time as the others had."""
    manifests = read_manifests([str(ONE_LINE)])
    until_s = asyncio.get_running_loop().time() + trial.timeout_s
    return await start_pods(cluster, replace(trial, manifests=manifests), until_s)


async def _environment(cluster: EmbeddedCluster, screen: Screen) -> None:
    screen.title("Environment")
    screen.command("kubectl get nodes -o wide")
    screen.table(
        ("NAME", "STATUS", "INTERNAL-IP", "DRIVERS"),
        [
            (
                node["metadata"]["name"],
                "Ready",
                node["status"]["addresses"][0]["address"],
                ",".join(cluster.driver_names),
            )
            for node in cluster.store.list(NODE)
        ],
    )
    screen.line(f"policy level {cluster.policy}: {ABOUT_LEVELS[cluster.policy]}")
    for node in cluster.nodes:
        screen.command(f"nsenter --net={node.place.netns} ip -br link")
        screen.table(("LINK", "STATE", "MAC", "FLAGS"), await ip_links(node.netns))


def _slices(cluster: EmbeddedCluster, screen: Screen) -> None:
    screen.title("What the nodes offer: ResourceSlices")
    screen.command("kubectl get resourceslices")
    screen.table(
        ("NAME", "NODE", "DRIVER", "POOL", "DEVICES"),
        [
            (
                found["metadata"]["name"],
                found["spec"].get("nodeName", ""),
                found["spec"]["driver"],
                found["spec"]["pool"]["name"],
                ", ".join(device["name"] for device in found["spec"].get("devices", ())),
            )
            for found in cluster.store.list(SLICE)
        ],
    )


def _request(cluster: EmbeddedCluster, screen: Screen) -> None:
    screen.title("What the pods request: a macvlan on eth1, which only kind-worker has")
    template = next(cluster.store.list(TEMPLATE))
    screen.command(f"kubectl get resourceclaimtemplate {template['metadata']['name']} -o yaml")
    screen.block(dump({"spec": template["spec"]}), "yaml")
    deployment = next(cluster.store.list(DEPLOYMENT))
    screen.command("kubectl get deployments")
    counts = deployment["status"]
    screen.table(
        ("NAME", "READY", "UP-TO-DATE", "AVAILABLE"),
        [
            (
                deployment["metadata"]["name"],
                f"{counts.get('readyReplicas', 0)}/{deployment['spec']['replicas']}",
                str(counts.get("updatedReplicas", 0)),
                str(counts.get("availableReplicas", 0)),
            )
        ],
    )


def _is_counted(cluster: EmbeddedCluster) -> bool:
    """Whether the Deployment's controller has counted its ready pods."""
    found = next(cluster.store.list(DEPLOYMENT))
    return bool(found["status"].get("readyReplicas") == found["spec"]["replicas"])


def _claims(cluster: EmbeddedCluster, screen: Screen) -> None:
    screen.title("What was allocated: ResourceClaims")
    screen.command("kubectl get resourceclaims")
    claims = list(cluster.store.list(CLAIM))
    screen.table(
        ("NAME", "STATE", "AGE"),
        [(claim["metadata"]["name"], _state(claim), _age(claim)) for claim in claims],
    )
    screen.command(f"kubectl get resourceclaim {claims[0]['metadata']['name']} -o yaml")
    screen.block(dump({"status": claims[0]["status"]}), "yaml")


def _state(claim: JsonObject) -> str:
    status = claim.get("status", {})
    words = [word for word, key in (("allocated", "allocation"), ("reserved", "reservedFor"))
             if status.get(key)]  # fmt: skip
    return ",".join(words) or "pending"


def _age(obj: JsonObject) -> str:
    made = datetime.fromisoformat(obj["metadata"]["creationTimestamp"])
    return f"{max(0, round((datetime.now(UTC) - made).total_seconds()))}s"


def _pods(pods: Sequence[PodOutcome], screen: Screen) -> None:
    screen.title("Where the pods run")
    screen.command("kubectl get pods -o wide")
    screen.table(
        POD_COLUMNS,
        [_row(pod) for pod in pods],
    )


def _row(pod: PodOutcome) -> tuple[str, ...]:
    return (pod.name, "1/1", "Running", pod.ip, pod.node, _interface(pod))


def _interface(pod: PodOutcome) -> str:
    return ", ".join(f"{one.name} {' '.join(one.ips)}" for one in pod.interfaces)


async def _inside(cluster: EmbeddedCluster, pods: Sequence[PodOutcome], screen: Screen) -> None:
    """Show one pod's interfaces, and a ping to another over the one it claimed."""
    first, second = pods[0], pods[1]
    screen.title("Inside a pod: its interfaces, and a ping to another pod")
    netns = cluster.netns_of(first.uid)
    screen.command(f"kubectl exec {first.name} -- ip a")
    with open_netns(netns) as opened:
        screen.block(await ip_addresses(opened))
    address = second.interfaces[0].ips[0].partition("/")[0]
    screen.command(f"kubectl exec {first.name} -- ping -c {PINGS} {address}    # {second.name}")
    pongs = await ping(netns, address, PINGS)
    for pong in pongs:
        took = f"{pong.milliseconds:.3f} ms"
        screen.line(f"64 bytes from {address}: icmp_seq={pong.sequence} time={took}")
    received = f"{PINGS} packets transmitted, {len(pongs)} received"
    screen.line(received, good=len(pongs) == PINGS)


async def _one_line(cluster: EmbeddedCluster, pod: PodOutcome, screen: Screen) -> None:
    """Show the network, the pod that names it, and what the pod got."""
    screen.title("The short way: a network that an admin describes once, and a pod that names it")
    screen.command(f"cat {ONE_LINE.name}")
    screen.block(ONE_LINE.read_text().partition("\n")[2].rstrip(), "yaml")  # but for its comment
    network = next(cluster.store.list(POD_NETWORK))["metadata"]["name"]
    screen.command(f"kubectl get deviceclass,resourceclaimtemplate {network} -o name")
    for kind in (CLASS, TEMPLATE):
        if any(found["metadata"]["name"] == network for found in cluster.store.list(kind)):
            screen.line(f"{kind.name.lower()}.resource.k8s.io/{network}")
    screen.command(f"kubectl get pod {pod.name} -o wide")
    screen.table(POD_COLUMNS, [_row(pod)])
    screen.command(f"kubectl exec {pod.name} -- ip a show {network}")
    with open_netns(cluster.netns_of(pod.uid)) as opened:
        screen.block(await ip_addresses(opened, network))
