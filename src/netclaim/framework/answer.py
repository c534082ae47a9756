"""Answer kubelet: every claim of a call, each on its own, before kubelet stops waiting.

Promise: faults that may pass are retried within the budget, since kubelet itself would come back
only after a minute; what does not get done in time is answered with the last fault. Only so many
are worked on at a time, and namespaces take turns: however many claims of one are slow or fail, the
others' are prepared. A claim that waits for its next attempt takes no place. Limit: knows nothing
of what is done for a claim; `ClaimWork` does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

from netclaim.errors import NetclaimError, PeerError, Reason, reason_of
from netclaim.framework.clock import Clock
from netclaim.framework.logs import explain
from netclaim.framework.metrics import Metrics
from netclaim.framework.places import Places
from netclaim.framework.subject import claim_fields, doing
from netclaim.framework.supervise import TRANSIENT, Backoff, retry
from netclaim.model.claim import DeviceKey
from netclaim.model.prepared import ClaimRef, PrepareAnswer

__all__ = ["ClaimAnswers", "ClaimWork", "TooLateError"]

T = TypeVar("T")
_Verb: TypeAlias = Literal["prepare", "unprepare"]

BACKOFF: Final = Backoff(first_s=0.25, max_s=5.0)  # a dozen attempts in kubelet's budget
# Claims that are worked on at a time, in all and of one namespace. One waits some 20 ms for the API
# server and the disk, so that eight get through the claims of a full node in a second or two.
PLACES: Final = 32
NAMESPACE_PLACES: Final = 8


class TooLateError(PeerError):
    """A claim was not prepared or released before kubelet stops waiting."""

    def __init__(self, message: str, reason: Reason) -> None:
        """`reason` is that of the last attempt's fault, if it had one."""
        super().__init__(message)
        self.why = reason


class ClaimWork(Protocol):
    """What is done for one claim. Raises PeerError for what may pass."""

    async def prepare(self, ref: ClaimRef) -> PrepareAnswer:
        """Prepare it. Again: the same answer."""
        ...

    async def unprepare(self, ref: ClaimRef) -> None:
        """Release it. Again: nothing."""
        ...

    def report_failure(self, ref: ClaimRef, message: str, device: DeviceKey | None) -> None:
        """Preparing it failed for now; `device` is the one that failed, if it was one."""
        ...


class ClaimAnswers:
    """What the kubelet plugin calls."""

    def __init__(self, work: ClaimWork, clock: Clock, metrics: Metrics, *, budget_s: float) -> None:
        self._work = work
        self._clock = clock
        self._metrics = metrics
        self._budget_s = budget_s
        # Apart: a prepare may wait for a device that an unprepare releases.
        self._places: dict[_Verb, Places] = {
            "prepare": Places(total=PLACES, each=NAMESPACE_PLACES),
            "unprepare": Places(total=PLACES, each=NAMESPACE_PLACES),
        }

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Prepare each claim. Again: the same answers."""
        answers: dict[str, PrepareAnswer] = {}

        async def answer(ref: ClaimRef) -> None:
            try:
                answers[ref.uid] = await self._in_time("prepare", ref, self._work.prepare)
            except Exception as error:  # noqa: BLE001 (kubelet must get an answer for each claim)
                message = explain("prepare.failed", error, **claim_fields(ref))
                device = error.device if isinstance(error, NetclaimError) else None
                self._work.report_failure(ref, message, device)
                self._metrics.note_refusal("claim", reason_of(error))
                answers[ref.uid] = PrepareAnswer(error=message)

        async with asyncio.TaskGroup() as group:
            for ref in refs:
                group.create_task(answer(ref))
        return answers

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        """Release each claim. Again, or for an unknown one: success."""
        answers: dict[str, str | None] = {}

        async def answer(ref: ClaimRef) -> None:
            try:
                answers[ref.uid] = await self._in_time("unprepare", ref, self._work.unprepare)
            except Exception as error:  # noqa: BLE001 (kubelet must get an answer for each claim)
                answers[ref.uid] = explain("unprepare.failed", error, **claim_fields(ref))

        async with asyncio.TaskGroup() as group:
            for ref in refs:
                group.create_task(answer(ref))
        return answers

    async def _in_time(
        self, verb: _Verb, ref: ClaimRef, work: Callable[[ClaimRef], Awaitable[T]]
    ) -> T:
        """Do the work, again and again if it fails in passing, and give up in time to say so."""
        fault = ""
        reason: Reason = "timeout"
        state = f"other claims in namespace {ref.namespace} come first"

        async def attempt() -> T:
            nonlocal fault, reason, state
            try:
                async with self._places[verb].hold(ref.namespace):
                    state = "it is still in progress"
                    return await work(ref)
            except TRANSIENT as error:
                fault, reason = str(error), reason_of(error)
                raise

        try:
            with self._metrics.timed(verb), doing(verb, ref):
                async with asyncio.timeout(self._budget_s):
                    return await retry(
                        verb, attempt, backoff=BACKOFF, clock=self._clock, metrics=self._metrics
                    )
        except TimeoutError as error:
            message = f"{verb} did not finish within {self._budget_s:g} s: {fault or state}"
            raise TooLateError(message, reason) from error
