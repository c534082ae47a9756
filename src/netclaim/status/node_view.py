"""One node as kubelet, the API server and the driver's journal see it.

Promise: there is a row for each claim that one of them knows, and a line for each thing on which
they disagree. A source that could not be asked is named, and nothing is concluded from its silence.
No I/O. Limit: kubelet lists a claim only under containers that name it, so a claim that no
container names is not missed there.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from netclaim.framework.journal.read_only import Glimpse
from netclaim.kubelet.pod_resources import HeldDevice, KubeletPod
from netclaim.model.on_node.pod import ENDED
from netclaim.status.objects import Objects, Pod
from netclaim.status.parts.pods import claim_names
from netclaim.status.showing.fit import Column


class ClaimRow(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A claim, and what each of the three says of it; empty if it says nothing."""

    namespace: str
    claim: str
    pods: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    kubelet: tuple[str, ...] = ()
    api: tuple[str, ...] = ()
    journal: str = ""
    interfaces: tuple[str, ...] = ()


class NodeView(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A node; `notes` say who could not be asked."""

    node: str
    pods: int
    claims: tuple[ClaimRow, ...] = ()
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Said(msgspec.Struct, frozen=True):
    """What the API server says: the pods of a node, their claims, and which it does not show us."""

    objects: Objects
    hidden: frozenset[tuple[str, str]] = frozenset()


def known_claims(
    kubelet: Iterable[KubeletPod], journal: Glimpse | None
) -> frozenset[tuple[str, str]]:
    """Return the claims that kubelet and the journal know, by namespace and name."""
    listed = {(one.namespace, one.name) for pod in kubelet for one in pod.claims}
    booked = journal.bookings if journal is not None else ()
    return frozenset(listed | {(one.claim.namespace, one.claim.name) for one in booked})


def node_view(
    kubelet: Sequence[KubeletPod],
    said: Said | None,
    journal: Glimpse | None,
    *,
    drivers: frozenset[str],
    node: str,
    notes: Sequence[str] = (),
) -> NodeView:
    """Compare the three; None stands for a source that could not be asked."""
    sight = _Sight(kubelet, said, journal, drivers)
    rows = tuple(sight.row(key) for key in sight.known())
    return NodeView(
        node=node,
        pods=len(kubelet),
        claims=rows,
        differences=tuple(line for row in rows for line in sight.differences(row)),
        notes=tuple(notes),
    )


class _Sight:
    """The claims of one node, by namespace and name, from each of the three."""

    def __init__(
        self,
        kubelet: Sequence[KubeletPod],
        said: Said | None,
        journal: Glimpse | None,
        drivers: frozenset[str],
    ) -> None:
        self.asked_api = said is not None
        self.hidden = said.hidden if said is not None else frozenset()
        self.asked_journal = journal is not None
        self.kubelet: dict[tuple[str, str], dict[str, tuple[HeldDevice, ...]]] = {}
        for pod in kubelet:
            for one in pod.claims:
                self.kubelet.setdefault((one.namespace, one.name), {})[pod.name] = one.devices
        self.pods = {
            (pod.metadata.namespace, pod.metadata.name): pod
            for pod in (said.objects.pods if said is not None else ())
            if pod.status.phase not in ENDED
        }
        self.users = _users(self.pods.values())
        self.all_claims = {
            (one.metadata.namespace, one.metadata.name): one
            for one in (said.objects.claims if said is not None else ())
        }
        self.bookings = {
            (one.claim.namespace, one.claim.name): one
            for one in (journal.bookings if journal else ())
        }
        self.leases: dict[str, list[Any]] = {}
        for lease in journal.leases if journal else ():
            self.leases.setdefault(lease.attachment.plan.claim.uid, []).append(lease)
        self.drivers = drivers

    def known(self) -> list[tuple[str, str]]:
        return sorted(self.kubelet.keys() | self.users.keys() | self.bookings.keys())

    def row(self, key: tuple[str, str]) -> ClaimRow:
        booking = self.bookings.get(key)
        leases = self.leases.get(booking.claim.uid, []) if booking is not None else []
        pods = {*self.kubelet.get(key, ()), *self.users.get(key, ())}
        pods |= {lease.attachment.pod.name for lease in leases}
        devices = {*self._kubelet_devices(key), *self._api_devices(key)}
        if booking is not None:
            devices |= {f"{one.pool}/{one.device}" for one in booking.devices}
        return ClaimRow(
            namespace=key[0],
            claim=key[1],
            pods=tuple(sorted(pods)),
            devices=tuple(sorted(devices)),
            kubelet=self._kubelet_devices(key),
            api=self._api_devices(key),
            journal=booking.state if booking is not None else "",
            interfaces=tuple(
                f"{lease.attachment.pod.name}: {_interface(lease)}" for lease in leases
            ),
        )

    def differences(self, row: ClaimRow) -> Iterable[str]:
        """Yield what the three disagree on about a claim."""
        key = (row.namespace, row.claim)
        name = f"claim {row.namespace}/{row.claim}"
        gone = self.asked_api and key not in self.all_claims and key not in self.hidden
        if self.asked_api:
            if row.kubelet and gone:
                yield f"{name}: kubelet has it, but the API server does not"
            elif row.kubelet and row.api and row.kubelet != row.api:
                has, given = ", ".join(row.kubelet), ", ".join(row.api)
                yield f"{name}: kubelet has {has}, but the API server says {given}"
            for pod in self._missed(key):
                yield f"{name}: pod {pod} runs with it, but kubelet does not list it"
        ours = any(device.driver in self.drivers for device in self._given(key))
        if self.asked_journal and ours and row.kubelet and not row.journal:
            yield f"{name}: kubelet has it, but the driver's journal does not"
        if row.journal and gone:
            yield f"{name}: it is in the driver's journal, but not on the API server"

    def _given(self, key: tuple[str, str]) -> list[HeldDevice]:
        return [device for devices in self.kubelet.get(key, {}).values() for device in devices]

    def _kubelet_devices(self, key: tuple[str, str]) -> tuple[str, ...]:
        return tuple(sorted({f"{one.pool}/{one.device}" for one in self._given(key)}))

    def _api_devices(self, key: tuple[str, str]) -> tuple[str, ...]:
        claim = self.all_claims.get(key)
        given = claim.status.node_results if claim is not None else ()
        return tuple(sorted({f"{one.pool}/{one.device}" for one in given}))

    def _missed(self, key: tuple[str, str]) -> list[str]:
        """Return the running pods whose containers name a claim that kubelet does not list."""
        listed = self.kubelet.get(key, {})
        return [
            name
            for name, entry in self.users.get(key, {}).items()
            if name not in listed
            and self.pods[key[0], name].status.phase == "Running"
            and _names_it(self.pods[key[0], name], entry)
        ]


def _users(pods: Iterable[Pod]) -> dict[tuple[str, str], dict[str, str]]:
    """Return the pods of each claim, with the name by which each pod refers to it."""
    users: dict[tuple[str, str], dict[str, str]] = {}
    for pod in pods:
        for entry, name, _ in claim_names(pod):
            if name:
                found = users.setdefault((pod.metadata.namespace, name), {})
                found[pod.metadata.name] = entry
    return users


def _names_it(pod: Pod, entry: str) -> bool:
    claims = (one.resources.get("claims") or () for one in pod.spec.containers)
    return any(one.get("name") == entry for used in claims for one in used)


def _interface(lease: Any) -> str:
    interface = lease.attachment.interface
    if lease.state != "attached" or interface is None:
        return str(lease.state)
    return " ".join((interface.name, *interface.ips))


def row_columns() -> Sequence[Column[ClaimRow]]:
    return [
        Column("NAMESPACE", lambda one: one.namespace, rank=2),
        Column("CLAIM", lambda one: one.claim, folds_to=20),
        Column("POD", lambda one: ", ".join(one.pods), rank=4, folds_to=16),
        Column("KUBELET", lambda one: ", ".join(one.kubelet), folds_to=16),
        Column("API", lambda one: ", ".join(one.api), folds_to=16),
        Column("JOURNAL", lambda one: one.journal),
        Column("INTERFACES", lambda one: "; ".join(one.interfaces), rank=3, folds_to=20),
    ]
