"""One burst: many pods at once, a fault at a moment of it, and how long everything took to settle.

A burst has three stages: its pods start, they run, they end; a fault belongs to one of them. Limits
are generous: a pod that is late is measured, and only one that never comes is a violation.
"""

import subprocess
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from faults.api import AwayError
from faults.audit import Auditor
from faults.manifests import BurstPod, burst_objects, burst_pods
from faults.site import POLL_S, NotSettledError, Site
from faults.steady import SteadyPods
from faults.table import Fault
from lab.errors import LabError

__all__ = ["Burst", "BurstResult", "run_burst"]

MOMENT_S = 30.0  # how long a moment is waited for; later than that the fault comes anyhow
MOMENT_POLL_S = 0.02  # a listing of one directory
SETTLE_S = 240.0  # kubelet tries a claim that was not prepared again after 60 to 90 s; twice that
GONE_S = 180.0
CREATORS = 4  # requests at a time: as many as make a burst, not a queue


@dataclass(slots=True)
class BurstResult:
    """What one burst showed."""

    fault: str
    mode: str
    moment: float
    pods: int = 0
    violations: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)  # of the runtime, with nothing of ours
    claimed_s: list[float] = field(default_factory=list)  # until Ready, of each pod
    plain_s: list[float] = field(default_factory=list)
    steady_s: list[float] = field(default_factory=list)  # of plain pods, one after another
    seconds: float = 0.0
    dirty: bool = False  # whether the next burst needs another cluster

    def note_times(self, pods: Sequence[BurstPod], ready_s: Mapping[str, float]) -> None:
        """Record when each pod became ready."""
        for pod in pods:
            if pod.name in ready_s:
                (self.claimed_s if pod.interfaces else self.plain_s).append(ready_s[pod.name])


class Burst:
    """The pods of one burst, and where they are."""

    def __init__(self, site: Site, name: str, fault: Fault, pods: Sequence[BurstPod]) -> None:
        self._site = site
        self._name = name
        self._fault = fault
        self._api = site.api
        self._expected = {pod.name: pod for pod in pods}
        self._started = time.monotonic()
        self._namespaces = site.namespaces()
        self.ready_s: dict[str, float] = {}  # since the start, when last seen to become ready

    def start(self, moment: float) -> None:
        """Have all pods made at once, and wait until all are ready."""
        self._create()
        if self._fault.stage == "starting":
            self._wait_started(moment)
            self._strike()
        self._settle()

    def run(self) -> None:
        """Let the pods run, and wait until all are ready, still or again."""
        if self._fault.stage == "running":
            self._strike()
            self._settle()

    def end(self, moment: float) -> None:
        """Have all pods deleted, and wait until they are gone."""
        self._delete()
        if self._fault.stage == "ending":
            self._wait_ended(moment)
            self._strike()
        self._wait_gone()

    def _strike(self) -> None:
        """Break something, let it last, and mend it."""
        for action in self._fault.breaks:
            action.run(self._site, self._name)
        self._last(self._fault.lasts_s)
        for action in self._fault.mends:
            action.run(self._site, self._name)

    def _create(self) -> None:
        for manifest in burst_objects(self._name, self._fault.plugin, shares=self._site.shares):
            self._api.create(manifest)
        self._started = time.monotonic()
        manifests = [pod.manifest for pod in self._expected.values()]
        with ThreadPoolExecutor(CREATORS) as pool:
            list(pool.map(self._api.create, manifests))

    def _wait_started(self, share: float) -> None:
        """Wait until this share of the pods have network namespaces."""
        wanted = share * len(self._expected)
        self._wait_moment(lambda: len(self._site.namespaces() - self._namespaces) >= wanted)

    def _wait_ended(self, share: float) -> None:
        """Wait until this share of the pods have no network namespace any more."""
        wanted = (1 - share) * len(self._expected)
        self._wait_moment(lambda: len(self._site.namespaces() - self._namespaces) <= wanted)

    def _wait_moment(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + MOMENT_S
        while not reached() and time.monotonic() < deadline:
            time.sleep(MOMENT_POLL_S)

    def _look(self) -> list[dict[str, Any]] | None:
        """Return the burst's pods, noting which of them became ready; None if nobody answers."""
        try:
            pods = self._api.items("pods", f"faults-burst={self._name}")
        except AwayError:
            return None
        now_s = time.monotonic() - self._started
        ready = {pod["metadata"]["name"] for pod in pods if is_ready(pod)}
        for name in ready - self.ready_s.keys():
            self.ready_s[name] = now_s
        for name in self.ready_s.keys() - ready:
            del self.ready_s[name]
        return pods

    def _last(self, seconds: float) -> None:
        """Let time pass, and look at the pods meanwhile."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._look()
            time.sleep(min(POLL_S, max(0.0, deadline - time.monotonic())))

    def _settle(self) -> None:
        """Wait until every pod that is not being deleted is ready."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            pods = self._look()
            if pods is not None:
                late = [pod for pod in pods if not is_ready(pod)]
                if not late:
                    return
                if time.monotonic() > deadline:
                    names = ", ".join(f"{p['metadata']['name']} {waits_for(p)}" for p in late)
                    raise NotSettledError(f"{len(late)} pods not ready in {SETTLE_S:g} s: {names}")
            time.sleep(POLL_S)

    def _delete(self) -> None:
        """Have all pods deleted, and the claim that they shared."""
        for pod in self._retry_items("pods"):
            self._api.delete("pods", pod["metadata"]["name"])

    def _wait_gone(self) -> None:
        """Wait until the API server has none of the pods any more."""
        deadline = time.monotonic() + GONE_S
        while True:
            pods = self._look()
            if pods == []:
                break
            if time.monotonic() > deadline:
                names = ", ".join(p["metadata"]["name"] for p in pods or [])
                raise NotSettledError(f"pods not gone in {GONE_S:g} s: {names or 'no answer'}")
            time.sleep(POLL_S)
        self._api.delete("resourceclaims", f"{self._name}-shared")

    def _retry_items(self, kind: str) -> list[dict[str, Any]]:
        deadline = time.monotonic() + SETTLE_S
        while True:
            try:
                return self._api.items(kind, f"faults-burst={self._name}")
            except AwayError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_S)


