"""The runtime's other way to call: its own CNI chain ends with a plugin of ours, which asks here.

Promise: ADD attaches all of a pod's devices or fails with the reason, and the runtime does not make
the sandbox; there is no deadline but our own, and no other pod waits. DEL undoes what it can in its
time, and never fails: the rest goes on in the background. WAIT is how a held container is let go.
COLLECT is `netclaim driver gc`: a round of garbage collection, and what it did. RETIRE is `netclaim
driver retire`: see `retire`.
Limit: CNI says nothing of a pod but its name and UID.
"""

import asyncio
from collections.abc import Iterable
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
from netclaim.framework.adopt import Adopter
from netclaim.framework.attach import Attacher
from netclaim.framework.attaching import Attaching
from netclaim.framework.collect import Collected, Collector
from netclaim.framework.hooks import RuntimeHooks
from netclaim.framework.journal import Journal
from netclaim.framework.metrics import Metrics
from netclaim.framework.netns import HasNetns
from netclaim.framework.records import pods_of
from netclaim.framework.repair import Repairer
from netclaim.framework.retire import Retirement, holdings
from netclaim.framework.subject import claims_fields, pod_fields
from netclaim.model.pod import PodSandbox

__all__ = ["ChainedCalls"]

log = structlog.get_logger()

END_S: Final = 4.0  # the plugin waits five for its DEL
INVALID_CONFIG: Final = 7  # CNI's code for what the user has to change


class ChainedCalls:
    """What the plugin's socket is answered by."""

    def __init__(
        self,
        attacher: Attacher,
        adopter: Adopter,
        attaching: Attaching,
        repairer: Repairer,
        *,
        hooks: RuntimeHooks,
        journal: Journal,
        collector: Collector,
        retirement: Retirement,
        instance: str,
        metrics: Metrics,
        has_netns: HasNetns,
    ) -> None:
        self._attacher = attacher
        self._adopter = adopter
        self._attaching = attaching
        self._repairer = repairer
        self._hooks = hooks
        self._journal = journal
        self._collector = collector
        self._retirement = retirement
        self._instance = instance
        self._metrics = metrics
        self._has_netns = has_netns

    async def __call__(self, request: Request) -> Answer:
        """Answer one call. Again: the same."""
        try:
            match request.command:
                case Command.ADD:
                    await self._add(_pod(request))
                case Command.DEL:
                    await self._delete(_pod(request))
                case Command.CHECK:
                    await self._attacher.check(_pod(request))
                case Command.GC:
                    self._release_unlisted(request.stdin)
                case Command.WAIT:
                    await self._wait(request)
                case Command.COLLECT:
                    collected = await self._collector.collect(dry_run=request.dry_run)
                    return Listing(_lines(collected, dry_run=request.dry_run))
                case Command.RETIRE:
                    return self._retire(request.instance)
        except RequestError as error:
            return Refusal(str(error), INVALID_CONFIG)
        except NetclaimError as error:
            return Refusal(str(error), TRY_AGAIN_LATER)
        return OK

    async def _add(self, pod: PodSandbox) -> None:
        attempt = self._attaching.begin(pod, self._adopter.book, roll_back=True, hooked=False)
        try:
            await self._attaching.wait(attempt)
        except Exception as error:
            names = {**pod_fields(pod), **claims_fields(self._attacher.claims_of(pod))}
            log.warning("attach.refused", **names, error=str(error))
            self._metrics.note_refusal("sandbox", reason_of(error))
            raise

    async def _delete(self, pod: PodSandbox) -> None:
        await self._hooks.end(pod, asyncio.get_running_loop().time() + END_S)

    async def _wait(self, request: Request) -> None:
        """Return once the sandbox has everything, or say why it has not."""
        sandbox_id = request.container_id
        attempt = self._attaching.under_way(sandbox_id)
        if attempt is None:
            pod = self._attacher.sandbox(sandbox_id)
            if pod is not None and self._attacher.is_complete(pod):
                return
            if pod is None:
                self._metrics.note_refusal("container", "request")
                raise NotAttachedError
            # The driver was started anew while the container was held.
            adopt = self._adopter.take_over
            attempt = self._attaching.begin(pod, adopt, roll_back=False, hooked=False)
        try:
            await self._attaching.wait(attempt)
        except Exception as error:
            self._metrics.note_refusal("container", reason_of(error))
            raise

    def _retire(self, instance: str) -> Answer:
        """What is held, or `again` if another process is meant, which does not work any more."""
        if instance != self._instance:
            return AGAIN
        held = holdings(self._journal.bookings.values(), self._journal.leases.values())
        self._retirement.begin(held)
        return Listing(held)

    def _release_unlisted(self, config: bytes) -> None:
        """Release the sandboxes that the runtime does not list, unless their namespaces live."""
        listed = _valid(config)
        if listed is None:
            return
        held = pods_of(self._journal.leases.values())
        gone = [p for p in held if p.id not in listed and not self._has_netns(p)]
        for pod in gone:
            self._repairer.note_gone(pod)
        log.info("chained.gc", listed=len(listed), released=len(gone))


class NotAttachedError(RequestError):
    """A container is held for a sandbox in which nothing was begun."""

    def __init__(self) -> None:
        super().__init__(
            "the pod's interfaces are not attached yet; kubelet starts the container again"
        )


def _pod(request: Request) -> PodSandbox:
    args = request.args
    return PodSandbox(
        id=request.container_id,
        uid=request.pod_uid,
        namespace=request.pod_namespace,
        name=args.get("K8S_POD_NAME", ""),
        netns=request.netns or None,
    )


def _lines(collected: Collected, *, dry_run: bool) -> tuple[str, ...]:
    """What a round did, or would do, in words."""
    verb = "would remove" if dry_run else "removed"
    done = [f"{verb} {each.what}" for each in collected.found]
    failed = [f"could not remove {each.what}: {why}" for each, why in collected.failed]
    skipped = [f"not checked: {why}" for why in collected.skipped]
    nothing = [] if done or failed else ["nothing to remove"]
    return (*done, *failed, *nothing, *skipped)


def _valid(config: bytes) -> frozenset[str] | None:
    """The container ids that a GC call lists; None if it says nothing about them."""
    try:
        parsed: Any = msgspec.json.decode(config)
        listed: Iterable[Any] = parsed["cni.dev/valid-attachments"]
        return frozenset(str(each["containerID"]) for each in listed)
    except (msgspec.MsgspecError, KeyError, TypeError):
        return None
