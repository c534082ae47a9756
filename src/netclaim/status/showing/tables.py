"""The columns of each view, in the order in which they are read. No I/O.

`rank` says which column is left out first on a narrow terminal: the smallest.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, TypeVar

from netclaim.network.devices.shares import WHOLE_LINK
from netclaim.screen.words import listed
from netclaim.status.showing.fit import Column
from netclaim.status.values import (
    ClaimDevice,
    ClaimStatus,
    ClaimUse,
    Device,
    Driver,
    Network,
    Node,
    Pod,
)

T = TypeVar("T")
Ago: TypeAlias = Callable[[str], str]  # how a moment is shown

LINKS_SHOWN: Final = 6  # of a node, in one cell
USERS_SHOWN: Final = 3
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400


def absolute(moment: str) -> str:
    """Show a moment as it is written: what is in a file may be of any day."""
    return moment


def ago(moment: str) -> str:
    """Show how long ago a moment was, as kubectl does."""
    try:
        passed = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    except (ValueError, TypeError):
        return moment
    seconds = max(0, int(passed))
    for unit_s, word in ((DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "m")):
        if seconds >= 2 * unit_s:
            return f"{seconds // unit_s}{word}"
    return f"{seconds}s"


def driver_columns() -> list[Column[Driver]]:
    return [
        Column("DRIVER", lambda one: one.name, folds_to=27),
        Column("NODES", lambda one: str(one.nodes), rank=4),
        Column("DEVICES", lambda one: str(one.devices), rank=5),
        *_counts(),
        Column("CLAIMS", lambda one: str(one.claims), rank=3),
        Column("CLASSES", lambda one: ", ".join(one.classes), rank=1, folds_to=16),
    ]


def node_columns(devices: Sequence[Device], *, several_drivers: bool) -> list[Column[Node]]:
    """Return the columns of a node; those of its links that are in use come first."""
    own: dict[str, list[Device]] = {}
    for device in devices:
        own.setdefault(device.node, []).append(device)
    return [
        Column("NODE", lambda one: one.name),
        Column("STATE", _node_state, rank=9),
        Column("LINKS", lambda one: str(one.devices), rank=3),
        *_counts(),
        Column("PODS", lambda one: str(one.pods), rank=5),
        Column("CLAIMS", lambda one: str(one.claims), rank=1, wide=True),
        Column("WHO USES WHAT", lambda one: _inventory(own.get(one.name, ())), rank=4, folds_to=24),
        Column(
            "DRIVERS", lambda one: ", ".join(one.drivers), wide=not several_drivers, folds_to=20,
            rank=1,
        ),
    ]  # fmt: skip


def network_columns() -> list[Column[Network]]:
    """Return the columns of a network; the last one says why some nodes do not have it."""
    return [
        Column("NETWORK", lambda one: one.name),
        Column("TYPE", lambda one: one.type, rank=2),
        Column("STATE", _network_state, rank=9),
        Column("NODES", lambda one: str(one.nodes), rank=5),
        Column("NAMESPACES", lambda one: str(one.namespaces), rank=1),
        Column("INTERFACES", lambda one: str(one.interfaces), rank=3),
        Column("PODS", lambda one: str(one.pods), rank=4),
        Column("NOT ON", _network_missing, rank=6, optional=True, folds_to=24),
    ]


def _network_state(network: Network) -> str:
    state = {True: "Ready", False: network.reason or "NotReady", None: ""}[network.ready]
    return ",".join(filter(None, (state, "deleting" if network.deleting else "")))


def _network_missing(network: Network) -> str:
    return "; ".join(f"{one.node}: {one.message}" for one in network.missing[:LINKS_SHOWN])


def _counts() -> list[Column[Any]]:
    return [
        Column("FREE", lambda one: str(one.free), rank=8),
        Column("USED", lambda one: str(one.used), rank=8),
        Column("SHARED", lambda one: _number(one.shared), rank=6, optional=True),
        Column("TAINTED", lambda one: _number(one.tainted), rank=7, optional=True),
        Column("UNAVAILABLE", lambda one: _number(one.unavailable), rank=7, optional=True),
    ]


def _number(count: int) -> str:
    return str(count) if count else ""


def _node_state(node: Node) -> str:
    state = {True: "Ready", False: "NotReady", None: ""}[node.ready]
    return ",".join(filter(None, (state, "cordoned" if node.cordoned else "")))


def _inventory(devices: Sequence[Device]) -> str:
    ordered = sorted(devices, key=lambda one: not one.used_by)
    return _first(ordered, LINKS_SHOWN, _owned)


def _first(values: Sequence[T], most: int, cell: Callable[[T], str]) -> str:
    more = [f"{len(values) - most} more"] if len(values) > most else []
    return ", ".join([*map(cell, values[:most]), *more])


def _owned(device: Device) -> str:
    if not device.used_by:
        return device.name
    if len(device.used_by) > 1:
        return f"{device.name} ({len(device.used_by)} claims)"
    return f"{device.name} ({_user(device.used_by[0])})"


def _user(use: ClaimUse) -> str:
    """Name who has a device: the pod, or the claim if no pod has it."""
    if not use.pods:
        return f"claim {use.namespace}/{use.claim}"
    return f"{use.namespace}/{listed(use.pods, most=1)}"


def link_columns(*, several_drivers: bool) -> list[Column[Device]]:
    return [
        Column("NODE", lambda one: one.node, folds_to=18),
        Column("DRIVER", lambda one: one.driver, rank=2, wide=not several_drivers, folds_to=16),
        Column("LINK", lambda one: one.name),
        Column("STATE", lambda one: one.state),
        Column("USED BY", _users, folds_to=20),
        Column("CLAIM", _claims, rank=3, folds_to=16, wide=True),
        Column("CAPACITY", _capacity, rank=8, optional=True, folds_to=16),
        Column("TAINTS", _taints, rank=9, optional=True, folds_to=20),
        _attribute("OPER", "state", rank=7),
        _attribute("MTU", "mtu", rank=6),
        _attribute("KIND", "kind", rank=5, wide=True),
        _attribute("SPEED", "speed", rank=5, wide=True),
        _attribute("NUMA", "numaNode", rank=4, wide=True),
        _attribute("MAC", "mac", rank=4, wide=True),
        _attribute("IPV4", "ipv4", rank=3, wide=True),
        _attribute("IPV6", "ipv6", rank=3, wide=True),
        _attribute("PCI", "pciAddress", rank=3, wide=True),
    ]


def _attribute(title: str, name: str, *, rank: int, wide: bool = False) -> Column[Device]:
    def cell(device: Device) -> str:
        value = device.attributes.get(name, device.attributes.get(f"{device.driver}/{name}", ""))
        return "" if value == 0 and name in ("mtu", "speed") else str(value)

    return Column(title, cell, rank=rank, wide=wide, optional=True)


def _users(device: Device) -> str:
    return _first(device.used_by, USERS_SHOWN, _user)


def _claims(device: Device) -> str:
    return ", ".join(f"{one.namespace}/{one.claim}" for one in device.used_by)


def _capacity(device: Device) -> str:
    """What is used of it. Of what stands for the whole link, everybody has a trace."""
    return ", ".join(
        f"{one.name} {one.used}/{one.total}" for one in device.capacity if one.name != WHOLE_LINK
    )


def _taints(device: Device) -> str:
    return ", ".join(map(str, device.taints))


def claim_columns(when: Ago, *, several_spaces: bool) -> list[Column[ClaimStatus]]:
    return [
        *_namespace(several=several_spaces),
        Column("CLAIM", lambda one: one.name, folds_to=20),
        Column("STATE", _claim_state),
        Column("SINCE", lambda one: when(one.since) if one.since else "", rank=4, optional=True),
        Column("DEVICE", lambda one: _each(one, _place), folds_to=20),
        Column("INTERFACE", lambda one: _each(one, lambda d: d.interface), rank=5, optional=True),
        Column(
            "ADDRESSES", lambda one: _each(one, _addresses), rank=8, folds_to=18, optional=True,
        ),
        Column("POD", lambda one: ", ".join(one.pods), rank=6, folds_to=16),
        Column("MAC", lambda one: _each(one, lambda d: d.mac), rank=2, wide=True, optional=True),
        Column("CLASS", lambda one: ", ".join(one.classes), rank=1, wide=True, folds_to=16),
        Column("REQUEST", lambda one: _each(one, lambda d: d.request), rank=1, wide=True),
        Column("REASON", lambda one: one.message, rank=9, folds_to=24, optional=True),
    ]  # fmt: skip


def _claim_state(claim: ClaimStatus) -> str:
    words = [("unhealthy", claim.is_unhealthy), ("deleting", claim.deleting)]
    return ",".join([claim.state, *(word for word, so in words if so)])


def _namespace(*, several: bool) -> list[Column[Any]]:
    return [Column("NAMESPACE", lambda one: one.namespace)] if several else []


def _each(claim: ClaimStatus, part: Callable[[ClaimDevice], str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, map(part, claim.devices))))


def _addresses(device: ClaimDevice) -> str:
    """List one pod's addresses; those of other pods are counted, and shown at the pods."""
    others = len(device.pods) + device.pods_omitted - 1
    more = f" in 1 of {others + 1} pods" if others > 0 else ""
    return " ".join(device.ips) + more if device.ips else ""


