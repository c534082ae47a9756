"""What the driver counts, under the names of the verbs.

`metric_table` declares each metric once. Promise: a metric that is not declared, or a value that
its label does not have, fails type checking. A series whose labels are known beforehand is there
from the start. One registry for one driver, so that several fit in one process; metrics of the
driver's own are served beside these. `exposition` may be called from any thread. Limit: counts what
it is told; the state of the process is set by `serve`, at each scrape.
"""

import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Final, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.registry import Collector

from netclaim import __version__
from netclaim.errors import Reason
from netclaim.framework import metric_table as table
from netclaim.framework.clock import Clock
from netclaim.framework.metric_table import (
    Declared,
    Effect,
    Loop,
    Outcome,
    Refused,
    Removal,
    Retried,
    Round,
    RuntimeHook,
    Verb,
    Verdict,
)

__all__ = ["BUCKETS_S", "Metrics"]

# From a netlink call (milliseconds) over the runtime's 2 s to kubelet's 45 s.
BUCKETS_S: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 45)


class Metrics:
    """The numbers of one driver."""

    def __init__(self, driver: str, clock: Clock, own: Iterable[Collector] = ()) -> None:
        """`own` are the metrics that the driver itself has."""
        self._driver = driver
        self._clock = clock
        self._registry = CollectorRegistry()
        self._seconds = {verb: self._histogram(each) for verb, each in table.SECONDS.items()}
        self._refusals = self._counter(table.REFUSALS)
        self._retries = self._counter(table.RETRIES)
        self.published_devices = self._gauge(table.PUBLISHED_DEVICES).labels(driver)
        self._device_taints = self._gauge(table.DEVICE_TAINTS)
        self.note_taints(())
        self._preflights = self._counter(table.PREFLIGHTS)
        self.prepared_claims = self._gauge(table.PREPARED_CLAIMS).labels(driver)
        self.attachments = self._gauge(table.ATTACHMENTS).labels(driver)
        self.pending_detaches = self._gauge(table.PENDING_DETACHES).labels(driver)
        self.pending_reports = self._gauge(table.PENDING_REPORTS).labels(driver)
        self.given_up_detaches = self._counter(table.GIVEN_UP_DETACHES).labels(driver)
        self.dropped_events = self._counter(table.DROPPED_EVENTS).labels(driver)
        self._collect_rounds = self._counter(table.COLLECT_ROUNDS)
        self._collected = self._counter(table.COLLECTED)
        self._api_requests = self._counter(table.API_REQUESTS)
        self._api_seconds = self._histogram(table.API_SECONDS)
        self._loop_lag = self._histogram(table.LOOP_LAG)
        self._loop_stalls = self._counter(table.LOOP_STALLS)
        self.settings_valid = self._gauge(table.SETTINGS_VALID).labels(driver)
        self.settings_valid.set(1)  # without a file too
        needed = self._gauge(table.SETTINGS_RESTART_NEEDED)
        self.settings_restart_needed = needed.labels(driver)
        self.ready = self._gauge(table.READY).labels(driver)
        self.seat_held = self._gauge(table.SEAT_HELD).labels(driver)
        self.registered = self._gauge(table.REGISTERED).labels(driver)
        self._hooked = self._gauge(table.HOOKED)
        self.parts_failing = self._gauge(table.PARTS_FAILING).labels(driver)
        self._part_failures = self._counter(table.PART_FAILURES)
        build = self._gauge(table.BUILD_INFO)
        build.labels(driver, __version__, platform.python_version()).set(1)
        self._registry.register(ProcessCollector(registry=None))
        for collector in own:
            self._registry.register(collector)

    @contextmanager
    def timed(self, verb: Verb) -> Iterator[None]:
        """Time the block as one call of the verb; an error counts as outcome "error"."""
        started_s = self._clock.monotonic()
        outcome: Outcome = "error"
        try:
            yield
            outcome = "ok"
        finally:
            histogram = self._seconds[verb].labels(self._driver, outcome)
            histogram.observe(self._clock.monotonic() - started_s)

    def note_refusal(self, what: Refused, reason: Reason) -> None:
        """Somebody asked for something and did not get it."""
        self._refusals.labels(self._driver, what, reason).inc()

    def note_retry(self, what: Retried) -> None:
        """A call failed and is tried again."""
        self._retries.labels(self._driver, what).inc()

    def note_taints(self, effects: Iterable[str]) -> None:
        """These are the effects of all taints of the devices that are published."""
        found = list(effects)
        for effect in get_args(Effect):
            self._device_taints.labels(self._driver, effect).set(found.count(effect))

    def note_preflight(self, outcome: Verdict) -> None:
        """A claim was checked before its pod was bound."""
        self._preflights.labels(self._driver, outcome).inc()

    def note_round(self, outcome: Round) -> None:
        """A round of garbage collection is over."""
        self._collect_rounds.labels(self._driver, outcome).inc()

    def note_collected(self, kind: str, outcome: Removal) -> None:
        """A leftover was removed, or could not be; `kind` is one of a few."""
        self._collected.labels(self._driver, kind, outcome).inc()

    def note_api(self, verb: str, resource: str, code: str, took_s: float) -> None:
        """The API server answered a request, or did not; each is one of a few."""
        self._api_requests.labels(self._driver, verb, resource, code).inc()
        self._api_seconds.labels(self._driver, verb, resource).observe(took_s)

    def note_lag(self, loop: Loop, lag_s: float) -> None:
        """An event loop came round after so long."""
        self._loop_lag.labels(self._driver, loop).observe(lag_s)

    def note_stall(self, loop: Loop) -> None:
        """An event loop is blocked."""
        self._loop_stalls.labels(self._driver, loop).inc()

    def note_hooked(self, hook: RuntimeHook, *, hooked: bool) -> None:
        """Whether the runtime calls the driver in this way."""
        self._hooked.labels(self._driver, hook).set(hooked)

    def note_part_failure(self, part: str) -> None:
        """A part failed; it is one of a few."""
        self._part_failures.labels(self._driver, part).inc()

    def exposition(self) -> bytes:
        """Everything, in Prometheus' text form."""
        return generate_latest(self._registry)

    def _counter(self, each: Declared) -> Counter:
        made = Counter(each.name, each.text, each.label_names, registry=self._registry)
        self._begin(made, each)
        return made

    def _gauge(self, each: Declared) -> Gauge:
        return Gauge(each.name, each.text, each.label_names, registry=self._registry)

    def _histogram(self, each: Declared) -> Histogram:
        made = Histogram(
            each.name, each.text, each.label_names, buckets=BUCKETS_S, registry=self._registry
        )
        self._begin(made, each)
        return made

    def _begin(self, made: Counter | Histogram, each: Declared) -> None:
        """Have each series at 0 that is known by now: else Prometheus misses its first step."""
        values = list(each.labels.values())
        if all(isinstance(known, tuple) for known in values):
            for labels in product((self._driver,), *values):
                made.labels(*labels)
