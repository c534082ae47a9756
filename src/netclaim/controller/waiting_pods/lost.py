"""Which pods go because an interface of theirs was lost and did not come back.

A driver makes a lost interface again as soon as it can: when the link below it is back, say. Where
that takes longer than the pod's class allows, the pod is evicted, so that its workload makes
another one, perhaps on another node. The class says so by `evictAfterSeconds`, and a PodNetwork by
the field of that name; it is not said by claims, since it is the cluster that evicts.

Promise: only pods that run, and whose claim has said for as long as that that nobody has the
interface. A class counts as it was when the claim was allocated, a network that was claimed by its
attribute as it is now. No I/O. Limit: a claim of several pods is lost when none of them has its
interface; a node whose driver does not run says nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from netclaim.controller.waiting_pods.evictions import Found
from netclaim.model.api.base import Condition, JsonObject, ObjectError
from netclaim.model.api.dra.claim import DeviceResult, ResourceClaim
from netclaim.model.api.own_kinds.pod_network import EVICT_AFTER
from netclaim.model.devices.link_name import ON
from netclaim.network.devices.network_device import is_device_of

OF_CLASS: Final = "FromClass"  # the source of an entry that no claim can have written


class LostInterfaces:
    """The rule for interfaces that were lost. `networks` are the cluster's PodNetworks."""

    name = "lost"
    event = "InterfaceLost"

    def __init__(
        self,
        driver: str,
        networks: Callable[[], Mapping[Any, JsonObject]],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._driver = driver
        self._networks = networks
        self._now = now

    def find(self, claim: JsonObject) -> Found | None:
        """The pods of a claim whose interface is not there, and whose class sets a limit."""
        try:
            read = ResourceClaim.read(claim)
        except ObjectError:
            return None
        pods = {one.uid: one for one in read.status.reserved_for if one.is_pod}
        due = [
            (self._due_in_s(condition, limit_s), limit_s, condition.message)
            for given, condition in self._lacking(read)
            if (limit_s := self._limit_s(read, given))
        ]
        if not pods or not due:
            return None
        due_in_s, limit_s, message = min(due)
        return Found(pods, due_in_s, f"not made again within {limit_s} s: {message}")

    def concerns(self, pod: JsonObject) -> bool:
        """Whether a pod runs; one that does not has lost nothing, and waits."""
        running = pod.get("status", {}).get("phase") == "Running"
        return running and "deletionTimestamp" not in pod["metadata"]

    def note(self, claim: str, why: str) -> str:
        return f"evicted, because its interface of claim {claim} was lost and {why}"

    def _lacking(self, claim: ResourceClaim) -> Iterator[tuple[DeviceResult, Condition]]:
        """The devices that nobody has, with the condition that says so."""
        for given in claim.status.results:
            report = claim.status.report_of(given) if given.driver == self._driver else None
            ready = report.ready if report is not None else None
            if ready is not None and ready.status == "False":
                yield given, ready

    def _limit_s(self, claim: ResourceClaim, given: DeviceResult) -> int:
        """After how many seconds its class has pods evicted; 0: never."""
        allocation = claim.status.allocation
        names = {given.request, given.request.partition("/")[0]}
        for entry in allocation.devices.config if allocation is not None else ():
            opaque = entry.opaque
            if opaque is None or opaque.driver != given.driver or entry.source != OF_CLASS:
                continue
            if isinstance(opaque.parameters, Mapping) and not names.isdisjoint(
                entry.requests or names
            ):
                return _seconds(opaque.parameters)
        if ON not in given.device:
            return 0
        networks = self._networks().values()
        ours = (one for one in networks if is_device_of(one["metadata"]["name"], given.device))
        return max((_seconds(one.get("spec") or {}) for one in ours), default=0)

    def _due_in_s(self, condition: Condition, limit_s: int) -> float:
        """How long until the limit; a clock that differs from the node's gives no more time."""
        try:
            since = datetime.fromisoformat(condition.last_transition_time or "")
            passed_s = (self._now() - since).total_seconds()
        except (ValueError, TypeError):  # not a time, or one without a zone
            return float(limit_s)
        return min(float(limit_s), max(0.0, limit_s - passed_s))


def _seconds(parameters: Mapping[str, Any]) -> int:
    found = parameters.get(EVICT_AFTER)
    return found if isinstance(found, int) else 0
