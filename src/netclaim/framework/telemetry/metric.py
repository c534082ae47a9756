"""How a metric is declared: once, for the code, the documentation and the dashboard.

Promise: how many series there are does not depend on what claims say. A label has a fixed set of
values, or a text that says what bounds them. No I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)

Outcome: TypeAlias = Literal["ok", "error"]

OUTCOMES: Final = {"outcome": get_args(Outcome)}
# Each bucket is a series on every node. From a netlink call (milliseconds) over the runtime's 2 s
# to kubelet's 45 s.
BUCKETS_S: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 5, 20, 45)
# Where only "quick, slow, stuck" matters: one request, one turn of a loop.
COARSE_S: Final = (0.01, 0.1, 0.5, 2, 10)

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each one, which no panel and no alert uses


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: how it is named, what it counts, and its labels beside `driver`.

    `counter`, `gauge` and `histogram` make what counts it, by prometheus_client.
    """

    name: str
    kind: Literal["histogram", "gauge", "counter"]
    text: str
    labels: Mapping[str, tuple[str, ...] | str] = field(default_factory=dict)  # values, or a text
    buckets_s: tuple[float, ...] = BUCKETS_S  # of a histogram

    @property
    def label_names(self) -> tuple[str, ...]:
        return ("driver", *self.labels)

    def counter(self, registry: CollectorRegistry | None = None) -> Counter:
        return Counter(self.name, self.text, self.label_names, registry=registry)

    def gauge(self, registry: CollectorRegistry | None = None) -> Gauge:
        return Gauge(self.name, self.text, self.label_names, registry=registry)

    def histogram(self, registry: CollectorRegistry | None = None) -> Histogram:
        """A histogram of seconds."""
        return Histogram(
            self.name, self.text, self.label_names, buckets=self.buckets_s, registry=registry
        )
