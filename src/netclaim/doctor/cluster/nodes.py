"""The nodes of a cluster, as the API server knows them: ready, new enough, with the right time."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from netclaim.doctor.cluster.sight import ClusterSight
from netclaim.doctor.finding import Finding, check, error, ok, skipped, unknown, warning
from netclaim.doctor.releases import OLDEST, Release, has_nri_off
from netclaim.kube import LEASES, NotFoundError, Selection
from netclaim.model.claims.claim import JsonObject
from netclaim.screen.words import counted, listed

NODE_LEASES: Final = Selection(LEASES, namespace="kube-node-lease")
SKEW_MAX: Final = 3  # minor releases that a kubelet may be behind the API server
AHEAD_MAX: Final = timedelta(seconds=5)  # the server's own clock, whole seconds, and the way
BEHIND_MAX: Final = timedelta(seconds=60)  # kubelet renews every 10 s; a busy one may be late
SET_THE_CLOCK: Final = "synchronise the clock, for example with `timedatectl set-ntp true`"
TROUBLE: Final = ("NetworkUnavailable", "DiskPressure", "MemoryPressure", "PIDPressure")


@check("nodes-ready", "Nodes", why="a node that is not ready starts no pods")
async def nodes_ready(cluster: ClusterSight) -> Finding:
    """Look at the conditions of each node."""
    nodes = await cluster.nodes()
    if not nodes:
        return error("the cluster has no nodes", "add a node")
    down = [_name(node) for node in nodes if _condition(node, "Ready") == "False"]
    silent = [_name(node) for node in nodes if _condition(node, "Ready") == "Unknown"]
    strained = [
        f"{_name(node)} ({', '.join(bad)})"
        for node in nodes
        if (bad := [kind for kind in TROUBLE if _condition(node, kind) == "True"])
    ]
    if down or silent:
        return warning(
            f"not ready: {listed([*down, *silent])}", f"kubectl describe node {[*down, *silent][0]}"
        )
    if strained:
        return warning(
            f"under pressure: {listed(strained)}",
            f"kubectl describe node {strained[0].partition(' ')[0]}",
        )
    return ok(counted(len(nodes), "ready node"))


@check(
    "nodes-kubelet",
    "Kubelet versions",
    why="kubelet must know DRA's plugin protocol, which is in 1.32 and later",
)
async def node_versions(cluster: ClusterSight) -> Finding:
    """Compare each kubelet with what is supported, and with the API server."""
    server = await cluster.release()
    versions = {_name(node): _info(node, "kubeletVersion") for node in await cluster.nodes()}
    old, apart = [], []
    for name, said in versions.items():
        release = Release.read(said)
        if release is None:
            continue
        if release < OLDEST:
            old.append(f"{name} ({said})")
        elif release > server or server.minor - release.minor > SKEW_MAX:
            apart.append(f"{name} ({said})")
    if old:
        return error(f"older than {OLDEST}: {listed(old)}", f"upgrade kubelet to {OLDEST}")
    if apart:
        return warning(
            f"too far from the API server's {server}: {listed(apart)}",
            f"upgrade these kubelets; they may be {SKEW_MAX} minor versions behind, and not ahead",
        )
    return ok(_values(versions.values()) or "no node reports a version")


@check(
    "nodes-runtime",
    "Container runtimes",
    why="the runtime's plugin interface NRI is on by default since containerd 2.0",
)
async def node_runtimes(cluster: ClusterSight) -> Finding:
    """Look for containerd releases that have NRI switched off unless configured."""
    versions = {
        _name(node): _info(node, "containerRuntimeVersion") for node in await cluster.nodes()
    }
    old = []
    for name, said in versions.items():
        runtime, _, version = said.partition("://")
        if has_nri_off(runtime, version):
            old.append(f"{name} ({said})")
    if old:
        return warning(
            f"NRI is off by default: {listed(old)}",
            'set `disable = false` in [plugins."io.containerd.nri.v1.nri"] of'
            " /etc/containerd/config.toml and restart containerd; or run the driver with"
            " --runtime-hook=cni",
        )
    return ok(_values(versions.values()) or "no node reports a runtime")


@check(
    "clock",
    "Clock of this machine",
    why="tokens and certificates are valid by the clock, and logs are compared by it",
)
async def clock(cluster: ClusterSight) -> Finding:
    """Compare this machine's clock with the API server's."""
    server = await cluster.client.server_time()
    if server is None:
        return unknown("the API server does not say what time it is")
    apart = cluster.clock() - server
    if abs(apart) > AHEAD_MAX:
        return warning(
            f"{_seconds(apart)} the API server's; one of the two is wrong", SET_THE_CLOCK
        )
    return ok("as the API server's")


@check(
    "nodes-clock",
    "Clocks of the nodes",
    why="a node whose clock is wrong is refused by the API server, or reports wrong times",
)
async def node_clocks(cluster: ClusterSight) -> Finding:
    """Compare the times of the kubelets' last lease renewals with the API server's clock."""
    ready = {_name(node) for node in await cluster.nodes() if _condition(node, "Ready") == "True"}
    try:
        leases = await cluster.list(NODE_LEASES)
    except NotFoundError:
        return skipped("the API server does not serve leases")
    now = await cluster.client.server_time() or cluster.clock()
    wrong, seen = [], 0
    for lease in leases:
        said = (lease.get("spec") or {}).get("renewTime")
        if _name(lease) not in ready or not said:
            continue
        seen += 1
        apart = datetime.fromisoformat(said) - now
        if apart > AHEAD_MAX or -apart > BEHIND_MAX:
            wrong.append(f"{_name(lease)} ({_seconds(apart)} the API server's)")
    if wrong:
        return warning(f"wrong, or kubelet is stuck: {listed(wrong)}", f"{SET_THE_CLOCK}, there")
    return ok(f"{counted(seen, 'node')} as the API server") if seen else skipped("no node leases")


def _condition(node: JsonObject, kind: str) -> str:
    conditions: list[dict[str, Any]] = (node.get("status") or {}).get("conditions") or []
    found = next((each for each in conditions if each.get("type") == kind), None)
    return str(found.get("status")) if found else ""


def _name(found: JsonObject) -> str:
    return str(found["metadata"]["name"])


def _info(node: JsonObject, key: str) -> str:
    return str(((node.get("status") or {}).get("nodeInfo") or {}).get(key) or "")


def _values(found: Iterable[str]) -> str:
    return ", ".join(sorted({each for each in found if each}))


def _seconds(apart: timedelta) -> str:
    total = apart.total_seconds()
    return f"{abs(total):.0f} s {'ahead of' if total > 0 else 'behind'}"