def _place(device: ClaimDevice) -> str:
    return f"{device.node or device.pool}/{device.device}"


def pod_columns(*, several_spaces: bool) -> list[Column[Pod]]:
    return [
        *_namespace(several=several_spaces),
        Column("POD", lambda one: one.name, folds_to=20),
        Column("STATE", lambda one: one.state),
        Column("PHASE", lambda one: one.phase, rank=2, wide=True),
        Column("NODE", lambda one: one.node, rank=7, folds_to=18),
        Column("INTERFACES", _interfaces, folds_to=24),
        Column("MAC", lambda one: ", ".join(i.mac for i in one.interfaces), rank=3, wide=True),
        Column("DEVICE", _pod_devices, rank=4, wide=True),
        Column("CLAIMS", lambda one: ", ".join(_named(one)), rank=3, wide=True, folds_to=20),
        Column("WAITS FOR", lambda one: one.waiting, rank=9, folds_to=24, optional=True),
    ]


def _interfaces(pod: Pod) -> str:
    return "; ".join(" ".join((one.name, *one.ips)) for one in pod.interfaces)


def _pod_devices(pod: Pod) -> str:
    return ", ".join(f"{one.pool}/{one.device}" for one in pod.interfaces)


def _named(pod: Pod) -> list[str]:
    return [one.claim or f"{one.entry} (from {one.template})" for one in pod.claims]
