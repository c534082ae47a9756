"""What the driver publishes, as the cluster sees it: slices, classes, and the claims on them."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from netclaim.allocator import DeviceClass, Slice
from netclaim.allocator.cel import CelError, compile_selector
from netclaim.doctor.cluster_sight import PENDING, ClusterSight
from netclaim.doctor.finding import Finding, check, counted, error, listed, ok, skipped, warning
from netclaim.manifests.conversion import GROUP
from netclaim.model.claim import JsonObject

__all__ = [
    "claims_ready",
    "claims_waiting",
    "device_class",
    "slices_complete",
    "slices_of_nodes",
    "slices_orphaned",
]

# A claim is allocated and its pod started within seconds; kubelet retries after 60 to 90 s.
PATIENCE: Final = timedelta(minutes=2)
CLASS_NAME: Final = "cni.networking.x-k8s.io"  # what manifests in the wild say


@check(
    "slices-nodes",
    "Every node has slices",
    why="the scheduler gives out only what is in ResourceSlices",
)
async def slices_of_nodes(cluster: ClusterSight) -> Finding:
    """Compare the nodes, or those that run the driver's pods, with the slices."""
    having = {each["spec"].get("nodeName") for each in await cluster.slices()}
    names = {str(node["metadata"]["name"]) for node in await cluster.nodes()}
    found = await cluster.daemon_set()
    running = (
        {pod["spec"].get("nodeName") for pod in await cluster.driver_pods()} if found else set()
    )
    wanted = sorted(names & running if found else names)
    lacking = [name for name in wanted if name not in having]
    if not having & names:
        return error(
            f"no node has slices of {cluster.driver}",
            "start the driver on the nodes; `netclaim doctor --node` on one of them shows what"
            " keeps it from publishing. If it has another name, use --driver-name",
        )
    if lacking:
        tell = error if found else warning
        return tell(
            f"{len(lacking)} of {len(wanted)} nodes have none: {listed(lacking)}",
            f"run `netclaim doctor --node` on {lacking[0]}, and look at the driver's log there",
        )
    return ok(f"{len(wanted)} of {len(wanted)} nodes have slices")


@check(
    "slices-complete",
    "Slices are complete",
    why="the scheduler ignores a pool until all slices of its newest generation are there",
)
async def slices_complete(cluster: ClusterSight) -> Finding:
    """Count the slices of each pool's newest generation."""
    pools: defaultdict[str, list[JsonObject]] = defaultdict(list)
    for each in await cluster.slices():
        pools[str(each["spec"]["pool"]["name"])].append(each)
    if not pools:
        return skipped(f"there are no slices of {cluster.driver}")
    partial = [fault for name in sorted(pools) if (fault := _incomplete(name, pools[name]))]
    if partial:
        return error(
            listed(partial),
            "look at the driver's log on that node for publish.failed; restarting the driver there"
            " publishes everything anew",
        )
    devices = sum(
        len(each["spec"].get("devices") or ()) for found in pools.values() for each in found
    )
    return ok(f"{counted(len(pools), 'pool')} with {counted(devices, 'device')}")


@check(
    "slices-orphaned",
    "Slices of nodes that are gone",
    why="they offer devices that do not exist",
)
async def slices_orphaned(cluster: ClusterSight) -> Finding:
    """Look for slices whose node there is not."""
    names = {node["metadata"]["name"] for node in await cluster.nodes()}
    orphans = [
        str(each["metadata"]["name"])
        for each in await cluster.slices()
        if each["spec"].get("nodeName") and each["spec"]["nodeName"] not in names
    ]
    if orphans:
        return warning(
            f"{listed(orphans)}", f"kubectl delete resourceslice {' '.join(orphans[:5])}"
        )
    return ok("none")


@check(
    "device-class",
    "A class for the devices",
    why="a claim names a DeviceClass; one of them has to select the driver's devices",
)
async def device_class(cluster: ClusterSight) -> Finding:
    """Evaluate the selectors of each class on the driver's devices."""
    classes = [DeviceClass.read(each) for each in await cluster.dra("DeviceClass")]
    slices = [Slice.read(each) for each in await cluster.slices()]
    remedy = _class_command(cluster.driver, await cluster.dra_version())
    if not classes:
        return error("the cluster has no DeviceClass", remedy)
    if not any(each.devices for each in slices):  # what would be selected cannot be seen
        named = [each.name for each in classes if _mentions(each, cluster.driver)]
        return ok(listed(named)) if named else warning("no DeviceClass names the driver", remedy)
    fitting = [each.name for each in classes if _selects(each, slices)]
    if not fitting:
        return error(f"none of {len(classes)} classes selects a device of {cluster.driver}", remedy)
    return ok(listed(sorted(fitting)))


