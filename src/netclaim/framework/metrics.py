"""What the driver counts, under the names of the verbs.

`netclaim_<verb>_seconds{driver, outcome}` for every verb that does something, gauges for what is
there now, counters for what was left out, and how late the event loops are. One registry for one
driver, so that several fit in one process.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from netclaim.framework.clock import Clock

__all__ = ["Metrics"]

VERBS: Final = {
    "publish": "Time of one round of writes to the node's ResourceSlices.",
    "prepare": "Time to prepare one claim, retries included.",
    "unprepare": "Time to release one claim, retries included.",
    "attach": "Time to attach all devices of one pod.",
    "detach": "Time to detach one device from one pod.",
    "report": "Time to write one claim's device status.",
}
# From a netlink call (milliseconds) over the runtime's 2 s to kubelet's 45 s.
BUCKETS_S: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 45)


class Metrics:
    """The numbers of one driver."""

    def __init__(self, driver: str, clock: Clock) -> None:
        self._driver = driver
        self._clock = clock
        self._registry = CollectorRegistry()
        self._seconds = {
            verb: Histogram(
                f"netclaim_{verb}_seconds",
                text,
                ["driver", "outcome"],
                buckets=BUCKETS_S,
                registry=self._registry,
            )
            for verb, text in VERBS.items()
        }
        self.published_devices = self._gauge("netclaim_published_devices", "Devices on offer.")
        self.prepared_claims = self._gauge(
            "netclaim_prepared_claims", "Claims that hold devices of this node."
        )
        self.attachments = self._gauge("netclaim_attachments", "Devices that are in a pod now.")
        self.pending_detaches = self._gauge(
            "netclaim_pending_detaches", "Attachments that could not be undone yet."
        )
        self.pending_reports = self._gauge(
            "netclaim_pending_reports", "Claims whose device status is not written yet."
        )
        self.given_up_detaches = self._counter(
            "netclaim_given_up_detaches", "Attachments that could not be undone for good."
        )
        self.dropped_events = self._counter(
            "netclaim_dropped_events", "Warnings that claims got too many of to be left as events."
        )
        self._loop_lag = Histogram(
            "netclaim_loop_lag_seconds",
            "Time until an event loop does what it is asked to do at once, four times a second.",
            ["driver", "loop"],
            buckets=BUCKETS_S,
            registry=self._registry,
        )
        self._loop_stalls = Counter(
            "netclaim_loop_stalls",
            "How often an event loop did not come round for more than a second.",
            ["driver", "loop"],
            registry=self._registry,
        )

    @contextmanager
    def timed(self, verb: str) -> Iterator[None]:
        """Time the block as one call of the verb; an error counts as outcome "error"."""
        started_s = self._clock.monotonic()
        outcome = "error"
        try:
            yield
            outcome = "ok"
        finally:
            histogram = self._seconds[verb].labels(self._driver, outcome)
            histogram.observe(self._clock.monotonic() - started_s)

    def note_lag(self, loop: str, lag_s: float) -> None:
        """An event loop came round after so long."""
        self._loop_lag.labels(self._driver, loop).observe(lag_s)

    def note_stall(self, loop: str) -> None:
        """An event loop does not come round."""
        self._loop_stalls.labels(self._driver, loop).inc()

    def exposition(self) -> bytes:
        """Everything, in Prometheus' text form."""
        return generate_latest(self._registry)

    def _counter(self, name: str, text: str) -> Counter:
        counter = Counter(name, text, ["driver"], registry=self._registry)
        return counter.labels(self._driver)

    def _gauge(self, name: str, text: str) -> Gauge:
        gauge = Gauge(name, text, ["driver"], registry=self._registry)
        return gauge.labels(self._driver)
