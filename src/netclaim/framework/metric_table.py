"""Which metrics every driver has: name, kind, labels and meaning, each declared once.

`METRICS` is what docs/driver.md shows, and what the dashboard and the alerts may use. Promise: how
many series there are does not depend on what claims say. A label has a fixed set of values, or a
text that says what bounds them. No I/O; `metrics` counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from netclaim.errors import Reason

__all__ = ["METRICS", "SECONDS", "Declared", "Loop", "Outcome", "Refused", "Retried", "Verb"]

Verb: TypeAlias = Literal["publish", "prepare", "unprepare", "attach", "detach", "report"]
Outcome: TypeAlias = Literal["ok", "error"]
Loop: TypeAlias = Literal["main", "hooks"]
Refused: TypeAlias = Literal["claim", "sandbox", "container"]
Retried: TypeAlias = Literal[
    "publish", "preflight", "prepare", "unprepare", "detach", "report", "journal", "node"
]
RuntimeHook: TypeAlias = Literal["nri", "cni"]
Round: TypeAlias = Literal["complete", "partial"]
Verdict: TypeAlias = Literal["passed", "failed"]
Effect: TypeAlias = Literal["NoSchedule", "NoExecute"]
Removal: TypeAlias = Literal["removed", "failed"]


@dataclass(frozen=True, slots=True)
class Declared:
    """A metric: how it is named, what it counts, and its labels beside `driver`."""

    name: str
    kind: Literal["histogram", "gauge", "counter"]
    text: str
    labels: Mapping[str, tuple[str, ...] | str] = field(default_factory=dict)  # values, or a text

    @property
    def label_names(self) -> tuple[str, ...]:
        """All labels, in the order in which they are given."""
        return ("driver", *self.labels)


OUTCOMES: Final = {"outcome": get_args(Outcome)}
LOOPS: Final = {"loop": get_args(Loop)}
API_CALLS: Final = {
    "verb": "a verb of the Kubernetes API, for example `get`",
    "resource": "a resource that the driver uses, for example `resourceclaims/status`, or `other`",
}

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
REFUSALS: Final = Declared(
    "netclaim_refusals_total",
    "counter",
    "Claims that were not prepared, sandboxes that were not attached and containers that were not "
    "let go, each time that somebody asked.",
    {"what": get_args(Refused), "reason": get_args(Reason)},
)
RETRIES: Final = Declared(
    "netclaim_retries_total",
    "counter",
    "Calls that failed and are tried again after a delay.",
    {"what": get_args(Retried)},
)
PUBLISHED_DEVICES: Final = Declared(
    "netclaim_published_devices", "gauge", "Devices that are published in ResourceSlices."
)
DEVICE_TAINTS: Final = Declared(
    "netclaim_device_taints",
    "gauge",
    "Taints of the devices that are published.",
    {"effect": get_args(Effect)},
)
PREFLIGHTS: Final = Declared(
    "netclaim_preflights_total",
    "counter",
    "Claims that were checked before their pod was bound to the node.",
    {"outcome": get_args(Verdict)},
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
COLLECT_ROUNDS: Final = Declared(
    "netclaim_collect_rounds_total",
    "counter",
    "Rounds of garbage collection; in a partial one something could not be checked or removed.",
    {"outcome": get_args(Round)},
)
COLLECTED: Final = Declared(
    "netclaim_collected_total",
    "counter",
    "Leftovers that garbage collection removed, or could not remove.",
    {
        "kind": "`claim`, `attachment`, `mark`, `cdi`, or a kind of the driver's own",
        "outcome": get_args(Removal),
    },
)
API_REQUESTS: Final = Declared(
    "netclaim_api_requests_total",
    "counter",
    "Requests to the API server.",
    {**API_CALLS, "code": "the HTTP status, or `none` without an answer"},
)
API_SECONDS: Final = Declared(
    "netclaim_api_seconds",
    "histogram",
    "Time until the API server has answered; for a watch, until it begins.",
    API_CALLS,
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
READY: Final = Declared("netclaim_ready", "gauge", "1 if `/readyz` answers ok.")
SEAT_HELD: Final = Declared(
    "netclaim_seat_held",
    "gauge",
    "1 if this process does the work; 0 while another process of the driver does.",
)
REGISTERED: Final = Declared("netclaim_registered", "gauge", "1 if kubelet has registered it.")
HOOKED: Final = Declared(
    "netclaim_runtime_hooked",
    "gauge",
    "1 if the container runtime calls the driver in this way; absent for a way that is not used.",
    {"hook": get_args(RuntimeHook)},
)
PARTS_FAILING: Final = Declared(
    "netclaim_parts_failing", "gauge", "Parts of the driver that do not work for now."
)
PART_FAILURES: Final = Declared(
    "netclaim_part_failures_total",
    "counter",
    "Times that a part of the driver failed and was started again.",
    {"part": "a part of the driver, for example `publish`"},
)
BUILD_INFO: Final = Declared(
    "netclaim_build_info",
    "gauge",
    "Always 1; the labels say what runs.",
    {"version": "the version of netclaim", "python": "the version of Python"},
)
METRICS: Final = (
    *SECONDS.values(),
    REFUSALS,
    RETRIES,
    PUBLISHED_DEVICES,
    DEVICE_TAINTS,
    PREFLIGHTS,
    PREPARED_CLAIMS,
    ATTACHMENTS,
    PENDING_DETACHES,
    PENDING_REPORTS,
    GIVEN_UP_DETACHES,
    DROPPED_EVENTS,
    COLLECT_ROUNDS,
    COLLECTED,
    API_REQUESTS,
    API_SECONDS,
    LOOP_LAG,
    LOOP_STALLS,
    SETTINGS_VALID,
    SETTINGS_RESTART_NEEDED,
    READY,
    SEAT_HELD,
    REGISTERED,
    HOOKED,
    PARTS_FAILING,
    PART_FAILURES,
    BUILD_INFO,
)
