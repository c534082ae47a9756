"""The controller, and what only it looks at: PodNetworks and AddressPools.

A replica that waits for its turn is as ready as the one that works, so who works is read from the
Lease. Limit: a controller that does not run as a Deployment with the chart's label is not seen.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from netclaim.controller.cluster.objects import ADDRESS_POOLS, POD_NETWORKS
from netclaim.controller.settings import LEASE_NAME
from netclaim.doctor.cluster.sight import ClusterSight
from netclaim.doctor.finding import Finding, check, error, ok, skipped, warning
from netclaim.kube import PODS, ForbiddenError, NotFoundError, Resource, Selection
from netclaim.kube.resource import DEPLOYMENTS, LEASES
from netclaim.model.api.own_kinds.address_pool import AddressPool
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.annotated import NAMESPACE_LABEL, NAMESPACE_VALUE
from netclaim.screen.words import counted, listed
from netclaim.survey.driver_pods import CONTROLLER_PODS, DriverPod
from netclaim.survey.offered import Fault, network_fault, pool_fault

# A replica that works renews its lease every 2 s, and another takes over after 15 s.
PATIENCE: Final = timedelta(minutes=1)
ENABLE: Final = (
    "`helm upgrade netclaim charts/netclaim -n netclaim-system --reuse-values --set"
    " controller.enabled=true`"
)


@check(
    "controller",
    "Controller",
    why="networks, address pools and annotated pods wait while no replica of it works",
)
async def controller(cluster: ClusterSight) -> Finding:
    """Look at its Deployment, at its pods, and at the Lease of the replica that works."""
    found = next(iter(await cluster.list(Selection(DEPLOYMENTS, labels=CONTROLLER_PODS))), None)
    if found is None:
        return await _without(cluster)
    space, name = found["metadata"]["namespace"], found["metadata"]["name"]
    replicas = found["spec"].get("replicas", 1)
    if not replicas:
        scale = f"kubectl -n {space} scale deployment {name} --replicas=2"
        return error(f"{space}/{name} is scaled to 0", scale)
    if missing := await _missing_definitions(cluster):
        said = f"{space}/{name} cannot work: there is no definition of {' and '.join(missing)}"
        return error(said, "`helm upgrade` installs it again")
    selection = Selection(PODS, namespace=space, labels=CONTROLLER_PODS)
    pods = [DriverPod.read(each) for each in await cluster.list(selection)]
    ready = sum(pod.works for pod in pods)
    bad = next((pod for pod in pods if not pod.works), None)
    if not ready:
        return error(f"no replica of {space}/{name} is ready{_why(bad)}", _remedy(space, name, bad))
    if idle := await _idle(cluster, space, [pod.name for pod in pods if not pod.works]):
        logs = f"kubectl -n {space} logs -l {CONTROLLER_PODS}; look at warnings and `error`"
        return error(f"no replica of {space}/{name} works: {idle}", logs)
    said = f"{ready} of {replicas} replicas of {space}/{name} are ready"
    is_whole = ready >= replicas
    return ok(said) if is_whole else warning(f"{said}{_why(bad)}", _remedy(space, name, bad))


async def _without(cluster: ClusterSight) -> Finding:
    """Report what waits for a controller that is not there, if anything does."""
    needing = [text async for text in _needing(cluster)]
    none = f"no Deployment has the label {CONTROLLER_PODS}"
    if not needing:
        return skipped(none)
    return error(f"{none}, and this needs it: {', '.join(needing)}", ENABLE)


@check(
    "networks-ready",
    "PodNetworks",
    why="pods that name a network which is not ready do not start",
)
async def networks_ready(cluster: ClusterSight) -> Finding:
    """Look at what the controller says of the networks."""
    found = [PodNetwork.read(each) for each in await _listed(cluster, POD_NETWORKS)]
    return _judged("network", {one.name: network_fault(one) for one in found if one.is_ours})


@check(
    "pools-ready",
    "AddressPools",
    why="pods that need an address of a pool which is full or not ready do not start",
)
async def pools_ready(cluster: ClusterSight) -> Finding:
    """Look at what the controller says of the pools, and at how full they are."""
    found = [AddressPool.read(each) for each in await _listed(cluster, ADDRESS_POOLS)]
    return _judged("pool", {one.name: pool_fault(one) for one in found})


def _judged(what: str, faults: Mapping[str, Fault | None]) -> Finding:
    """Report all that have a fault, and of the gravest one which and what to do."""
    bad = {name: fault for name, fault in faults.items() if fault is not None}
    if not bad:
        return ok(counted(len(faults), what)) if faults else skipped(f"there are no {what}s")
    first = min(bad, key=lambda name: not bad[name].is_error)
    others = listed([name for name in bad if name != first])
    said = f"{first}: {bad[first].message}{f'; also {others}' if others else ''}"
    grave = error if bad[first].is_error else warning
    return grave(said, bad[first].hint)


async def _needing(cluster: ClusterSight) -> AsyncIterator[str]:
    """Yield what somebody expects the controller to look at."""
    for resource, what in ((POD_NETWORKS, "PodNetwork"), (ADDRESS_POOLS, "AddressPool")):
        with suppress(ForbiddenError):
            if found := await _listed(cluster, resource):
                yield counted(len(found), what)
    with suppress(ForbiddenError):
        labels = [each["metadata"].get("labels") or {} for each in await cluster.namespaces()]
        if count := sum(each.get(NAMESPACE_LABEL) == NAMESPACE_VALUE for each in labels):
            yield f"{counted(count, 'namespace')} with the label {NAMESPACE_LABEL}"


async def _missing_definitions(cluster: ClusterSight) -> list[str]:
    missing = []
    for resource in (POD_NETWORKS, ADDRESS_POOLS):
        try:
            await cluster.list(Selection(resource))
        except NotFoundError:
            missing.append(f"{resource.kind}s")
    return missing


async def _listed(cluster: ClusterSight, resource: Resource) -> tuple[JsonObject, ...]:
    """Return all objects of a kind; none where nobody has defined it."""
    try:
        return await cluster.list(Selection(resource))
    except NotFoundError:
        return ()


async def _idle(cluster: ClusterSight, namespace: str, not_ready: Sequence[str]) -> str:
    """Return why nobody works, in words; empty if a replica does, or nobody may see the Lease."""
    try:
        lease = await cluster.client.get(LEASES, LEASE_NAME, namespace=namespace)
    except NotFoundError:
        return f"there is no Lease {namespace}/{LEASE_NAME}"
    except ForbiddenError:
        return ""
    spec = lease.get("spec") or {}
    if not spec.get("holderIdentity"):
        return f"nobody holds the Lease {namespace}/{LEASE_NAME}"
    now = await cluster.client.server_time() or cluster.clock()
    if now - datetime.fromisoformat(spec["renewTime"]) > PATIENCE:
        return f"{spec['holderIdentity']} last renewed its Lease at {spec['renewTime']}"
    if spec["holderIdentity"] in not_ready:  # the others wait for it
        return f"it is the turn of {spec['holderIdentity']}, which is not ready"
    return ""


def _why(pod: DriverPod | None) -> str:
    """Return which replica does not work, and kubelet's reason for it."""
    if pod is None:
        return ""
    reason = pod.reason("waiting", "terminated")
    return f"; {pod.name} is not{f' ({reason})' if reason else ''}"


def _remedy(namespace: str, deployment: str, pod: DriverPod | None) -> str:
    """Return how to find out more about a replica that does not work, or why there is none."""
    if pod is None:
        return f"kubectl -n {namespace} describe deployment {deployment}"
    if pod.has_restarted:
        return f"kubectl -n {namespace} logs {pod.name} --previous"
    look = "logs" if pod.is_running else "describe pod"
    return f"kubectl -n {namespace} {look} {pod.name}"
