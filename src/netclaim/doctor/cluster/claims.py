"""Claims on the driver's devices: those that wait for one, and those whose device is not ready."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from netclaim.doctor.cluster.sight import ClusterSight
from netclaim.doctor.finding import Finding, check, error, ok, warning
from netclaim.kube import PODS, Selection
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.claims.claim import JsonObject
from netclaim.screen.words import listed
from netclaim.survey.duplicates import UNIQUE, duplicate_addresses

PENDING: Final = Selection(PODS, fields="status.phase=Pending")
# A claim is allocated and its pod started within seconds; kubelet retries after 60 to 90 s.
PATIENCE: Final = timedelta(minutes=2)


@check(
    "claims-waiting",
    "Pods that wait for devices",
    why="a pod whose claim fits no device stays pending",
)
async def claims_waiting(cluster: ClusterSight) -> Finding:
    """Look for pods that have been pending for a while with a claim that is not allocated."""
    claims = map(ResourceClaim.read, await cluster.dra("ResourceClaim"))
    waiting = {_name(each) for each in claims if each.status.allocation is None}
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
    claims = map(ResourceClaim.read, await cluster.dra("ResourceClaim"))
    failed = [
        (_name(claim), device.ready.message)
        for claim in claims
        for device in claim.status.devices
        if device.driver == cluster.driver and device.ready and device.ready.status == "False"
    ]
    if failed:
        (space, name), message = failed[0]
        return warning(
            f"{listed(['/'.join(key) for key, _ in failed])}: {message}",
            f"kubectl -n {space} describe resourceclaim {name}",
        )
    return ok("none")


@check(
    "claims-healthy",
    "Claims whose device is not healthy",
    why="their pods run, but the link below their interface does not work",
)
async def claims_healthy(cluster: ClusterSight) -> Finding:
    """Look for devices in use whose driver says that they are not healthy."""
    claims = map(ResourceClaim.read, await cluster.dra("ResourceClaim"))
    ill = [
        (_name(claim), f"{device.pool}/{device.device}: {device.unhealthy}")
        for claim in claims
        for device in claim.status.devices
        if device.driver == cluster.driver and device.unhealthy
    ]
    if ill:
        (space, name), message = ill[0]
        return warning(
            f"{listed(['/'.join(key) for key, _ in ill])}: {message}",
            f"kubectl -n {space} describe resourceclaim {name}; then look at the link on its node",
        )
    return ok("none")


@check(
    "addresses-unique",
    "Addresses that several pods have",
    why="pods with the same address on one network take each other's traffic",
)
async def addresses_unique(cluster: ClusterSight) -> Finding:
    """Compare the addresses in the status of claims, across nodes."""
    claims = [ResourceClaim.read(each) for each in await cluster.dra("ResourceClaim")]
    classes = [DeviceClass.read(each) for each in await cluster.dra("DeviceClass")]
    found = [
        f"{one.address} in {one.network} ({listed([str(user) for user in one.users])})"
        for one in duplicate_addresses(claims, classes)
    ]
    return error(listed(found), UNIQUE) if found else ok("none")


def _name(claim: ResourceClaim) -> tuple[str, str]:
    return claim.metadata.namespace, claim.metadata.name


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
