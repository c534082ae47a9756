"""What interfaces pods have on networks, from the claims' status.

Promise: a claim is read once for each of its changes, and the interfaces of a pod are found without
looking at other claims. Only what our own driver reports counts, and it names a network only if the
claim's class, which an admin wrote, does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.claims.claim import JsonObject

PodKey: TypeAlias = tuple[str, str]
"""A pod's namespace and UID."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A pod's interface on a network."""

    network: str
    pod: PodKey
    addresses: tuple[str, ...]  # with or without a prefix length
    works: bool  # Ready, and not unhealthy


class Interfaces:
    """The interfaces of all pods that have some on networks."""

    def __init__(self, driver: str) -> None:
        self._driver = driver
        self._of_claim: dict[str, tuple[Interface, ...]] = {}  # by the claim's UID
        self._of_pod: dict[PodKey, dict[str, tuple[Interface, ...]]] = {}  # by that too

    def changed(self, before: JsonObject | None, now: JsonObject | None) -> set[tuple[str, str]]:
        """Note a claim; returns namespaces and networks whose interfaces have changed."""
        found = now or before
        assert found is not None
        uid = found["metadata"]["uid"]
        old = self._of_claim.pop(uid, ())
        new = tuple(interfaces_of(now, self._driver)) if now is not None else ()
        if new:
            self._of_claim[uid] = new
        if old == new:
            return set()
        for pod in {each.pod for each in old}:
            claims = self._of_pod[pod]
            del claims[uid]
            if not claims:
                del self._of_pod[pod]
        for pod in {each.pod for each in new}:
            own = tuple(each for each in new if each.pod == pod)
            self._of_pod.setdefault(pod, {})[uid] = own
        return {(each.pod[0], each.network) for each in (*old, *new)}

    def of(self, pod: PodKey, network: str) -> Iterator[Interface]:
        """The interfaces of a pod on a network."""
        for found in self._of_pod.get(pod, {}).values():
            yield from (each for each in found if each.network == network)


def interfaces_of(found: JsonObject, driver: str) -> Iterator[Interface]:
    """The interfaces on networks that a claim's status reports."""
    if not found["status"].get("devices"):
        return
    try:
        claim = ResourceClaim.read(found)
    except ObjectError:  # of a later version of the API
        return
    namespace = claim.metadata.namespace
    for result in claim.status.results:
        report = claim.status.report_of(result) if result.driver == driver else None
        if report is None or not report.pod_network:
            continue
        works = report.ready is not None and report.ready.status == "True" and not report.unhealthy
        for uid, addresses in _addresses(
            ((each.uid, each.ips) for each in report.shared.pods),
            [each.uid for each in claim.status.reserved_for if each.is_pod],
            report.network_data.ips,
        ):
            yield Interface(report.pod_network, (namespace, uid), addresses, works)


def _addresses(
    shared: Iterable[tuple[str, tuple[str, ...]]], pods: list[str], ips: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each pod with its addresses: those of several pods are listed by pod."""
    listed = {uid: its for uid, its in shared if uid}
    if listed:
        yield from ((uid, its) for uid, its in listed.items() if its and uid in pods)
    elif len(pods) == 1 and ips:
        yield pods[0], ips
