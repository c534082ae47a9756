"""The runtime's other way to call: its own CNI chain ends with netclaim-attach, which asks here.

Promise: ADD attaches all of a pod's devices or fails with the reason, and the runtime does not make
the sandbox; there is no deadline but our own, and no other pod waits. DEL undoes what it can in its
time, and never fails: the rest goes on in the background. WAIT is how a held container is let go.
COLLECT is `netclaim driver gc`: a round of garbage collection, and what it did. RETIRE is `netclaim
driver retire`: the driver does not come back. These two are others' work, and only passed on.
Limit: CNI says nothing of a pod but its name and UID.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import structlog

from netclaim.chained import (
    AGAIN,
    OK,
    TRY_AGAIN_LATER,
    Answer,
    Command,
    Listing,
    Refusal,
    Request,
)
from netclaim.errors import NetclaimError, RequestError, reason_of
from netclaim.framework.attach.attacher import Attacher
from netclaim.framework.attach.errors import NotAttachedError, OtherPodError
from netclaim.framework.attach.reconcile import Reconciler
from netclaim.framework.attach.sandbox import Sandboxes
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.records import pods_of
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.telemetry.subject import claims_fields, pod_fields
from netclaim.model.on_node.pod import PodSandbox

log = structlog.get_logger()

END_S: Final = 4.0  # the plugin waits five for its DEL
INVALID_CONFIG: Final = 7  # CNI's code for what the user has to change


@dataclass(slots=True)
class ChainedCalls:
    """What the plugin's socket is answered by."""

    sandboxes: Sandboxes
    reconciler: Reconciler
    attacher: Attacher
    journal: Journal
    metrics: Metrics
    collect: Callable[..., Awaitable[tuple[str, ...]]]  # a round, perhaps a dry one: what it did
    # What an instance of the driver still holds; None if it is not this one.
    retire: Callable[[str], tuple[str, ...] | None]

    async def __call__(self, request: Request) -> Answer:
        """Answer one call."""
        try:
            match request.command:
                case Command.ADD:
                    await self._add(_pod(request))
                case Command.DEL:
                    await self._delete(_pod(request))
                case Command.CHECK:
                    await self.attacher.check(_pod(request))
                case Command.GC:
                    self._release_unlisted(request.stdin)
                case Command.WAIT:
                    await self._wait(request)
                case Command.COLLECT:
                    return Listing(await self.collect(dry_run=request.dry_run))
                case Command.RETIRE:
                    held = self.retire(request.instance)
                    return AGAIN if held is None else Listing(held)
        except RequestError as error:
            return Refusal(str(error), INVALID_CONFIG)
        except NetclaimError as error:
            return Refusal(str(error), TRY_AGAIN_LATER)
        return OK

    async def _add(self, pod: PodSandbox) -> None:
        try:
            await self.reconciler.request(pod, "chain", new=True).wait()
        except Exception as error:
            names = {**pod_fields(pod), **claims_fields(self.sandboxes.claims_of(pod))}
            log.warning("attach.refused", **names, error=str(error))
            self.metrics.note_refusal("sandbox", reason_of(error))
            raise

    async def _delete(self, pod: PodSandbox) -> None:
        await self.reconciler.end(pod, asyncio.get_running_loop().time() + END_S)

    async def _wait(self, request: Request) -> None:
        """Return once the sandbox has everything, or say why it has not."""
        sandbox_id = request.container_id
        known = self.sandboxes.pod(sandbox_id)
        if known is not None and request.uid != known.uid:
            self.metrics.note_refusal("container", "request")
            raise OtherPodError
        waiting = self.sandboxes.request_for(sandbox_id)
        if waiting is None:
            pod = self.sandboxes.held(sandbox_id)
            if pod is not None and self.attacher.is_complete(pod):
                return
            if pod is None:
                self.metrics.note_refusal("container", "request")
                raise NotAttachedError
            # The driver was started anew while the container was held.
            waiting = self.reconciler.request(pod, "chain")
        try:
            await waiting.wait()
        except Exception as error:
            self.metrics.note_refusal("container", reason_of(error))
            raise

    def _release_unlisted(self, config: bytes) -> None:
        """Release the sandboxes that the runtime does not list, unless their namespaces live."""
        listed = _valid(config)
        if listed is None:
            return
        held = pods_of(self.journal.leases.values())
        gone = [p for p in held if p.id not in listed and not self.sandboxes.has_netns(p)]
        for pod in gone:
            self.sandboxes.note_gone(pod)
        log.info("chained.gc", listed=len(listed), released=len(gone))


def _pod(request: Request) -> PodSandbox:
    args = request.args
    return PodSandbox(
        id=request.container_id,
        uid=request.pod_uid,
        namespace=request.pod_namespace,
        name=args.get("K8S_POD_NAME", ""),
        netns=request.netns or None,
    )


def _valid(config: bytes) -> frozenset[str] | None:
    """The container ids that a GC call lists; None if it says nothing about them."""
    try:
        parsed: Any = msgspec.json.decode(config)
        listed: Iterable[Any] = parsed["cni.dev/valid-attachments"]
        return frozenset(str(each["containerID"]) for each in listed)
    except (msgspec.MsgspecError, KeyError, TypeError):
        return None
