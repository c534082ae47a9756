"""What is wrong, with what to do about it: errors first.

An error is something that a pod needs and does not have, a warning something that an admin should
know. Promise: each is reported once, with the original message. No I/O. Limit: only what the API
shows is judged; `netclaim doctor` looks at the nodes themselves.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from netclaim.model.api.dra.ids import DeviceId
from netclaim.model.api.dra.taint import KEEPS_AWAY, NO_CARRIER
from netclaim.schema.annotated import TEMPLATE
from netclaim.screen.words import counted, listed
from netclaim.status.values import (
    ClaimStatus,
    Device,
    Driver,
    Node,
    Pod,
    Problem,
    Severity,
    Status,
    Taint,
)
from netclaim.survey.duplicates import UNIQUE, Duplicate
from netclaim.survey.pools import Pool
from netclaim.survey.room import ROOM, full_device

TOLERATE: Final = "new claims get it only if they tolerate the taint"
CARRIER: Final = "new claims do not get it; look at its cable, and at the port of the switch"


def find_problems(
    status: Status,
    pools: Sequence[Pool],
    duplicates: Iterable[Duplicate],
    *,
    reporting: Collection[str],
    further: Iterable[Problem],
) -> tuple[Problem, ...]:
    """Return what is wrong with a status.

    `reporting` are the drivers that write statuses, and `further` is what does not follow from it.
    """
    found = [
        *_of_pods(status.pods),
        *_of_addresses(duplicates),
        *_of_claims(status, {pool.driver for pool in pools}),
        *_of_drivers(status.drivers),
        *further,
        *_of_pools(pools),
        *_of_devices(status.devices),
        *_of_nodes(status.nodes, reporting),
    ]
    return tuple(sorted(found, key=lambda one: one.severity != "error"))


def _of_pods(pods: Iterable[Pod]) -> Iterator[Problem]:
    for pod in pods:
        if pod.state not in ("Waiting", "NotReady"):
            continue
        states = {one.state for one in pod.claims}
        annotated = any(one.template == TEMPLATE and one.state == "Missing" for one in pod.claims)
        lacks_device = bool(states & {"Pending", "Missing"}) and not (pod.node or annotated)
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


def _of_claims(status: Status, publishing: Collection[str]) -> Iterator[Problem]:
    reported = {
        (pod.namespace, one.claim) for pod in status.pods if pod.waiting for one in pod.claims
    }
    published = {DeviceId(one.driver, one.pool, one.name) for one in status.devices}
    for claim in status.claims:
        if claim.state == "NotReady" and (claim.namespace, claim.name) not in reported:
            yield _claim_problem(claim, f"not ready: {claim.message}")
        for one in claim.devices:
            if one.unhealthy:
                yield _claim_problem(
                    claim, f"{one.pool}/{one.device} is not healthy: {one.unhealthy}", "warning"
                )
        for one in claim.devices:
            is_gone = DeviceId(one.driver, one.pool, one.device) not in published
            # A link that was moved into a pod is no longer on the node, and not published.
            if is_gone and one.driver in publishing and one.ready is not True:
                message = f"device {one.pool}/{one.device} is allocated, but no longer published"
                yield _claim_problem(claim, message)


def _of_addresses(duplicates: Iterable[Duplicate]) -> Iterator[Problem]:
    """Yield a problem for each address that several pods have, in each namespace that is hit."""
    for one in duplicates:
        having = listed([str(user) for user in one.users])
        message = f"{one.address} in {one.network} is used by {len(one.users)} pods: {having}"
        first = {user.namespace: user for user in reversed(one.users)}
        for namespace, user in sorted(first.items()):
            yield Problem(
                severity="error",
                kind="ResourceClaim",
                namespace=namespace,
                name=user.claim,
                message=message,
                hint=UNIQUE,
            )


def _claim_problem(claim: ClaimStatus, message: str, severity: Severity = "error") -> Problem:
    return Problem(
        severity=severity,
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
                name=driver.name,
                message=f"publishes no devices, but class {', '.join(driver.classes)} selects them",
                hint="`netclaim doctor` shows whether the driver runs, and why not",
            )


def _of_pools(pools: Iterable[Pool]) -> Iterator[Problem]:
    for pool in pools:
        what = f"{len(pool.slices)} of {pool.expected} slices of generation {pool.generation}"
        if pool.missing:
            message = f"incomplete: {what}; its devices cannot be allocated"
            yield _pool_problem(pool, "error", message)
        elif pool.outdated:
            older = f"{counted(pool.outdated, 'slice')} of an older generation"
            yield _pool_problem(pool, "warning", f"has {older}, which the driver has not removed")


def _pool_problem(pool: Pool, severity: Severity, message: str) -> Problem:
    node = pool.slices[0].spec.node_name
    where = f" on {node}" if node else ""
    return Problem(
        severity=severity,
        kind="Pool",
        name=f"{pool.driver}/{pool.name}",
        message=message,
        hint=f"if this stays, look at the log of the driver{where}",
    )


def _of_devices(devices: Iterable[Device]) -> Iterator[Problem]:
    for device in devices:
        taints = [one for one in device.taints if one.effect in KEEPS_AWAY]
        if taints:
            yield Problem(
                severity="warning",
                kind="Device",
                name=f"{device.pool}/{device.name}",
                message=f"tainted: {', '.join(map(str, taints))}",
                hint=CARRIER if any(map(_is_carrier, taints)) else TOLERATE,
            )
        yield from _shortage(device)
        owners = [one for one in device.used_by if not one.admin_access]
        if len(owners) > 1 and not device.shareable:
            names = " and ".join(f"{one.namespace}/{one.claim}" for one in owners)
            yield Problem(
                severity="error",
                kind="Device",
                name=f"{device.pool}/{device.name}",
                message=f"allocated to several claims: {names}",
                hint="delete the pod of one of them",
            )


def _is_carrier(taint: Taint) -> bool:
    """Whether the network driver has tainted a link because it has no carrier."""
    return not taint.rule and taint.key.endswith(f"/{NO_CARRIER}")


def _shortage(device: Device) -> Iterator[Problem]:
    """Yield a problem for a link that claims share and that is nearly or quite used up."""
    owners = [one for one in device.used_by if not one.admin_access]
    total = {one.name: one.total for one in device.capacity if device.shareable}
    used = {one.name: one.used for one in device.capacity}
    full = full_device(f"{device.pool}/{device.name}", len(owners), total, used)
    if full is not None:
        yield Problem(
            severity="warning",
            kind="Device",
            name=full.name,
            message=f"nearly full: {full}",
            hint=ROOM,
        )


def _of_nodes(nodes: Sequence[Node], reporting: Collection[str]) -> Iterator[Problem]:
    down = [one.name for one in nodes if one.ready is False and one.claims]
    if down:
        hint = f"kubectl describe node {down[0]}"
        yield _node_problem(down, "not Ready, with claims on it", hint)
    expected = {name for one in nodes for name in one.drivers} & set(reporting)
    for driver in sorted(expected):
        without = [one.name for one in nodes if one.ready and driver not in one.drivers]
        if without:
            hint = "if the driver should run there, run `netclaim doctor --node` on the node"
            yield _node_problem(without, f"no devices of {driver} are published", hint)


def _node_problem(names: Sequence[str], message: str, hint: str) -> Problem:
    return Problem(severity="warning", kind="Node", name=listed(names), message=message, hint=hint)
