"""Preflight: see whether a claim could be served here before its pod is bound to the node.

A device with binding conditions makes the scheduler wait, after it has allocated the device, until
the claim's status says that the conditions hold, or that one of the failure conditions does; then
it allocates anew. Promise: conditions are published only while claims can be followed, so that no
pod waits for a verdict that cannot come. Each allocation gets one verdict, written under a field
manager of its own, which the report of the pod's interface leaves alone. A device on which a claim
failed for the node's sake (UnfitError) is tainted for a while: the scheduler would take it again.
Limit: the scheduler looks every five seconds, so a pod takes that much longer. A claim's own
mistakes taint nothing, and are tried again on other nodes, as often as the scheduler likes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Final, Protocol

import msgspec
import structlog

from netclaim.errors import NetclaimError, PeerError, reason_of
from netclaim.framework.clock import Clock
from netclaim.framework.contract import Driver, UnfitError
from netclaim.framework.logs import brief
from netclaim.framework.metrics import Metrics
from netclaim.framework.slices import Pool
from netclaim.framework.subject import concerning
from netclaim.framework.supervise import TRANSIENT, Backoff, retry
from netclaim.framework.verdict import Awaited, awaited_of, verdict_entries
from netclaim.model.claim import Claim, ClaimError, JsonObject
from netclaim.model.counter import CounterSet
from netclaim.model.device import Device, Taint
from netclaim.model.prepared import ClaimRef

__all__ = ["UNFIT", "AllocatedClaims", "Preflight", "Verdicts"]

log = structlog.get_logger()

UNFIT: Final = "preflight-failed"  # the taint of a device that could not serve an admin's network
# An admin needs minutes to mend a node; a wrong guess costs a pod one more round in that time.
UNFIT_S: Final = 300.0
# For one check, retries included: the scheduler would wait for ten minutes, its pod's owner not.
CHECK_S: Final = 20.0
TOLD_MAX: Final = 1024  # more claims than fail on a node at a time
CHECKS_MAX: Final = 8  # at a time; the driver's other hooks go on beside them
RETRIES: Final = Backoff(first_s=0.5, max_s=5.0)

Offer = tuple[Device | CounterSet, ...]


class AllocatedClaims(Protocol):
    """The cluster's claims that wait for conditions."""

    def follow(self, opened: Callable[[], None]) -> AsyncIterator[JsonObject]:
        """Yield them as they are, and again as they change; calls `opened` once that works."""
        ...


class Namespaces(Protocol):
    """The API server's namespaces."""

    async def labels(self, name: str) -> Mapping[str, str]:
        """A namespace's labels, as they were a moment ago."""
        ...


class Verdicts(Protocol):
    """Where verdicts are written."""

    async def apply(self, claim: ClaimRef, devices: Sequence[JsonObject]) -> bool:
        """Make these all of the verdicts in status.devices; False if the claim is gone or free."""
        ...


