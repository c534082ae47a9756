"""What the driver counts, under the names of the verbs.

`METRICS` declares each metric once, with its labels and the values that they may have, and
docs/driver.md shows the same list. Promise: a metric that is not declared, or a value that its
label does not have, fails type checking. One registry for one driver, so that several fit in one
process.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from netclaim.framework.clock import Clock

__all__ = ["METRICS", "Declared", "Loop", "Metrics", "Verb"]

Verb: TypeAlias = Literal["publish", "prepare", "unprepare", "attach", "detach", "report"]
Outcome: TypeAlias = Literal["ok", "error"]
Loop: TypeAlias = Literal["main", "hooks"]

# From a netlink call (milliseconds) over the runtime's 2 s to kubelet's 45 s.
BUCKETS_S: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 45)


@dataclass(frozen=True, slots=True)
class Declared:
    """A metric: how it is named, what it counts, and its labels beside `driver`."""

    name: str
    kind: Literal["histogram", "gauge", "counter"]
    text: str
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # with all values

    @property
    def label_names(self) -> tuple[str, ...]:
        """All labels, in the order in which they are given."""
        return ("driver", *self.labels)


OUTCOMES: Final = {"outcome": get_args(Outcome)}
LOOPS: Final = {"loop": get_args(Loop)}

SECONDS: Final[Mapping[Verb, Declared]] = {
    "publish": Declared(
        "netclaim_publish_seconds",
        "histogram",
        "Time to write a round of changes to the node's ResourceSlices.",
        OUTCOMES,
    ),
    "prepare": Declared(
        "netclaim_prepare_seconds",
        "histogram",
        "Time to prepare one claim, retries included.",
        OUTCOMES,
    ),
    "unprepare": Declared(
        "netclaim_unprepare_seconds",
        "histogram",
        "Time to release one claim, retries included.",
        OUTCOMES,
    ),
    "attach": Declared(
        "netclaim_attach_seconds",
        "histogram",
        "Time to attach all devices of one pod.",
        OUTCOMES,
    ),
    "detach": Declared(
        "netclaim_detach_seconds",
        "histogram",
        "Time to detach one device from one pod.",
        OUTCOMES,
    ),
    "report": Declared(
        "netclaim_report_seconds",
        "histogram",
        "Time to write one claim's device status.",
        OUTCOMES,
    ),
}
PUBLISHED_DEVICES: Final = Declared(
    "netclaim_published_devices", "gauge", "Devices that are published in ResourceSlices."
)
PREPARED_CLAIMS: Final = Declared(
    "netclaim_prepared_claims", "gauge", "Claims that hold devices of this node."
)
ATTACHMENTS: Final = Declared(
    "netclaim_attachments", "gauge", "Devices that are attached to a pod."
)
PENDING_DETACHES: Final = Declared(
    "netclaim_pending_detaches", "gauge", "Attachments that could not be undone yet."
)
PENDING_REPORTS: Final = Declared(
    "netclaim_pending_reports", "gauge", "Claims whose device status is not written yet."
)
GIVEN_UP_DETACHES: Final = Declared(
    "netclaim_given_up_detaches_total",
    "counter",
    "Attachments that could not be undone and were given up.",
)
DROPPED_EVENTS: Final = Declared(
    "netclaim_dropped_events_total",
    "counter",
    "Events that were dropped because there were too many.",
)
LOOP_LAG: Final = Declared(
    "netclaim_loop_lag_seconds",
    "histogram",
    "Delay until an event loop runs what is due, measured four times a second.",
    LOOPS,
)
LOOP_STALLS: Final = Declared(
    "netclaim_loop_stalls_total",
    "counter",
    "Number of times that an event loop was blocked for more than a second.",
    LOOPS,
)
SETTINGS_VALID: Final = Declared(
    "netclaim_settings_valid",
    "gauge",
    "Whether the file of settings could be used when it was last read: 1 or 0.",
)
SETTINGS_RESTART_NEEDED: Final = Declared(
    "netclaim_settings_restart_needed",
    "gauge",
    "Settings that the file has changed and that take effect only after a restart.",
)
METRICS: Final = (
    *SECONDS.values(),
    PUBLISHED_DEVICES,
    PREPARED_CLAIMS,
    ATTACHMENTS,
    PENDING_DETACHES,
    PENDING_REPORTS,
    GIVEN_UP_DETACHES,
    DROPPED_EVENTS,
    LOOP_LAG,
    LOOP_STALLS,
    SETTINGS_VALID,
    SETTINGS_RESTART_NEEDED,
)


class Metrics:
    """The numbers of one driver."""

    def __init__(self, driver: str, clock: Clock) -> None:
        self._driver = driver
        self._clock = clock
        self._registry = CollectorRegistry()
        self._seconds = {verb: self._histogram(each) for verb, each in SECONDS.items()}
        self.published_devices = self._gauge(PUBLISHED_DEVICES).labels(driver)
        self.prepared_claims = self._gauge(PREPARED_CLAIMS).labels(driver)
        self.attachments = self._gauge(ATTACHMENTS).labels(driver)
        self.pending_detaches = self._gauge(PENDING_DETACHES).labels(driver)
        self.pending_reports = self._gauge(PENDING_REPORTS).labels(driver)
        self.given_up_detaches = self._counter(GIVEN_UP_DETACHES).labels(driver)
        self.dropped_events = self._counter(DROPPED_EVENTS).labels(driver)
        self._loop_lag = self._histogram(LOOP_LAG)
        self._loop_stalls = self._counter(LOOP_STALLS)
        self.settings_valid = self._gauge(SETTINGS_VALID).labels(driver)
        self.settings_valid.set(1)  # without a file too
        self.settings_restart_needed = self._gauge(SETTINGS_RESTART_NEEDED).labels(driver)

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

    def note_lag(self, loop: Loop, lag_s: float) -> None:
        """An event loop came round after so long."""
        self._loop_lag.labels(self._driver, loop).observe(lag_s)

    def note_stall(self, loop: Loop) -> None:
        """An event loop is blocked."""
        self._loop_stalls.labels(self._driver, loop).inc()

    def exposition(self) -> bytes:
        """Everything, in Prometheus' text form."""
        return generate_latest(self._registry)

    def _counter(self, each: Declared) -> Counter:
        return Counter(each.name, each.text, each.label_names, registry=self._registry)

    def _gauge(self, each: Declared) -> Gauge:
        return Gauge(each.name, each.text, each.label_names, registry=self._registry)

    def _histogram(self, each: Declared) -> Histogram:
        return Histogram(
            each.name, each.text, each.label_names, buckets=BUCKETS_S, registry=self._registry
        )
