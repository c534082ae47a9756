"""What every driver counts: each metric is declared where it is made, under the verbs' names.

docs/driver.md shows what is `declared`; the dashboard and the alerts may use it. Promise: a value
that a label does not have fails type checking. A series whose labels are known beforehand is there
from the start, but for the times of what fails: that is a dozen series for what may never happen.
One registry for one driver, so that several fit in one process; metrics of the driver's own are
served beside these. `exposition` may be called from any thread. Limit: the state of the process is
set by `serve`, at each scrape.
"""

import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from typing import Final, Literal, TypeAlias, TypeVar, get_args

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
from netclaim.framework.telemetry.metric import (
    BUCKETS_S,
    COARSE_S,
    OUTCOMES,
    Metric,
    Outcome,
)
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.supervise import Retried
from netclaim.kube import Answered

Verb: TypeAlias = Literal["publish", "prepare", "unprepare", "attach", "detach", "report"]
Loop: TypeAlias = Literal["main", "hooks"]
Refused: TypeAlias = Literal["claim", "sandbox", "container"]
RuntimeHook: TypeAlias = Literal["nri", "cni"]
Round: TypeAlias = Literal["complete", "partial"]
Verdict: TypeAlias = Literal["passed", "failed"]
Effect: TypeAlias = Literal["NoSchedule", "NoExecute"]
Removal: TypeAlias = Literal["removed", "failed"]
Labels: TypeAlias = Mapping[str, tuple[str, ...] | str]
Series = TypeVar("Series", Counter, Histogram)

LOOPS: Final = {"loop": get_args(Loop)}
API_CALLS: Final = {
    "verb": "a verb of the Kubernetes API, for example `get`",
    "resource": "a resource that the driver uses, for example `resourceclaims/status`, or `other`",
}
SECONDS: Final[Mapping[Verb, str]] = {
    "publish": "Time to write a round of changes to the node's ResourceSlices.",
    "prepare": "Time to prepare one claim, retries included.",
    "unprepare": "Time to release one claim, retries included.",
    "attach": "Time to attach all devices of one pod.",
    "detach": "Time to detach one device from one pod.",
    "report": "Time to write one claim's device status.",
}


