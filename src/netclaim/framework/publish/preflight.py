"""Preflight: check whether a claim can be served here before its pod is bound to the node.

A device with binding conditions makes the scheduler wait, after it has allocated the device, until
the claim's status says that the conditions hold, or that one of the failure conditions does. In the
latter case it allocates anew.

Promise: conditions are published only while claims can be followed, so that no
pod waits for a verdict that cannot come. Each allocation gets one verdict, written under a field
manager of its own, which the report of the pod's interface leaves alone. A device on which a claim
failed because of the node (UnfitError) is tainted for a while: the scheduler would take it again.
Limit: the scheduler looks every five seconds, so a pod takes that much longer. A claim's own
mistakes taint nothing, and are tried again on other nodes, as often as the scheduler likes.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import msgspec
import structlog

from netclaim.errors import NetclaimError, PeerError, reason_of
from netclaim.framework.contract import Driver, Offer, UnfitError
from netclaim.framework.publish.binding_conditions import Awaited, awaited_of, verdict_entries
from netclaim.framework.publish.slices import Pool
from netclaim.framework.telemetry.logs import brief
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.telemetry.subject import concerning
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.supervise import Backoff, retry
from netclaim.json_text import UNREADABLE
from netclaim.model.api.base import ObjectError
from netclaim.model.claims.claim import Claim, JsonObject
from netclaim.model.devices.counter import CounterSet
from netclaim.model.devices.device import Device, Taint
from netclaim.model.on_node.prepared import ClaimRef

log = structlog.get_logger()

UNFIT: Final = "preflight-failed"  # the taint of a device that could not serve an admin's network
# An admin needs minutes to mend a node; a wrong guess costs a pod one more round in that time.
UNFIT_S: Final = 300.0
# For one check, retries included: the scheduler would wait for ten minutes, its pod's owner not.
CHECK_S: Final = 20.0
WARNED_MAX: Final = 1024  # more claims than fail on a node at a time
CHECKS_MAX: Final = 8  # at a time; the driver's other hooks go on beside them
RETRIES: Final = Backoff(first_s=0.5, max_s=5.0)


@dataclass(slots=True)
class Preflight:
    """Gives verdicts for as long as it runs, if any device has binding conditions."""

    driver: Driver
    pool: Pool
    # Yields the JSON of the cluster's claims that may wait for conditions, and again of each that
    # changes; calls its argument once that works.
    follow: Callable[[Callable[[], None]], AsyncIterator[bytes]]
    labels: Callable[[str], Awaitable[Mapping[str, str]]]  # of a namespace, by its name
    # Makes these all of the verdicts in a claim's status; False if the claim is gone or free.
    write: Callable[[ClaimRef, Sequence[JsonObject]], Awaitable[bool]]
    publish: Callable[[Offer], None]
    warn: Callable[[ClaimRef, str], None]  # leaves an event at a claim
    metrics: Metrics
    clock: Clock
    _offered: Offer | None = None
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _following: bool | None = None  # None: not known yet
    _unfit: dict[str, float] = field(default_factory=dict)  # until when, by device
    _judging: set[str] = field(default_factory=set)  # claims by UID
    _warned: dict[str, str] = field(default_factory=dict)  # the last event, by UID; oldest first
    _checks: asyncio.Semaphore = field(default_factory=partial(asyncio.Semaphore, CHECKS_MAX))

    def offer(self, offered: Offer) -> None:
        """Publish an offer, with binding conditions only as far as they can be kept."""
        self._offered = offered
        if any(isinstance(each, Device) and each.binding_conditions for each in offered):
            self._wanted.set()
        else:
            self._wanted.clear()
        self._pass_on()

    async def run(self) -> None:
        """Follow claims and give verdicts until cancelled; after a failure, from the start.

        A cluster without such devices is not watched.
        """
        await self._wanted.wait()
        fault: NetclaimError | None = None
        async with asyncio.TaskGroup() as group:
            forgetting = group.create_task(self._forget_unfit())
            try:
                async for found in self.follow(self._note_following):
                    await self._begin(found, group)
            except NetclaimError as error:
                fault = error
            forgetting.cancel()
        self._following = False
        self._pass_on()  # without conditions: better unchecked than stuck
        raise fault or PeerError("the API server's claims are followed no more")

    async def _begin(self, found: bytes, group: asyncio.TaskGroup) -> None:
        """Judge a claim that waits, unless that is under way; read in a thread, as prepare does."""
        try:
            awaited = await asyncio.to_thread(awaited_of, found, self.driver.name, self.pool.node)
        except (ObjectError, *UNREADABLE) as error:
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
        now_s = self.clock.monotonic()
        self._unfit = {name: until_s for name, until_s in self._unfit.items() if now_s < until_s}
        self.publish(tuple(self._shown(each) for each in self._offered))

    def _shown(self, each: Device | CounterSet) -> Device | CounterSet:
        if not isinstance(each, Device) or not each.binding_conditions:
            return each
        if not self._following:
            return msgspec.structs.replace(
                each, binding_conditions=(), binding_failure_conditions=(), binds_to_node=False
            )
        if each.name not in self._unfit:
            return each
        taint = Taint(key=f"{self.driver.name}/{UNFIT}", effect="NoSchedule")
        return msgspec.structs.replace(each, taints=(*each.taints, taint))

    async def _judge(self, awaited: Awaited) -> None:
        """Check one claim and write the verdict. A failure does not affect other claims."""
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
        """What is wrong with the claim on this node; None if nothing is."""
        last: Exception = TimeoutError("the check took too long")
        try:
            awaited.claim.check_readable()
            async with asyncio.timeout(CHECK_S):
                for delay_s in RETRIES.delays(self.clock):
                    try:
                        await self.driver.preflight(await self._with_labels(awaited))
                    except PeerError as error:
                        last = error
                    else:
                        return None
                    await self.clock.sleep(delay_s)
        except TimeoutError:
            return last
        except Exception as error:  # noqa: BLE001 (the driver's code: a verdict all the same)
            return error
        raise AssertionError("delays never end")

    async def _with_labels(self, awaited: Awaited) -> Claim:
        claim = awaited.claim
        if self.driver.reads_namespace:
            labels = await self.labels(claim.namespace)
            claim = msgspec.structs.replace(claim, namespace_labels=labels)
        return claim

    async def _give(self, awaited: Awaited, error: Exception | None) -> None:
        entries = verdict_entries(awaited, error, self.clock.now())
        written = await retry(
            "preflight",
            lambda: self.write(awaited.claim.ref, entries),
            clock=self.clock,
            metrics=self.metrics,
        )
        if not written:
            return
        self.metrics.note_preflight("passed" if error is None else "failed")
        if error is None:
            log.info("preflight.passed")
            return
        log.warning("preflight.failed", error=brief(str(error)), reason=reason_of(error))
        self._warn_once(awaited.claim.ref, brief(str(error)))
        if isinstance(error, UnfitError):
            until_s = self.clock.monotonic() + UNFIT_S
            named = [error.device[1]] if error.device else [d.device for d in awaited.devices]
            self._unfit |= dict.fromkeys(named, until_s)
            self._pass_on()

    def _warn_once(self, claim: ClaimRef, text: str) -> None:
        """Leave an event, unless the claim's last one said the same: the scheduler tries for ever.

        Only the last WARNED_MAX claims are remembered, so that an older one may get its event
        again.
        """
        if self._warned.pop(claim.uid, "") != text:
            self.warn(claim, text)
        self._warned[claim.uid] = text
        if len(self._warned) > WARNED_MAX:
            del self._warned[next(iter(self._warned))]

    async def _forget_unfit(self) -> None:
        """Publish devices without the taint once its time is over."""
        while True:
            await self.clock.sleep(UNFIT_S / 10)
            if any(until_s <= self.clock.monotonic() for until_s in self._unfit.values()):
                self._pass_on()
