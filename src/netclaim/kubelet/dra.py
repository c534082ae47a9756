"""NodePrepareResources and NodeUnprepareResources: one implementation for both API versions.

Promise: whatever the claim service returns or raises, every claim that kubelet asked about is
answered exactly once, with its devices or with a reason. Otherwise kubelet would throw away the
answers for the other claims of the call. Limit: nothing is decided about claims here.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

import structlog
from grpclib.const import Cardinality, Handler
from grpclib.server import Stream

from netclaim.errors import NetclaimError
from netclaim.kubelet.dra_api import DraApi
from netclaim.kubelet.server import receive
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer

log = structlog.get_logger()

FORGOTTEN: Final = "internal error: the driver gave no answer for this claim"

Outcome = TypeVar("Outcome")


class ClaimService(Protocol):
    """What the driver does for claims. Answers are by claim UID.

    Either call may be cancelled at any await: when kubelet's deadline passes (45 s), when it hangs
    up, or when the grace period of a stop is over. Kubelet then calls again with the same claims.
    An error that is raised stands for every claim of the call.
    """

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Make the claims' devices ready. A second call returns the same and disturbs nothing."""

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        """Release the claims; None is success, a text says why it failed.

        An unknown claim, or one that was released before, is a success.
        """


class DraService:
    """The DRAPlugin service of one API version."""

    def __init__(self, api: DraApi, claims: ClaimService) -> None:
        self._api = api
        self._claims = claims

    def __mapping__(self) -> Mapping[str, Handler]:
        api, messages = self._api, self._api.messages
        return {
            api.path("NodePrepareResources"): Handler(
                self._prepare,
                Cardinality.UNARY_UNARY,
                messages.NodePrepareResourcesRequest,
                messages.NodePrepareResourcesResponse,
            ),
            api.path("NodeUnprepareResources"): Handler(
                self._unprepare,
                Cardinality.UNARY_UNARY,
                messages.NodeUnprepareResourcesRequest,
                messages.NodeUnprepareResourcesResponse,
            ),
        }

    async def _prepare(self, stream: Stream[Any, Any]) -> None:
        refs = self._api.refs(await receive(stream))
        answers = await _answer_each(
            "prepare", refs, self._claims.prepare, lambda reason: PrepareAnswer(error=reason)
        )
        await stream.send_message(self._api.prepare_response(answers))

    async def _unprepare(self, stream: Stream[Any, Any]) -> None:
        refs = self._api.refs(await receive(stream))
        errors = await _answer_each(
            "unprepare", refs, self._claims.unprepare, lambda reason: reason
        )
        await stream.send_message(self._api.unprepare_response(errors))


async def _answer_each(
    call: str,
    refs: Sequence[ClaimRef],
    service: Callable[[Sequence[ClaimRef]], Awaitable[Mapping[str, Outcome]]],
    failure: Callable[[str], Outcome],
) -> Mapping[str, Outcome]:
    """Return the service's outcome for each claim, or the failure that replaces it."""
    uids = [ref.uid for ref in refs]
    try:
        given = await service(refs)
    except NetclaimError as error:
        log.warning("kubelet.call_failed", call=call, claims=uids, error=str(error))
        return dict.fromkeys(uids, failure(str(error)))
    except Exception as error:
        log.exception("kubelet.call_broken", call=call, claims=uids)
        return dict.fromkeys(uids, failure(f"internal error: {type(error).__name__}: {error}"))
    if unknown := given.keys() - set(uids):
        log.error("kubelet.unknown_claims", call=call, claims=sorted(unknown))
    if forgotten := set(uids) - given.keys():
        log.error("kubelet.forgotten_claims", call=call, claims=sorted(forgotten))
    return {uid: given[uid] if uid in given else failure(FORGOTTEN) for uid in uids}
