"""Evict the pods of claims that a rule finds, in rounds, each with an event that says why.

Promise: namespaces take turns, one pod each. The pods of one owner, such as a ReplicaSet, are
evicted in rounds, with pauses that grow: it makes them again each time. Each change of a claim is
looked at once; what is due later is found without looking at the others. A claim that has got well
meanwhile costs no pod. PodDisruptionBudgets count. Limit: what a rule finds, and when that is due,
is the rule's.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

import structlog

from netclaim.controller.cluster.events import Events
from netclaim.controller.pacing.queue import WorkQueue
from netclaim.controller.pacing.rounds import Rounds
from netclaim.errors import NetclaimError
from netclaim.kube import PODS, Client, ForbiddenError, NotFoundError
from netclaim.model.api.dra.claim import Consumer
from netclaim.model.claims.claim import JsonObject

log = structlog.get_logger(__name__)

AGAIN_S: Final = 5.0  # after an eviction that failed
ROUND_S: Final = 15.0  # what is evicted within it is of one round


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule found: the pods to evict, by their UIDs, in how many seconds, and why."""

    pods: Mapping[str, Consumer]
    due_in_s: float
    why: str


class Rule(Protocol):
    """Which claims cost their pods, and which of these."""

    name: str  # in the log
    event: str  # the reason of the event at the pod

    def find(self, claim: JsonObject) -> Found | None:
        """What to do about a claim; None if nothing."""

    def concerns(self, pod: JsonObject) -> bool:
        """Whether a pod of such a claim is to go; it was found by its UID."""

    def note(self, claim: str, why: str) -> str:
        """What the event says; `claim` is the claim's name."""


class PodKey(NamedTuple):
    """A pod of a claim that was found."""

    namespace: str
    claim: str  # the claim's UID
    pod: str  # the pod's UID


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A claim that was found: when its pods are evicted, and why."""

    due_s: float
    name: str
    pods: Mapping[str, Consumer]  # that are still to be looked at, by their UIDs
    why: str


class Evictions:
    """Hears of claims, and evicts by one rule."""

    def __init__(
        self, client: Client, rule: Rule, events: Events, *, rounds: Rounds | None = None
    ) -> None:
        self._client = client
        self._rule = rule
        self._events = events
        self._waiting: dict[str, _Waiting] = {}  # by the claim's UID
        self._queue: WorkQueue[PodKey] = WorkQueue(tenant=lambda key: key.namespace)
        self._rounds = rounds or Rounds(ROUND_S)
        self.count = 0  # pods that were evicted

    def changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note a claim that the rule finds, or no longer finds."""
        about = now or before
        if kind != "ResourceClaim" or about is None:
            return
        meta = about["metadata"]
        found = self._rule.find(now) if now is not None else None
        pods = found.pods if found is not None else {}
        known = self._waiting.pop(meta["uid"], None)
        for uid in known.pods.keys() - pods.keys() if known is not None else ():
            self._queue.drop(PodKey(meta["namespace"], meta["uid"], uid))
        if found is None or not pods:
            return
        # Another pod or another reason gives no more time before it is over.
        now_s = asyncio.get_running_loop().time()
        due_s = known.due_s if known is not None else 0.0
        due_s = due_s if due_s > now_s else now_s + found.due_in_s
        self._waiting[meta["uid"]] = _Waiting(due_s, meta["name"], pods, found.why)
        for uid in pods:
            if known is None or uid not in known.pods:
                key = PodKey(meta["namespace"], meta["uid"], uid)
                self._queue.add_later(key, due_s - now_s)

    async def run(self) -> None:
        """Evict until cancelled."""
        try:
            while True:
                key = await self._queue.take()
                claim = self._waiting.get(key.claim)
                if claim is None or key.pod not in claim.pods:
                    continue
                pause_s = await self._release(key, claim)
                if pause_s:
                    self._queue.add_later(key, pause_s)
                else:
                    self._done(key)
        finally:
            self._queue.close()

    def _done(self, key: PodKey) -> None:
        claim = self._waiting.get(key.claim)
        if claim is None or key.pod not in claim.pods:
            return
        left = {uid: pod for uid, pod in claim.pods.items() if uid != key.pod}
        if left:
            self._waiting[key.claim] = replace(claim, pods=left)
        else:
            del self._waiting[key.claim]

    async def _release(self, key: PodKey, claim: _Waiting) -> float:
        """Evict a pod of a claim; returns after how many seconds to try again, 0 if it is done."""
        about = {"rule": self._rule.name, "namespace": key.namespace}
        try:
            return await self._evict(key, claim, claim.pods[key.pod])
        except ForbiddenError as error:
            log.warning("evict.forbidden", **about, error=str(error))
            return 0.0
        except NetclaimError as error:
            log.warning("evict.failed", **about, error=str(error))
            return AGAIN_S

    async def _evict(self, key: PodKey, claim: _Waiting, pod: Consumer) -> float:
        namespace, now_s = key.namespace, asyncio.get_running_loop().time
        try:
            found = await self._client.get(PODS, pod.name, namespace=namespace)
            if found["metadata"]["uid"] != pod.uid or not self._rule.concerns(found):
                return 0.0
            if pause_s := self._rounds.pause_s(_owner(found), now_s()):
                return pause_s
            waiting = self._waiting.get(key.claim)
            if waiting is None or key.pod not in waiting.pods:  # since it was taken
                return 0.0
            await self._client.evict(pod.name, namespace=namespace, uid=pod.uid)
        except NotFoundError:
            return 0.0
        self._rounds.note_done(_owner(found), now_s())
        self.count += 1
        log.info(
            "evict.done",
            rule=self._rule.name,
            namespace=namespace,
            pod=pod.name,
            claim=claim.name,
            why=claim.why,
        )
        note = self._rule.note(claim.name, claim.why)
        await self._events.leave(
            found, kind=PODS.kind, action="Evict", reason=self._rule.event, note=note
        )
        return 0.0


def _owner(pod: JsonObject) -> str:
    """The UID of what makes a pod again, or of the pod itself."""
    meta = pod["metadata"]
    owners = (each["uid"] for each in meta.get("ownerReferences", ()) if each.get("controller"))
    return str(next(owners, meta["uid"]))
