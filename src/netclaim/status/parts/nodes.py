"""Nodes and drivers, with how much of what they offer is in use. No I/O."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from netclaim.status.objects import Node
from netclaim.status.values import ClaimStatus, Device, Driver, Pod
from netclaim.status.values import Node as NodeView


def node_views(
    nodes: Iterable[Node],
    devices: Iterable[Device],
    claims: Iterable[ClaimStatus],
    pods: Iterable[Pod],
) -> tuple[NodeView, ...]:
    """Return nodes by name, also those that only slices name."""
    here: dict[str, list[Device]] = {}
    for device in devices:
        if device.node:
            here.setdefault(device.node, []).append(device)
    held = Counter(node for claim in claims for node in {one.node for one in claim.devices})
    running = Counter(pod.node for pod in pods if pod.state != "Ended")
    known = {one.metadata.name: one for one in nodes}
    return tuple(
        NodeView(
            name=name,
            ready=known[name].ready if name in known else None,
            cordoned=name in known and known[name].spec.unschedulable,
            drivers=tuple(sorted({one.driver for one in here.get(name, ())})),
            claims=held[name],
            pods=running[name],
            **_counts(here.get(name, ())),
        )
        for name in sorted(known.keys() | here.keys())
    )


def driver_views(
    names: Iterable[str],
    devices: Iterable[Device],
    claims: Iterable[ClaimStatus],
    classes: Mapping[str, Sequence[str]],
) -> tuple[Driver, ...]:
    """Return drivers by name; `classes` are the names of those that select their devices."""
    own: dict[str, list[Device]] = {name: [] for name in sorted(names)}
    for device in devices:
        own.setdefault(device.driver, []).append(device)
    held = Counter(name for claim in claims for name in {one.driver for one in claim.devices})
    return tuple(
        Driver(
            name=name,
            nodes=len({one.node for one in found if one.node}),
            claims=held[name],
            classes=tuple(classes.get(name, ())),
            **_counts(found),
        )
        for name, found in own.items()
    )


def _counts(devices: Sequence[Device]) -> dict[str, int]:
    counts = Counter(one.state for one in devices)
    return {
        "devices": len(devices),
        "free": counts["free"],
        "used": counts["used"],
        "shared": counts["shared"],
        "tainted": counts["tainted"],
        "unavailable": counts["unavailable"],
    }