class Metrics:
    def __init__(self, driver: str, clock: Clock, own: Iterable[Collector] = ()) -> None:
        """`own` are the driver's own metrics."""
        self.declared: list[Metric] = []
        self._driver = driver
        self._clock = clock
        self._registry = CollectorRegistry()
        self._seconds = {
            verb: self._histogram(f"netclaim_{verb}_seconds", text, OUTCOMES)
            for verb, text in SECONDS.items()
        }
        self._refusals = self._counter(
            "netclaim_refusals_total",
            "Claims that were not prepared, sandboxes that were not attached and containers that "
            "were not let go, each time that somebody asked.",
            {"what": get_args(Refused), "reason": get_args(Reason)},
        )
        self._retries = self._counter(
            "netclaim_retries_total",
            "Calls that failed and are tried again after a delay.",
            {"what": get_args(Retried)},
        )
        self.published_devices = self._number(
            "netclaim_published_devices", "Devices that are published in ResourceSlices."
        )
        self._device_taints = self._gauge(
            "netclaim_device_taints",
            "Taints of the devices that are published.",
            {"effect": get_args(Effect)},
        )
        self.note_taints(())
        self._preflights = self._counter(
            "netclaim_preflights_total",
            "Claims that were checked before their pod was bound to the node.",
            {"outcome": get_args(Verdict)},
        )
        self.prepared_claims = self._number(
            "netclaim_prepared_claims", "Claims that hold devices of this node."
        )
        self.attachments = self._number(
            "netclaim_attachments", "Devices that are attached to a pod."
        )
        self.missing_attachments = self._number(
            "netclaim_missing_attachments",
            "Devices that running pods should have and lack, for example because their link was "
            "removed; attaching them is tried again and again.",
        )
        self.pending_detaches = self._number(
            "netclaim_pending_detaches", "Attachments that could not be undone yet."
        )
        self.pending_reports = self._number(
            "netclaim_pending_reports", "Claims whose device status is not written yet."
        )
        self.given_up_detaches = self._counter(
            "netclaim_given_up_detaches_total",
            "Attachments that could not be undone and were given up.",
        ).labels(driver)
        self.dropped_events = self._counter(
            "netclaim_dropped_events_total",
            "Events that were dropped because there were too many.",
        ).labels(driver)
        self._collect_rounds = self._counter(
            "netclaim_collect_rounds_total",
            "Rounds of garbage collection; in a partial one something could not be checked or "
            "removed.",
            {"outcome": get_args(Round)},
        )
        self._collected = self._counter(
            "netclaim_collected_total",
            "Leftovers that garbage collection removed, or could not remove.",
            {
                "kind": "`claim`, `attachment`, `mark`, `cdi`, or a kind of the driver's own",
                "outcome": get_args(Removal),
            },
        )
        self._api_requests = self._counter(
            "netclaim_api_requests_total",
            "Requests to the API server.",
            {**API_CALLS, "code": "the HTTP status, or `none` without an answer"},
        )
        self._api_seconds = self._histogram(
            "netclaim_api_seconds",
            "Time until the API server has answered; for a watch, until it begins.",
            API_CALLS,
            COARSE_S,
        )
        self._loop_lag = self._histogram(
            "netclaim_loop_lag_seconds",
            "Delay until an event loop runs what is due, measured twice a second.",
            LOOPS,
            COARSE_S,
        )
        self._loop_stalls = self._counter(
            "netclaim_loop_stalls_total",
            "Number of times that an event loop was blocked for more than a second.",
            LOOPS,
        )
        self.settings_valid = self._number(
            "netclaim_settings_valid",
            "Whether the file of settings could be used when it was last read: 1 or 0.",
        )
        self.settings_valid.set(1)  # without a file too
        self.settings_restart_needed = self._number(
            "netclaim_settings_restart_needed",
            "Settings that the file has changed and that take effect only after a restart.",
        )
        self.ready = self._number("netclaim_ready", "1 if `/readyz` answers ok.")
        self.seat_held = self._number(
            "netclaim_seat_held",
            "1 if this process does the work; 0 while another process of the driver does.",
        )
        self.registered = self._number("netclaim_registered", "1 if kubelet has registered it.")
        self._hooked = self._gauge(
            "netclaim_runtime_hooked",
            "1 if the container runtime calls the driver in this way; absent for a way that is not "
            "used.",
            {"hook": get_args(RuntimeHook)},
        )
        self.parts_failing = self._number(
            "netclaim_parts_failing", "Parts of the driver that do not work for now."
        )
        self._part_failures = self._counter(
            "netclaim_part_failures_total",
            "Times that a part of the driver failed and was started again.",
            {"part": "a part of the driver, for example `publish`"},
        )
        self._gauge(
            "netclaim_build_info",
            "Always 1; the labels say what runs.",
            {"version": "the version of netclaim", "python": "the version of Python"},
        ).labels(driver, __version__, platform.python_version()).set(1)
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
        self._refusals.labels(self._driver, what, reason).inc()

    def note_retry(self, what: Retried) -> None:
        self._retries.labels(self._driver, what).inc()

    def note_taints(self, effects: Iterable[str]) -> None:
        """Set the gauge, given the effects of all taints of published devices."""
        found = list(effects)
        for effect in get_args(Effect):
            self._device_taints.labels(self._driver, effect).set(found.count(effect))

    def note_preflight(self, outcome: Verdict) -> None:
        self._preflights.labels(self._driver, outcome).inc()

    def note_round(self, outcome: Round) -> None:
        self._collect_rounds.labels(self._driver, outcome).inc()

    def note_collected(self, kind: str, outcome: Removal) -> None:
        """A leftover was removed, or could not be; there are only a few kinds."""
        self._collected.labels(self._driver, kind, outcome).inc()

    def note_api(self, answered: Answered) -> None:
        """Count a request to the API server, answered or not."""
        labels = (self._driver, answered.verb, answered.resource)
        self._api_requests.labels(*labels, answered.code).inc()
        self._api_seconds.labels(*labels).observe(answered.took_s)

    def note_lag(self, loop: Loop, lag_s: float) -> None:
        self._loop_lag.labels(self._driver, loop).observe(lag_s)

    def note_stall(self, loop: Loop) -> None:
        self._loop_stalls.labels(self._driver, loop).inc()

    def note_hooked(self, hook: RuntimeHook, *, hooked: bool) -> None:
        self._hooked.labels(self._driver, hook).set(hooked)

    def note_part_failure(self, part: str) -> None:
        """A part failed; there are only a few parts."""
        self._part_failures.labels(self._driver, part).inc()

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def _counter(self, name: str, text: str, labels: Labels | None = None) -> Counter:
        declared = self._declare(Metric(name, "counter", text, labels or {}))
        return self._begin(declared.counter(self._registry), declared.labels)

    def _histogram(
        self, name: str, text: str, labels: Labels, buckets_s: tuple[float, ...] = BUCKETS_S
    ) -> Histogram:
        declared = self._declare(Metric(name, "histogram", text, labels, buckets_s))
        begun: Labels = {**labels, **({"outcome": ("ok",)} if "outcome" in labels else {})}
        return self._begin(declared.histogram(self._registry), begun)

    def _gauge(self, name: str, text: str, labels: Labels) -> Gauge:
        return self._declare(Metric(name, "gauge", text, labels)).gauge(self._registry)

    def _number(self, name: str, text: str) -> Gauge:
        """A gauge without labels of its own."""
        return self._gauge(name, text, {}).labels(self._driver)

    def _declare(self, metric: Metric) -> Metric:
        self.declared.append(metric)
        return metric

    def _begin(self, made: Series, wanted: Labels) -> Series:
        """Begin all known series at 0, or Prometheus would miss their first step."""
        values = list(wanted.values())
        if all(isinstance(known, tuple) for known in values):
            for labels in product((self._driver,), *values):
                made.labels(*labels)
        return made