class Preflight:
    """Gives verdicts for as long as it runs, if any device wants them."""

    def __init__(
        self,
        driver: Driver,
        pool: Pool,
        claims: AllocatedClaims,
        namespaces: Namespaces,
        verdicts: Verdicts,
        *,
        publish: Callable[[Offer], None],
        tell: Callable[[ClaimRef, str], None],
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        """`publish` gets what is to be published; `tell` leaves an event at a claim."""
        self._driver = driver
        self._pool = pool
        self._claims = claims
        self._namespaces = namespaces
        self._verdicts = verdicts
        self._publish = publish
        self._tell = tell
        self._metrics = metrics
        self._clock = clock
        self._offered: Offer | None = None
        self._wanted = asyncio.Event()
        self._following: bool | None = None  # None: not known yet
        self._unfit: dict[str, float] = {}  # until when, by device
        self._judging: set[str] = set()  # claims by UID
        self._told: dict[str, str] = {}  # what claims were told last, by UID; oldest first
        self._checks = asyncio.Semaphore(CHECKS_MAX)

    def offer(self, offered: Offer) -> None:
        """Pass on what there is to publish, as far as it can be kept to. Again: the same."""
        self._offered = offered
        if any(isinstance(each, Device) and each.binding_conditions for each in offered):
            self._wanted.set()
        else:
            self._wanted.clear()
        self._pass_on()

    async def run(self) -> None:
        """Follow claims and give verdicts until cancelled. Again, after it failed: from the start.

        A cluster without such devices is not watched.
        """
        await self._wanted.wait()
        fault: NetclaimError | None = None
        async with asyncio.TaskGroup() as group:
            forgetting = group.create_task(self._forget_unfit())
            try:
                async for found in self._claims.follow(self._note_following):
                    self._begin(found, group)
            except NetclaimError as error:
                fault = error
            forgetting.cancel()
        self._following = False
        self._pass_on()  # without conditions: better unchecked than stuck
        raise fault or PeerError("the API server's claims are followed no more")

    def _begin(self, found: JsonObject, group: asyncio.TaskGroup) -> None:
        """Judge a claim that waits for it, unless that is under way."""
        try:
            awaited = awaited_of(found, self._driver.name, self._pool.node)
        except ClaimError as error:
            log.warning("preflight.unreadable", error=str(error))
            return
        if awaited is not None and awaited.claim.uid not in self._judging:
            self._judging.add(awaited.claim.uid)
            group.create_task(self._judge(awaited))

    def _note_following(self) -> None:
        if not self._following:
            log.info("preflight.following")
            self._following = True
            self._pass_on()

    def _pass_on(self) -> None:
        if self._offered is None or (self._wanted.is_set() and self._following is None):
            return  # what an earlier process published stays meanwhile
        now_s = self._clock.monotonic()
        unfit = {name for name, until_s in self._unfit.items() if now_s < until_s}
        self._publish(tuple(self._shown(each, unfit) for each in self._offered))

    def _shown(self, each: Device | CounterSet, unfit: set[str]) -> Device | CounterSet:
        if not isinstance(each, Device) or not each.binding_conditions:
            return each
        if not self._following:
            return msgspec.structs.replace(
                each, binding_conditions=(), binding_failure_conditions=(), binds_to_node=False
            )
        if each.name not in unfit:
            return each
        taint = Taint(key=f"{self._driver.name}/{UNFIT}", effect="NoSchedule")
        return msgspec.structs.replace(each, taints=(*each.taints, taint))

    async def _judge(self, awaited: Awaited) -> None:
        """Check one claim and write the verdict; whatever goes wrong, the others go on."""
        try:
            with concerning(awaited.claim.ref):
                async with self._checks:
                    error = await self._checked(awaited)
                await self._give(awaited, error)
        except NetclaimError as error:
            log.warning("preflight.not_written", error=str(error))
        finally:
            self._judging.discard(awaited.claim.uid)

    async def _checked(self, awaited: Awaited) -> Exception | None:
        """What is wrong with the claim on this node; None: nothing that is known now."""
        last: Exception = TimeoutError("the check took too long")
        try:
            async with asyncio.timeout(CHECK_S):
                for delay_s in RETRIES.delays(self._clock):
                    try:
                        await self._driver.preflight(await self._with_labels(awaited))
                    except PeerError as error:
                        last = error
                    else:
                        return None
                    await self._clock.sleep(delay_s)
        except TimeoutError:
            return last
        except Exception as error:  # noqa: BLE001 (the driver's code: a verdict all the same)
            return error
        raise AssertionError("delays never end")

    async def _with_labels(self, awaited: Awaited) -> Claim:
        claim = awaited.claim
        if self._driver.reads_namespace:
            labels = await self._namespaces.labels(claim.namespace)
            claim = msgspec.structs.replace(claim, namespace_labels=labels)
        return claim

    async def _give(self, awaited: Awaited, error: Exception | None) -> None:
        entries = verdict_entries(awaited, error, self._clock.now())
        written = await retry(
            "preflight",
            lambda: self._verdicts.apply(awaited.claim.ref, entries),
            backoff=Backoff(),
            clock=self._clock,
            metrics=self._metrics,
            retried=TRANSIENT,
        )
        if not written:
            return
        self._metrics.note_preflight("passed" if error is None else "failed")
        if error is None:
            log.info("preflight.passed")
            return
        log.warning("preflight.failed", error=brief(str(error)), reason=reason_of(error))
        self._tell_once(awaited.claim.ref, brief(str(error)))
        if isinstance(error, UnfitError):
            until_s = self._clock.monotonic() + UNFIT_S
            named = [error.device[1]] if error.device else [d.device for d in awaited.devices]
            self._unfit |= dict.fromkeys(named, until_s)
            self._pass_on()

    def _tell_once(self, claim: ClaimRef, text: str) -> None:
        """Leave an event, unless the claim's last one said the same: the scheduler tries for ever.

        A claim of which too many others were told since is told again.
        """
        if self._told.pop(claim.uid, "") != text:
            self._tell(claim, text)
        self._told[claim.uid] = text
        if len(self._told) > TOLD_MAX:
            del self._told[next(iter(self._told))]

    async def _forget_unfit(self) -> None:
        """Publish devices without their taint when its time is over."""
        while True:
            await self._clock.sleep(UNFIT_S / 10)
            now_s = self._clock.monotonic()
            over = [name for name, until_s in self._unfit.items() if until_s <= now_s]
            for name in over:
                del self._unfit[name]
            if over:
                self._pass_on()
