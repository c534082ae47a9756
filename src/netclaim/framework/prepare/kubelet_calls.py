"""Answer kubelet: every claim of a call, each on its own, before kubelet stops waiting.

Promise: faults that may pass are retried within the budget, since kubelet itself would come back
only after a minute; what is not done in time is answered with the last fault. The number of claims
that are worked on at a time is limited, and namespaces take turns: however many claims of one are
slow or fail, those of others are prepared. A claim that waits for its next attempt takes no place.
Limit: what is done for a claim is the preparer's business.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

from netclaim.errors import NetclaimError, PeerError, Reason, RequestError, reason_of
from netclaim.framework.telemetry.logs import explain
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.telemetry.subject import claim_fields, doing
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.fair_slots import Places
from netclaim.framework.tools.supervise import TRANSIENT, Backoff, retry
from netclaim.model.claims.claim import DeviceKey
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer

T = TypeVar("T")
_Verb: TypeAlias = Literal["prepare", "unprepare"]

BACKOFF: Final = Backoff(first_s=0.25, max_s=5.0)  # a dozen attempts in kubelet's budget
# Claims that are worked on at a time, in all and of one namespace. One waits some 20 ms for the API
# server and the disk, so that eight get through the claims of a full node in a second or two.
# Planning, which takes the processor, is limited further, by the preparer.
PLACES: Final = 32
OF_A_NAMESPACE: Final = 8


class TooLateError(PeerError):
    """A claim was not prepared or released before kubelet stops waiting."""

    def __init__(self, message: str, reason: Reason) -> None:
        """`reason` is that of the last attempt's fault, if it had one."""
        super().__init__(message)
        self.why = reason


class ClaimPreparer(Protocol):
    """What is done for one claim. Raises PeerError for what may pass.

    `report_failure` shows on the claim why it is not prepared; `device` is the one that failed, if
    it was one; `refused`: because of what the claim says.
    """

    async def prepare(self, ref: ClaimRef) -> PrepareAnswer: ...
    async def unprepare(self, ref: ClaimRef) -> None: ...
    def report_failure(
        self, ref: ClaimRef, message: str, device: DeviceKey | None, *, refused: bool = False
    ) -> None: ...


class ClaimAnswers:
    def __init__(
        self, preparer: ClaimPreparer, clock: Clock, metrics: Metrics, *, budget_s: float
    ) -> None:
        self._preparer = preparer
        self._clock = clock
        self._metrics = metrics
        self._budget_s = budget_s
        # Apart: a prepare may wait for a device that an unprepare releases.
        self._places: dict[_Verb, Places] = {
            "prepare": Places(total=PLACES, each=OF_A_NAMESPACE),
            "unprepare": Places(total=PLACES, each=OF_A_NAMESPACE),
        }

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Prepare each claim; a second call gets the same answers."""

        async def answer(ref: ClaimRef) -> PrepareAnswer:
            try:
                return await self._in_time("prepare", ref, self._preparer.prepare)
            except Exception as error:  # noqa: BLE001 (kubelet must get an answer for each claim)
                message = explain("prepare.failed", error, **claim_fields(ref))
                device = error.device if isinstance(error, NetclaimError) else None
                refused = isinstance(error, RequestError)
                self._preparer.report_failure(ref, message, device, refused=refused)
                self._metrics.note_refusal("claim", reason_of(error))
                return PrepareAnswer(error=message)

        return await _for_each(refs, answer)

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        """Release each claim; one that is unknown or already released is a success."""

        async def answer(ref: ClaimRef) -> str | None:
            try:
                await self._in_time("unprepare", ref, self._preparer.unprepare)
            except Exception as error:  # noqa: BLE001 (kubelet must get an answer for each claim)
                return explain("unprepare.failed", error, **claim_fields(ref))
            return None

        return await _for_each(refs, answer)

    async def _in_time(
        self, verb: _Verb, ref: ClaimRef, work: Callable[[ClaimRef], Awaitable[T]]
    ) -> T:
        """Do the work, retry what may pass, and give up in time to answer."""
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


async def _for_each(
    refs: Sequence[ClaimRef], answer: Callable[[ClaimRef], Coroutine[Any, Any, T]]
) -> Mapping[str, T]:
    """The answers for all claims, by UID, worked out side by side."""
    async with asyncio.TaskGroup() as group:
        tasks = {ref.uid: group.create_task(answer(ref)) for ref in refs}
    return {uid: task.result() for uid, task in tasks.items()}