@check(
    "claims-waiting",
    "Pods that wait for devices",
    why="a pod whose claim fits no device stays pending",
)
async def claims_waiting(cluster: ClusterSight) -> Finding:
    """Look for pods that have been pending with a claim that is not allocated."""
    claims = await cluster.dra("ResourceClaim")
    waiting = {_key(each) for each in claims if not (each.get("status") or {}).get("allocation")}
    pods = [
        _key(pod)
        for pod in await cluster.list(PENDING)
        if waiting & set(_claims_of(pod)) and _is_older(pod, cluster.clock())
    ]
    if pods:
        space, name = pods[0]
        return warning(
            f"{listed(['/'.join(each) for each in pods])}",
            f"netclaim explain pod/{name} -n {space}",
        )
    return ok("none")


@check(
    "claims-ready",
    "Claims whose interface is not ready",
    why="their pods do not start, or have lost an interface",
)
async def claims_ready(cluster: ClusterSight) -> Finding:
    """Look at what the driver reported in the status of claims."""
    failed = [
        (_key(claim), message)
        for claim in await cluster.dra("ResourceClaim")
        for message in _failures(claim, cluster.driver)
    ]
    if failed:
        (space, name), message = failed[0]
        return warning(
            f"{listed(['/'.join(key) for key, _ in failed])}: {message}",
            f"kubectl -n {space} describe resourceclaim {name}",
        )
    return ok("none")


def _failures(claim: JsonObject, driver: str) -> Iterator[str]:
    """Yield why devices of a claim are not ready, in the driver's words."""
    for device in (claim.get("status") or {}).get("devices") or ():
        for condition in device.get("conditions") or ():
            not_ready = condition["type"] == "Ready" and condition["status"] == "False"
            if not_ready and device["driver"] == driver:
                yield str(condition.get("message", ""))


def _incomplete(name: str, slices: Sequence[JsonObject]) -> str:
    newest = max(each["spec"]["pool"]["generation"] for each in slices)
    current = [each for each in slices if each["spec"]["pool"]["generation"] == newest]
    wanted = current[0]["spec"]["pool"]["resourceSliceCount"]
    if len(current) != wanted:
        return f"pool {name} has {len(current)} of {wanted} slices"
    if len(current) != len(slices):
        return f"pool {name} has {len(slices) - len(current)} slices of an older generation"
    return ""


def _class_command(driver: str, version: str) -> str:
    """Return the command that makes a class of all the driver's devices."""
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    made = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "DeviceClass",
        "metadata": {"name": CLASS_NAME},
        "spec": {"selectors": [selector]},
    }
    return f"echo '{json.dumps(made)}' | kubectl apply -f -"


def _mentions(found: DeviceClass, driver: str) -> bool:
    return any(driver in expression for expression in found.selectors)


def _selects(found: DeviceClass, slices: Iterable[Slice]) -> bool:
    try:
        selectors = [compile_selector(expression) for expression in found.selectors]
    except CelError:
        return False
    for device in (device for each in slices for device in each.devices):
        try:
            if not isinstance(device.view, CelError) and all(
                selector.matches(device.view) for selector in selectors
            ):
                return True
        except CelError:
            continue
    return False


def _key(found: JsonObject) -> tuple[str, str]:
    return str(found["metadata"].get("namespace", "")), str(found["metadata"]["name"])


def _claims_of(pod: JsonObject) -> Iterator[tuple[str, str]]:
    space, _ = _key(pod)
    made = {
        each["name"]: each.get("resourceClaimName")
        for each in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    }
    for entry in pod["spec"].get("resourceClaims") or ():
        name = entry.get("resourceClaimName") or made.get(entry["name"])
        if name:
            yield space, str(name)


def _is_older(found: JsonObject, now: datetime) -> bool:
    since = datetime.fromisoformat(found["metadata"]["creationTimestamp"])
    return now - since > PATIENCE
