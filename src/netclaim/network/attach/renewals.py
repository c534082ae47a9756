"""The DHCP leases of pods' interfaces, renewed for as long as the pods have them.

One task for each lease sleeps until it is due, by the lease's own times, and asks at the pod's
interface; nothing is open in the pod's namespace in between. The record on the disk is what it
works by, so another process of the driver goes on where this one ended, whatever ended it.

Promise: an address whose lease has ended, or that its server took back, does not count as attached
any more: the framework takes the interface from the pod and makes it again, with an event, and with
another address if the same one is not to be had. Limit: renewing takes no new routes and name
servers. While no driver runs, nobody renews, and nobody takes from a pod what has ended meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog
from msgspec.structs import replace
from prometheus_client import Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from netclaim.cni import AttachmentKey
from netclaim.dhcp.client import ENDED, Bound, Client, Lost
from netclaim.errors import NetclaimError
from netclaim.framework.telemetry import claim_fields, pod_fields
from netclaim.kernel import is_live, open_netns
from netclaim.model import Attachment, PodSandbox
from netclaim.network.judge.carried import DHCP
from netclaim.network.metrics.table import DHCP_LEASES, DHCP_RENEWALS
from netclaim.network.plan.interface_plan import read_plan
from netclaim.plugins.dhcp.exchange import CHANCE, Outcome, boot_clock_s, run_exchange
from netclaim.plugins.dhcp.lease_records import LeaseRecord, LeaseRecords
from netclaim.plugins.dhcp.wire import Wire
from netclaim.tasks import TaskScope

ANSWER_S: Final = 10.0  # how long to listen after a question; the next one comes when it is due
RETRY_S: Final = 30.0  # after what this machine did not let us do

log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)  # a registry has it as a key
class Renewals(Collector):
    """The leases of this node's pods; `clock_s` is the time that leases have."""

    driver: str
    records: LeaseRecords
    clock_s: Callable[[], float] = boot_clock_s
    renewed: Counter = field(init=False)
    _known: dict[AttachmentKey, Attachment] = field(default_factory=dict)
    _tasks: dict[AttachmentKey, asyncio.Task[None]] = field(default_factory=dict)
    _why: dict[AttachmentKey, str] = field(default_factory=dict)  # those that are lost
    _scope: TaskScope | None = None
    _look_again: Callable[[PodSandbox], None] | None = None

    def __post_init__(self) -> None:
        """Count from zero."""
        each = DHCP_RENEWALS
        self.renewed = Counter(each.name, each.text, each.label_names, registry=None)
        for outcome in each.labels["result"]:
            self.renewed.labels(self.driver, outcome)

    def learn_doubts(self, look_again: Callable[[PodSandbox], None]) -> None:
        """Learn whom to tell that a pod has lost an address."""
        self._look_again = look_again

    def note(self, attachment: Attachment) -> None:
        """Know of an interface from now on, and renew its lease if it has one."""
        key = _key(attachment)
        if not _has_lease(attachment):
            return
        self._known[key] = attachment
        self._keep(key)

    def forget(self, attachment: Attachment) -> None:
        """Renew no longer; what takes the interface from the pod gives the address back."""
        key = _key(attachment)
        self._known.pop(key, None)
        self._why.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()

    def is_lost(self, attachment: Attachment) -> bool:
        """Whether a pod may not use its address any more; `why_lost` says why."""
        key = _key(attachment)
        self._why.pop(key, None)
        record = self.records.find(key) if _has_lease(attachment) else None
        if record is None or not (record.ended or _client(record).ends_s <= self.clock_s()):
            return False
        self._why[key] = record.ended or ENDED
        return True

    def why_lost(self, attachment: Attachment) -> str:
        """Say what `is_lost` has found."""
        return self._why.get(_key(attachment), "")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Renew for as long as the block runs, beginning with what is on the disk."""
        async with TaskScope() as scope:
            self._scope = scope
            try:
                for record in await asyncio.to_thread(self.records.all):
                    if is_live(record.netns):
                        self._keep(record.key)
                yield
            finally:
                self._scope = None
                self._tasks.clear()

    def _keep(self, key: AttachmentKey) -> None:
        if self._scope is not None and key not in self._tasks:
            task = self._tasks[key] = self._scope.start(self._renew_until_lost(key))
            task.add_done_callback(partial(self._note_over, key))

    def _note_over(self, key: AttachmentKey, task: asyncio.Task[None]) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]

    async def _renew_until_lost(self, key: AttachmentKey) -> None:
        """Renew a lease whenever it is due; ends when it is lost, or the record is gone."""
        record = self.records.find(key)
        client = _client(record) if record is not None else None
        while record is not None and client is not None and not record.ended:
            await asyncio.sleep(max(client.due_s - self.clock_s(), 0))
            try:
                outcome = await self._ask(client, record)
                now = self.records.find(key)
                if now is None:  # given back meanwhile, or taken anew
                    return
                if outcome is None and client.ends_s > self.clock_s():
                    continue
                record = self._concluded(record, client, outcome)
                self.records.keep(record)
            except (NetclaimError, OSError) as error:
                log.warning("dhcp.renew_failed", **self._fields(record), error=str(error))
                await asyncio.sleep(min(RETRY_S, max(client.ends_s - self.clock_s(), 1.0)))
        if record is not None and key in self._known and self._look_again is not None:
            self._look_again(self._known[key].pod)

    async def _ask(self, client: Client, record: LeaseRecord) -> Outcome | None:
        """Ask at the interface; None if nobody answered in time."""
        if client.ends_s <= self.clock_s():
            return None
        with open_netns(record.netns) as netns, Wire(netns, record.ifname) as wire:
            try:
                async with asyncio.timeout(ANSWER_S):
                    return await run_exchange(client, wire, record.server_mac)
            except TimeoutError:
                self.renewed.labels(self.driver, "unanswered").inc()
                left_s = round(client.ends_s - self.clock_s())
                log.warning("dhcp.unanswered", **self._fields(record), left_s=left_s)
                return None

    def _concluded(
        self, record: LeaseRecord, client: Client, outcome: Outcome | None
    ) -> LeaseRecord:
        """Return the record as it is after an answer, or after the lease's end."""
        if outcome is not None and isinstance(outcome.event, Bound):
            granted = outcome.event.granted
            self.renewed.labels(self.driver, "renewed").inc()
            log.info("dhcp.renewed", **self._fields(record), lease_s=granted.lease_s)
            return replace(record, granted=granted, bound_s=client.bound_s, server_mac=outcome.mac)
        why = ENDED
        if outcome is not None and isinstance(outcome.event, Lost):
            why = outcome.event.why
        self.renewed.labels(self.driver, "lost").inc()
        log.warning("dhcp.lost", **self._fields(record), why=why)
        return replace(record, ended=why)

    def _fields(self, record: LeaseRecord) -> dict[str, str]:
        known = self._known.get(record.key)
        about = {"interface": record.ifname, "address": record.granted.address}
        if known is None:
            return {**about, "sandbox": record.container_id}
        return {**about, **claim_fields(known.plan.claim), **pod_fields(known.pod)}

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the metric without samples."""
        return (
            GaugeMetricFamily(DHCP_LEASES.name, DHCP_LEASES.text, labels=DHCP_LEASES.label_names),
        )

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """How many leases are renewed."""
        (leases,) = self.describe()
        leases.add_metric((self.driver,), len(self._tasks))
        return (leases,)


def _key(attachment: Attachment) -> AttachmentKey:
    return AttachmentKey(attachment.pod.id, read_plan(attachment.plan).if_name)


def _has_lease(attachment: Attachment) -> bool:
    """Whether the plan says that the interface may have one."""
    config = read_plan(attachment.plan).config
    plugins = config.get("plugins") or [config]
    return any(
        isinstance(ipam := plugin.get("ipam"), dict) and ipam.get("type") == DHCP
        for plugin in plugins
    )


def _client(record: LeaseRecord) -> Client:
    client = Client(record.identity, CHANCE)
    client.resume(record.granted, record.bound_s)
    return client
