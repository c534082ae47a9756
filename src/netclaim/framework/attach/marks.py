"""Marks on the disk: the journal's plans and sandboxes, as files that the chained plugin looks at.

They are for when the driver is away: the runtime's other callers (see `chained`) look at these
files before they let a pod pass. Promise: a plan's files are there before kubelet hears of the
plan; if they cannot be written, that is the caller's error. If a note on a sandbox cannot be
written, it is logged. What is noted already is not written a second time.
"""

from collections.abc import Callable, Collection
from pathlib import Path

import structlog

from netclaim.chained import PlanFiles, PlanState
from netclaim.errors import HostError
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.pod_plans import ReleasedLately
from netclaim.framework.journal.records import pods_of
from netclaim.model.on_node.pod import PodSandbox

log = structlog.get_logger()


class FileMarks:
    """Marks below one directory."""

    def __init__(self, files: PlanFiles, released: ReleasedLately) -> None:
        """What is `released` may be a pod's that is about to start: it has to be asked about."""
        self._files = files
        self._released = released
        self._state = PlanState()

    @property
    def attached_dir(self) -> Path:
        """Where complete sandboxes are noted."""
        return self._files.attached_dir

    def begin(self, journal: Journal, is_complete: Callable[[PodSandbox], bool]) -> None:
        """Leave exactly what the journal knows, and nothing of an earlier boot or driver."""
        plans = self._plans(journal)
        pods = pods_of(journal.leases.values())
        begun = frozenset(pod.id for pod in pods)
        complete = frozenset(pod.id for pod in pods if is_complete(pod))
        self._files.rewrite(
            PlanState(plans.pods, plans.shared, begun, complete, ask_all=plans.ask_all)
        )
        self._state = plans

    def note_plans(self, journal: Journal) -> None:
        """Write what is new, remove what is not there any more."""
        before, now = self._state, self._plans(journal)
        for uid in now.pods - before.pods:
            self._files.note_pod(uid)
        for namespace in now.shared.keys() | before.shared.keys():
            claims = now.shared.get(namespace, frozenset())
            if claims != before.shared.get(namespace, frozenset()):
                self._files.set_shared(namespace, claims)
        for uid in before.pods - now.pods:
            self._files.forget_pod(uid)
        if now.ask_all != before.ask_all:
            self._files.ask_all(now.ask_all)
        self._state = now

    def note_begun(self, sandbox_id: str) -> None:
        """The driver may have given the sandbox something, so its end concerns the driver."""
        self._try(lambda: self._files.note_sandbox(sandbox_id))

    def note_complete(self, sandbox_id: str) -> None:
        """The sandbox's containers may start, also while the driver is away."""
        self._try(lambda: self._files.note_attached(sandbox_id))

    def note_incomplete(self, sandbox_id: str) -> None:
        """The sandbox's containers may not start while the driver is away."""
        self._try(lambda: self._files.forget_attached(sandbox_id))

    def note_ended(self, sandbox_id: str) -> None:
        """The driver has nothing in the sandbox any more."""
        self._try(lambda: self._files.forget_sandbox(sandbox_id))

    def strays(self, known: Collection[str], *, before: float) -> frozenset[str]:
        """Sandboxes beyond these that have a mark which was written `before` then."""
        return self._files.sandboxes(before=before) - frozenset(known)

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except HostError as error:
            log.warning("marks.failed", error=str(error))

    def _plans(self, journal: Journal) -> PlanState:
        pods, shared = journal.booked.groups("pod"), journal.booked.groups("shared")
        claims = {str(namespace): frozenset(uids) for namespace, uids in shared.items()}
        for namespace, uids in self._released.claims().items():
            claims[namespace] = claims.get(namespace, frozenset()).union(uids)
        return PlanState(frozenset(map(str, pods)), claims, ask_all=not journal.complete)
