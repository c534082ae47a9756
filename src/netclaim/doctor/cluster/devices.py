"""What the driver offers, as the cluster sees it: slices of devices, and classes for them."""

import json
from collections.abc import Iterable
from typing import Final

from netclaim.allocator import Slice
from netclaim.allocator.cel import CelError, compile_selector
from netclaim.doctor.cluster.sight import ClusterSight
from netclaim.doctor.finding import Finding, check, error, ok, skipped, warning
from netclaim.kube import ForbiddenError, NotFoundError, Selection, dra_resource
from netclaim.manifests.kinds import GROUP
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.dra.ids import DeviceId
from netclaim.model.api.dra.slice import ResourceSlice
from netclaim.model.api.dra.taint import KEEPS_AWAY, DeviceTaintRule
from netclaim.model.claims.claim import JsonObject
from netclaim.screen.words import counted, listed
from netclaim.survey.cluster import RULE, RULE_VERSIONS
from netclaim.survey.pools import Pool, pools_of
from netclaim.survey.room import ROOM, full_devices

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
        grave = error if found else warning
        return grave(
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
    slices = [ResourceSlice.read(each) for each in await cluster.slices()]
    pools = pools_of(slices)
    if not pools:
        return skipped(f"there are no slices of {cluster.driver}")
    partial = [fault for pool in pools if (fault := _incomplete(pool))]
    if partial:
        return error(
            listed(partial),
            "look in the driver's log on that node for `retry` with `what` equal to `publish`, and"
            " its reason; restarting the driver there publishes everything anew",
        )
    devices = sum(len(each.spec.devices) for each in slices)
    return ok(f"{counted(len(pools), 'pool')} with {counted(devices, 'device')}")


@check(
    "slices-orphaned",
    "Slices of nodes that are gone",
    why="they offer devices that do not exist",
)
async def slices_orphaned(cluster: ClusterSight) -> Finding:
    """Look for slices whose node does not exist."""
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
    "devices-tainted",
    "Devices that are tainted",
    why="no new pod gets them, and by the effect NoExecute pods that have them are evicted",
)
async def devices_tainted(cluster: ClusterSight) -> Finding:
    """Look for taints of the driver, and for those of an admin's DeviceTaintRules."""
    rules = [DeviceTaintRule.read(each) for each in await _rules(cluster)]
    tainted: dict[str, list[str]] = {}
    for part in (ResourceSlice.read(each) for each in await cluster.slices()):
        for device in part.spec.devices:
            if device.pod_network:
                continue  # it has the taints of its link
            name = f"{part.spec.pool.name}/{device.name}"
            for taint in device.taints:
                if taint.effect in KEEPS_AWAY:
                    tainted.setdefault(f"{taint.key}:{taint.effect}", []).append(name)
            for rule in rules:
                if rule.concerns(DeviceId(cluster.driver, part.spec.pool.name, device.name)):
                    tainted.setdefault(f"DeviceTaintRule {rule.metadata.name}", []).append(name)
    if tainted:
        return warning(
            "; ".join(f"{why}: {listed(names)}" for why, names in tainted.items()),
            "`netclaim status links` shows who uses them; docs/health.md says what the driver's own"
            " taints mean, and `kubectl delete devicetaintrule NAME` removes a rule's",
        )
    return ok("none")


@check(
    "links-room",
    "Links that are nearly full",
    why="a pod whose claim fits on no link stays pending",
)
async def links_room(cluster: ClusterSight) -> Finding:
    """Compare what claims have of the links that they share with what there is."""
    pools = pools_of(ResourceSlice.read(each) for each in await cluster.slices())
    claims = map(ResourceClaim.read, await cluster.dra("ResourceClaim"))
    full = [f"{each.name}: {each}" for each in full_devices(pools, claims)]
    return warning(listed(full), ROOM) if full else ok("none")


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


async def _rules(cluster: ClusterSight) -> tuple[JsonObject, ...]:
    """Return the DeviceTaintRules; none if there is no such kind, or we may not list it."""
    for version in RULE_VERSIONS:
        try:
            return await cluster.list(Selection(dra_resource(RULE, version)))
        except NotFoundError:
            continue
        except ForbiddenError:
            break
    return ()


def _incomplete(pool: Pool) -> str:
    if len(pool.slices) != pool.expected:
        return f"pool {pool.name} has {len(pool.slices)} of {pool.expected} slices"
    if pool.outdated:
        return f"pool {pool.name} has {pool.outdated} slices of an older generation"
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
    return any(driver in expression for expression in found.expressions)


def _selects(found: DeviceClass, slices: Iterable[Slice]) -> bool:
    try:
        selectors = [compile_selector(expression) for expression in found.expressions]
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
