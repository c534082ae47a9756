"""A status put together from objects.

Promise: everything of the drivers that were asked for; a claim without devices counts if one of its
classes is theirs, or may be. No I/O. Limit: the driver of a class is read from what its selectors
compare `device.driver` with.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.dra.ids import DeviceId
from netclaim.model.claims.named_drivers import named_drivers
from netclaim.model.pools.counted_pool import pool_of
from netclaim.screen.words import counted, listed
from netclaim.status.objects import Objects, Pod, read_objects
from netclaim.status.parts.claims import claim_statuses
from netclaim.status.parts.devices import devices_of, uses_of
from netclaim.status.parts.idle_controller import idle_controller
from netclaim.status.parts.idle_drivers import idle_drivers
from netclaim.status.parts.networks import network_problems, network_views
from netclaim.status.parts.nodes import driver_views, node_views
from netclaim.status.parts.pods import claim_names, pod_views
from netclaim.status.parts.pools import pool_problems, pool_views
from netclaim.status.parts.problems import find_problems
from netclaim.status.values import Device, Driver, Status
from netclaim.survey.duplicates import duplicate_addresses
from netclaim.survey.pools import pools_of


def compose(
    found: Iterable[Mapping[str, Any]],
    drivers: frozenset[str],
    *,
    every_driver: bool = False,
    notes: tuple[str, ...] = (),
) -> Status:
    """Put a status together from objects of v1.

    `drivers` were asked for, and report what became of each device; with `every_driver`, the others
    are shown too.
    """
    every = list(found)
    there = read_objects(every)
    classes = _classes(there.classes)
    slices = [
        one
        for one in there.slices
        if (every_driver or one.spec.driver in drivers) and not pool_of(one.spec.pool.name)
    ]
    raw = {
        (one.metadata.namespace, one.metadata.name): one
        for one in there.claims
        if every_driver or _concerns(one, drivers, classes)
    }
    pools = pools_of(slices)
    devices = devices_of(pools, uses_of(raw.values()), there.rules)
    nodes = {DeviceId(one.driver, one.pool, one.name): one.node for one in devices}
    claims = claim_statuses(raw.values(), nodes)
    reporting = drivers | {
        one.driver for claim in raw.values() for one in claim.status.devices if one.ready
    }
    by_name = {(one.namespace, one.name): one for one in claims}
    there_names = {(one.metadata.namespace, one.metadata.name) for one in there.claims}
    concerned = [pod for pod in there.pods if _uses(pod, raw.keys(), there_names)]
    pods = pod_views(concerned, by_name, raw, reporting)
    selected = frozenset[str]().union(*classes.values())
    names = {one.driver for one in devices} | (drivers & selected)
    views = driver_views(names, devices, claims, _by_driver(classes))
    status = Status(
        notes=(
            *notes,
            *_strangers(there, drivers, views, every_driver=every_driver),
            *there.unread,
        ),
        drivers=views,
        nodes=node_views(there.nodes, devices, claims, pods),
        devices=devices,
        claims=claims,
        pods=pods,
        networks=network_views(there.networks),
        pools=pool_views(there.pools, there.leases, by_name),
    )
    further = (
        *idle_drivers(every, _publishing(devices)),
        *idle_controller(every, _for_controller(there)),
        *network_problems(there.networks),
        *pool_problems(there.pools),
    )
    duplicates = duplicate_addresses(raw.values(), there.classes)
    problems = find_problems(status, pools, duplicates, reporting=reporting, further=further)
    return msgspec.structs.replace(status, problems=problems)


def _publishing(devices: Iterable[Device]) -> Mapping[str, frozenset[str]]:
    """Return the nodes that have devices, by driver."""
    found: dict[str, set[str]] = {}
    for one in devices:
        found.setdefault(one.driver, set()).add(one.node)
    return {driver: frozenset(nodes) for driver, nodes in found.items()}


def _for_controller(there: Objects) -> str:
    """Return what there is that needs the controller, in words; empty if there is nothing."""
    counts = ((len(there.networks), "network"), (len(there.pools), "address pool"))
    return " and ".join(counted(count, what) for count, what in counts if count)


def _strangers(
    there: Objects, drivers: frozenset[str], views: Sequence[Driver], *, every_driver: bool
) -> tuple[str, ...]:
    """Report what is there of other drivers: all there is, or claims that are not shown."""
    shown = {one.name for one in views} | drivers
    held = {name for claim in there.claims for name in _drivers_of(claim)} - shown
    if views and held and not every_driver:
        count = sum(bool(held & _drivers_of(claim)) for claim in there.claims)
        whose = f"{counted(count, 'claim')} of {listed(sorted(held))}"
        return (f"{whose} not shown; --all-drivers shows {'it' if count == 1 else 'them'}",)
    if views or not there.nodes:
        return ()
    others = sorted({one.spec.driver for one in there.slices})
    more = f"; --all-drivers shows those of {', '.join(others)}" if others else ""
    return (f"there are no devices of {', '.join(sorted(drivers))}{more}",)


def _drivers_of(claim: ResourceClaim) -> set[str]:
    return {one.driver for one in claim.status.results}


def _classes(classes: Iterable[DeviceClass]) -> Mapping[str, frozenset[str]]:
    """Return the drivers that each class names."""
    return {
        one.metadata.name: frozenset(
            name for text in one.expressions for name in named_drivers(text)
        )
        for one in classes
    }


def _by_driver(classes: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, drivers in sorted(classes.items()):
        for driver in drivers:
            found.setdefault(driver, []).append(name)
    return found


def _concerns(
    claim: ResourceClaim, drivers: frozenset[str], classes: Mapping[str, frozenset[str]]
) -> bool:
    if claim.status.allocation is not None:
        return any(one.driver in drivers for one in claim.status.results)
    asked = [classes.get(name, frozenset()) for name in claim.classes]
    return not asked or any(not names or names & drivers for names in asked)


def _uses(pod: Pod, ours: Collection[tuple[str, str]], there: Collection[tuple[str, str]]) -> bool:
    """Whether a pod uses one of the driver's claims, or one that may become one when it exists."""
    keys = [(pod.metadata.namespace, name) for _, name, _ in claim_names(pod)]
    return any(key in ours or key not in there for key in keys)
