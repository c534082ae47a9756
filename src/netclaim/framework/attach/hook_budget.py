"""What failing attaches may take of the runtime's hooks, which the pods of a node share.

The runtime calls hooks one after another: while one claim's attach runs into its deadline, no other
pod of the node starts, and kubelet tries such a pod again for ever. So an attach that failed is not
tried again before a multiple of the time that it took, and a namespace has a budget of such time.

Promise: a failure that took next to nothing costs next to nothing, so that a pod starts soon after
its trouble has passed. As long as its namespace is within its budget, a claim that has not failed
waits for nothing; one whose last attach succeeded never does. Only what held up the hooks counts,
not repairs in the background. Success clears a claim, but a slow one counts for its namespace, as
hooks need not wait for it. Memory is bounded. No I/O, no waiting: refuses, and says until when.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from netclaim.errors import PeerError, Reason
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.rates import Buckets, Rate
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.text import cut

SHARE: Final = 0.05  # of the hooks' time for one claim's failures, and for those of a namespace
# A first failure may be bad luck, on a busy node: it pauses for four times as long as it took, as
# kubelet would anyway. Each further one in a row doubles that, until the share is kept.
FIRST_PAUSE: Final = 4
# A failure that took less has no pause of its own: kubelet makes a new sandbox some five to ten
# seconds later, which is long enough. It counts for its namespace all the same.
QUICK_S: Final = 0.25
PAUSE_MAX_S: Final = 300.0  # however slow it was; as long as kubelet's longest back-off
# Seconds of hooks for a namespace at once: ten attaches that take the whole second for which a hook
# waits, as when a handful of pods start with the same mistake. After that its share, one in 20 s.
BUDGET: Final = Rate(burst=10.0, per_s=SHARE)
# What the budget must have for a claim that failed before: three slow failures. Those that were not
# tried yet need any rest, and so come first when time is scarce.
AGAIN_S: Final = 3.0
KEPT: Final = 4096  # failures; many times the claims of a node. The oldest are forgotten first
TEXT_MAX: Final = 1024  # bytes of a failure's text that are repeated in a refusal


class NotYetError(PeerError):
    """An attach was not tried, since earlier ones failed and held up the node; tried again later.

    `wait_s` says in how long.
    """

    why: Reason = "pace"

    def __init__(self, wait_s: float, text: str) -> None:
        whole_s = max(1, math.ceil(wait_s - 0.001))  # a clock's rounding is not a second
        super().__init__(f"not retried for another {whole_s} s: {text}")
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True)
class _Failure:
    """The last attempt for a claim or a pod."""

    until_s: float
    took_s: float
    text: str
    in_row: int

    def __str__(self) -> str:
        return f"the last attempt took {self.took_s:.1f} s and failed: {self.text}"


class HookTime:
    """Keeps account of the failures of claims, pods and namespaces."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, _Failure] = {}  # by UID of a claim or pod; oldest first
        self._budgets = Buckets(BUDGET, clock)  # by namespace

    def __len__(self) -> int:
        return len(self._failures)

    def check_pod(self, pod: PodSandbox) -> None:
        """Raise NotYetError if the pod itself has to wait, whatever its claims."""
        self._check_pause(pod.uid)

    def check_claims(self, pod: PodSandbox, claims: Mapping[str, bool]) -> None:
        """Raise NotYetError if one of a pod's claims has to wait.

        By UID, with whether the claim's last attach, perhaps before a restart, succeeded.
        """
        for uid, proven in claims.items():
            self._check_pause(uid)
            self._check_budget(pod.namespace, self._failures.get(uid), proven=proven)

    def may_wait(self, namespace: str) -> bool:
        """Whether a hook may wait for something of the namespace that could be done later."""
        return self._budgets.level(namespace) > 0

    def note_failure(
        self, pod: PodSandbox, claims: Collection[str] | None, took_s: float, text: str
    ) -> None:
        """A hook failed after so long because of these claims, or if of none, of the pod.

        None: nothing of the pod's own was tried, so that its namespace does not pay for it.
        """
        text = cut(text, TEXT_MAX)
        for uid in claims or (pod.uid,):
            before = self._failures.pop(uid, None)  # so that it is the youngest again
            in_row = before.in_row + 1 if before else 1
            until_s = self._clock.monotonic() + _pause_s(took_s, in_row)
            self._failures[uid] = _Failure(until_s, took_s, text, in_row)
        while len(self._failures) > KEPT:
            del self._failures[next(iter(self._failures))]
        if claims is not None:
            self.draw(pod.namespace, took_s)

    def draw(self, namespace: str, took_s: float) -> None:
        """A hook was held up for so long by something of the namespace that did not succeed."""
        self._budgets.take(namespace, took_s)

    def note_slow(self, pod: PodSandbox, held_s: float) -> None:
        """A hook was held up for so long by an attach that succeeded."""
        if held_s >= QUICK_S:
            self.draw(pod.namespace, held_s)

    def note_success(self, uids: Iterable[str]) -> None:
        """Claims were attached, a pod is complete."""
        for uid in uids:
            self._failures.pop(uid, None)

    def _check_pause(self, uid: str) -> None:
        failure = self._failures.get(uid)
        if failure is None:
            return
        wait_s = failure.until_s - self._clock.monotonic()
        if wait_s > 0:
            raise NotYetError(wait_s, str(failure))

    def _check_budget(self, namespace: str, failure: _Failure | None, *, proven: bool) -> None:
        if proven and failure is None:
            return
        enough = self._budgets.level(namespace) >= AGAIN_S if failure else self.may_wait(namespace)
        if enough:
            return
        wait_s = self._budgets.wait_s(namespace, AGAIN_S if failure else 0.0)
        text = f"attaching in namespace {namespace} has delayed the node's other pods for too long"
        raise NotYetError(wait_s, f"{text}; {failure}" if failure else text)


def _pause_s(took_s: float, in_row: int) -> float:
    if took_s < QUICK_S:
        return 0.0
    doubled = FIRST_PAUSE << min(in_row - 1, 8)  # by then the share is the smaller one
    return min(took_s * min(doubled, 1 / SHARE), PAUSE_MAX_S)