def is_ready(pod: dict[str, Any]) -> bool:
    """Whether the pod says that it is ready, and is to stay."""
    conditions = pod.get("status", {}).get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def waits_for(pod: dict[str, Any]) -> str:
    """Return why a pod is not ready, as far as it says so."""
    if "deletionTimestamp" in pod["metadata"]:
        return "being deleted"
    for status in pod["status"].get("containerStatuses", []):
        waiting = status["state"].get("waiting", {})
        return f"{waiting.get('reason', '')} {waiting.get('message', '')[:160]}".strip()
    return str(pod["status"].get("phase", "unknown"))


def run_burst(
    site: Site, fault: Fault, name: str, *, mode: str, moment: float, claimed: int, plain: int
) -> BurstResult:
    """Run a burst with a fault in it, and audit it; what goes wrong is in the result."""
    result = BurstResult(fault.name, mode, moment)
    began = time.monotonic()
    # Called by NRI alone, only containers that name their claim are held without a driver.
    pods = burst_pods(name, claimed, plain, named=mode == "nri" and fault.names_claims)
    result.pods = len(pods)
    for action in fault.before:
        action.run(site, name)
    auditor = Auditor(site, name, pods, fault)
    burst = Burst(site, name, fault, pods)
    steady = SteadyPods(site, name)
    try:
        with steady:
            burst.start(moment)
            burst.run()
            result.violations += auditor.running()
            result.note_times(pods, burst.ready_s)
            burst.end(moment)
        violations, result.leftovers = auditor.ended()
        result.violations += violations
    except (NotSettledError, AwayError) as error:
        result.violations.append(str(error))
    except (LabError, OSError, subprocess.SubprocessError) as error:
        traceback.print_exc()
        result.violations.append(f"the burst could not be carried out: {error}")
    result.steady_s = steady.took_s
    result.violations += steady.failures
    result.violations += auditor.starts()
    try:
        for action in fault.after:
            action.run(site, name)
    except (LabError, NotSettledError, OSError, subprocess.SubprocessError) as error:
        result.violations.append(f"the node could not be mended: {error}")
    result.dirty = bool(result.violations)
    result.seconds = time.monotonic() - began
    return result
