"""What is not as it should be, with what to do about it: errors first.

An error is something that a pod needs and does not have, a warning something that an admin should
know. Promise: each is said once, with the original message. No I/O. Limit: judges what the API
says; what is wrong on a node itself is for `netclaim doctor`.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from netclaim.status.devices import KEEPS_AWAY, DeviceId, PoolState
from netclaim.status.values import ClaimStatus, Device, Driver, Node, Pod, Problem

__all__ = ["find_problems"]

NAMES_SHOWN: Final = 5  # of nodes in one line
ON_THE_NODE: Final = "run `netclaim doctor --node` on the node"


def find_problems(
    *,
    drivers: Sequence[Driver],
    nodes: Sequence[Node],
    pools: Sequence[PoolState],
    devices: Sequence[Device],
    claims: Sequence[ClaimStatus],
    pods: Sequence[Pod],
    reporting: Collection[str],
    idle: Iterable[Problem] = (),
) -> tuple[Problem, ...]:
    """Look at everything; `idle` are drivers that publish and do not work."""
    found = [
        *_of_pods(pods),
        *_of_claims(claims, pods, {DeviceId(one.driver, one.pool, one.name) for one in devices},
                    pools),
        *_of_drivers(drivers),
        *idle,
        *_of_pools(pools),
        *_of_devices(devices),
        *_of_nodes(nodes, reporting),
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: one.severity != "error"))


def _of_pods(pods: Iterable[Pod]) -> Iterator[Problem]:
    for pod in pods:
        if pod.state not in ("Waiting", "NotReady"):
            continue
        states = {one.state for one in pod.claims}
        lacks_device = bool(states & {"Pending", "Missing"}) and not pod.node
        explain = f"netclaim explain pod/{pod.name} -n {pod.namespace}"
        describe = f"kubectl describe pod {pod.name} -n {pod.namespace}"
        starting = states <= {"Reserved", "Ready", "Allocated"}
        runs = "runs, but " if starting else "runs without its interface: "
        yield Problem(
            severity="warning" if starting else "error",
            kind="Pod",
            namespace=pod.namespace,
            name=pod.name,
            message=f"{runs if pod.state == 'NotReady' else 'waits: '}{pod.waiting}",
            hint=explain if lacks_device else describe,
        )


def _of_claims(
    claims: Iterable[ClaimStatus],
    pods: Iterable[Pod],
    published: Collection[DeviceId],
    pools: Iterable[PoolState],
) -> Iterator[Problem]:
    told = {(pod.namespace, one.claim) for pod in pods if pod.waiting for one in pod.claims}
    drivers = {pool.driver for pool in pools}
    for claim in claims:
        if claim.state == "NotReady" and (claim.namespace, claim.name) not in told:
            yield _claim_problem(claim, f"not ready: {claim.message}")
        gone = [
            one
            for one in claim.devices
            if one.driver in drivers and DeviceId(one.driver, one.pool, one.device) not in published
        ]
        for one in gone:
            # A link that was moved into a pod is no longer on the node, and not published.
            if one.ready is not True:
                yield _claim_problem(
                    claim,
                    f"device {one.pool}/{one.device} is allocated, but no longer published",
                )


def _claim_problem(claim: ClaimStatus, message: str) -> Problem:
    return Problem(
        severity="error",
        kind="ResourceClaim",
        namespace=claim.namespace,
        name=claim.name,
        message=message,
        hint=f"kubectl describe resourceclaim {claim.name} -n {claim.namespace}",
    )


def _of_drivers(drivers: Iterable[Driver]) -> Iterator[Problem]:
    for driver in drivers:
        if driver.devices == 0 and driver.classes:
            yield Problem(
                severity="error",
                kind="Driver",
                namespace="",
                name=driver.name,
                message=f"publishes no devices, but class {', '.join(driver.classes)} selects them",
                hint="`netclaim doctor` shows whether the driver runs, and why not",
            )


def _of_pools(pools: Iterable[PoolState]) -> Iterator[Problem]:
    for pool in pools:
        what = f"{len(pool.slices)} of {pool.expected} slices of generation {pool.generation}"
        if pool.missing:
            message = f"incomplete: {what}; its devices cannot be allocated"
            yield _pool_problem(pool, "error", message)
        elif pool.outdated:
            older = f"{pool.outdated} slice{'s' * (pool.outdated > 1)} of an older generation"
            yield _pool_problem(pool, "warning", f"has {older}, which the driver has not removed")


def _pool_problem(pool: PoolState, severity: str, message: str) -> Problem:
    where = f" on {pool.node}" if pool.node else ""
    return Problem(
        severity="error" if severity == "error" else "warning",
        kind="Pool",
        namespace="",
        name=f"{pool.driver}/{pool.name}",
        message=message,
        hint=f"if this stays, look at the log of the driver{where}",
    )


def _of_devices(devices: Iterable[Device]) -> Iterator[Problem]:
    for device in devices:
        taints = [one for one in device.taints if one.effect in KEEPS_AWAY]
        if taints:
            said = ", ".join(f"{one.key}{f'={one.value}' * bool(one.value)}:{one.effect}"
                             for one in taints)  # fmt: skip
            yield Problem(
                severity="warning",
                kind="Device",
                namespace="",
                name=f"{device.pool}/{device.name}",
                message=f"tainted: {said}",
                hint="new claims get it only if they tolerate the taint",
            )
        owners = [one for one in device.used_by if not one.admin_access]
        if len(owners) > 1 and not device.shareable:
            names = " and ".join(f"{one.namespace}/{one.claim}" for one in owners)
            yield Problem(
                severity="error",
                kind="Device",
                namespace="",
                name=f"{device.pool}/{device.name}",
                message=f"allocated to several claims: {names}",
                hint="delete the pod of one of them",
            )


def _of_nodes(nodes: Sequence[Node], reporting: Collection[str]) -> Iterator[Problem]:
    down = [one.name for one in nodes if one.ready is False and one.claims]
    if down:
        yield _node_problem(down, "not Ready, with claims on it", "kubectl describe node NAME")
    expected = {name for one in nodes for name in one.drivers} & set(reporting)
    for driver in sorted(expected):
        without = [one.name for one in nodes if one.ready and driver not in one.drivers]
        if without:
            message = f"no devices of {driver} are published"
            yield _node_problem(without, message, f"if the driver should run there, {ON_THE_NODE}")


def _node_problem(names: Sequence[str], message: str, hint: str) -> Problem:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return Problem(
        severity="warning",
        kind="Node",
        namespace="",
        name=f"{', '.join(names[:NAMES_SHOWN])}{more}",
        message=message,
        hint=hint.replace("NAME", names[0]),
    )
