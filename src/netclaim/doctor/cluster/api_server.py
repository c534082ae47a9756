"""The API server: which release it is, and whether Dynamic Resource Allocation is on."""

from typing import Final

from netclaim.doctor.cluster.sight import ClusterSight
from netclaim.doctor.finding import Finding, check, error, ok, unknown, warning
from netclaim.doctor.releases import CAPACITY_SINCE, NEWEST, OLDEST, STATUS_SINCE, Release
from netclaim.errors import NetclaimError, PeerError
from netclaim.kube import ForbiddenError, InvalidError, NotFoundError, dra_resource
from netclaim.kube.versions import HOW_TO_SERVE
from netclaim.manifests.kinds import GROUP
from netclaim.manifests.versions.conversion import from_v1
from netclaim.model.claims.claim import JsonObject

CAPACITY: Final = "DRAConsumableCapacity"
STATUS: Final = "DRAResourceClaimDeviceStatus"


@check("api-reachable", "API server", why="everything else is asked of it")
async def api_reachable(cluster: ClusterSight) -> Finding:
    """Ask for its version; an API server that refuses to say it is there nevertheless."""
    try:
        await cluster.version()
    except ForbiddenError:
        return ok("answers, but does not say its version")
    except PeerError as fault:
        return error(
            " ".join(str(fault).split()),
            "check the kubeconfig with `kubectl version`, and choose another one with --kubeconfig"
            " or --context",
        )
    return ok("answers")


@check(
    "api-version",
    "Kubernetes version",
    why="netclaim is tested with the releases from 1.32 to 1.37",
)
async def api_version(cluster: ClusterSight) -> Finding:
    """Compare the API server's release with those that are tested."""
    said = (await cluster.version()).get("gitVersion", "")
    release = await cluster.release()
    if release < OLDEST:
        return error(
            f"{said or 'unknown'} is older than {OLDEST}", f"upgrade the cluster to {OLDEST}"
        )
    if release > NEWEST:
        return warning(
            f"{said} is newer than {NEWEST}, which is the newest that this version knows",
            "see whether there is a newer version of netclaim",
        )
    return ok(said)


@check(
    "dra-served",
    "Dynamic Resource Allocation",
    why="claims, classes and slices are objects of resource.k8s.io",
)
async def dra_served(cluster: ClusterSight) -> Finding:
    """See which versions of the API group are served."""
    served = await cluster.dra_versions()
    try:
        best = await cluster.dra_version()
    except NetclaimError as fault:
        return error(str(fault).partition(":")[0], HOW_TO_SERVE)
    others = [version for version in served if version != best]
    also = f", also {', '.join(others)}" if others else ""
    return ok(f"{GROUP}/{best} is served{also}")


@check(
    "dra-consumable-capacity",
    "Sharing a link between claims",
    why="without DRAConsumableCapacity, the scheduler cannot share out a link: it becomes slots",
)
async def consumable_capacity(cluster: ClusterSight) -> Finding:
    """Read the gate from the metrics; without them, see whether a dry run keeps the field."""
    on = await _gate(cluster, CAPACITY)
    if on is None:
        on = await _keeps_capacity(cluster)
    if on is None:
        return _by_release(await cluster.release(), CAPACITY_SINCE, CAPACITY)
    if on:
        return ok(f"{CAPACITY} is on")
    said = f"{CAPACITY} is off; links are offered as slots"
    if await cluster.release() < CAPACITY_SINCE:
        return ok(f"{said} (it is off by default before {CAPACITY_SINCE})")
    return warning(said, _enable(CAPACITY))


@check(
    "dra-device-status",
    "Status of claimed devices",
    why="addresses and failures are reported in status.devices of a claim",
)
async def device_status(cluster: ClusterSight) -> Finding:
    """Read the gate from the metrics; without them, see whether any claim has the field."""
    on = await _gate(cluster, STATUS)
    if on is None:
        claims = await cluster.dra("ResourceClaim")
        if any((claim.get("status") or {}).get("devices") for claim in claims):
            return ok("claims have status.devices")
        return _by_release(await cluster.release(), STATUS_SINCE, STATUS)
    if on:
        return ok(f"{STATUS} is on")
    return warning(f"{STATUS} is off: claims do not show addresses and failures", _enable(STATUS))


async def _gate(cluster: ClusterSight, name: str) -> bool | None:
    """Return whether a gate is on; None if the API server does not show it to us."""
    try:
        return (await cluster.gates()).get(name)
    except (ForbiddenError, NotFoundError):
        return None


def _by_release(release: Release, since: Release, name: str) -> Finding:
    if release >= since:
        return ok(f"{name} is on by default in {release}")
    return unknown(
        f"{name} is off by default in {release}, and the API server does not say whether it is on",
        "run the command as a cluster admin, who may read the API server's /metrics",
    )


def _enable(gate: str) -> str:
    return (
        f"start kube-apiserver, kube-controller-manager, kube-scheduler and kubelet with"
        f" --feature-gates={gate}=true"
    )


async def _keeps_capacity(cluster: ClusterSight) -> bool | None:
    """Return whether the API server keeps a request for capacity; None if it cannot be asked.

    It drops a field whose gate is off without a warning.
    """
    version = await cluster.dra_version()
    wanted = from_v1(_claim_with_capacity(), "ResourceClaim", version)
    try:
        kept = await cluster.client.create(
            dra_resource("ResourceClaim", version), wanted, dry_run=True
        )
    except (ForbiddenError, NotFoundError, InvalidError):
        return None
    request = kept["spec"]["devices"]["requests"][0]
    return "capacity" in (request.get("exactly") or request)


def _claim_with_capacity() -> JsonObject:
    exactly = {
        "deviceClassName": "netclaim-doctor",
        "allocationMode": "ExactCount",
        "count": 1,
        "capacity": {"requests": {"example.com/share": "1"}},
    }
    return {
        "metadata": {"generateName": "netclaim-doctor-", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "dry-run", "exactly": exactly}]}},
    }
