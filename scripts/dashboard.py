"""Write charts/netclaim/files/dashboard.json, the Grafana dashboard, from the rows below.

    python scripts/dashboard.py

A test holds the file current, and every expression to the metrics and labels that there are.
`scripts/render_dashboard.py` draws the same panels for the docs.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

TARGET: Final = Path(__file__).parents[1] / "charts" / "netclaim" / "files" / "dashboard.json"
WIDTH: Final = 24  # of a dashboard, in Grafana's own unit
OF: Final = 'driver=~"$driver", node=~"$node"'
VERBS: Final = ("publish", "prepare", "unprepare", "attach", "detach", "report")


@dataclass(frozen=True, slots=True)
class Query:
    """One expression of a panel, and what its series are called."""

    expr: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel."""

    title: str
    about: str
    unit: str
    queries: tuple[Query, ...]
    kind: Literal["timeseries", "stat"] = "timeseries"
    width: int = 12
    height: int = 8
    stacked: bool = False
    bad_above: float | None = None  # a stat is red from this value on


@dataclass(frozen=True, slots=True)
class Row:
    """A row with its title."""

    title: str
    panels: tuple[Panel, ...]


def stat(title: str, about: str, expr: str, *, bad_above: float | None = None) -> Panel:
    """Return one number."""
    return Panel(
        title, about, "short", (Query(expr, title),), "stat", width=4, height=4, bad_above=bad_above
    )


def quantile(q: float, metric: str, by: str = "", more: str = "") -> str:
    """Return the quantile of a histogram over the dashboard's interval."""
    where = f"{{{OF}{', ' + more if more else ''}}}"
    labels = f"le, {by}" if by else "le"
    buckets = f"rate({metric}_bucket{where}[$__rate_interval])"
    return f"histogram_quantile({q}, sum by ({labels}) ({buckets}))"


def rate(metric: str, by: str, more: str = "") -> str:
    """Return how often something happens each second."""
    where = f"{{{OF}{', ' + more if more else ''}}}"
    return f"sum by ({by}) (rate({metric}{where}[$__rate_interval]))"


def increase(metric: str, by: str, more: str = "") -> str:
    """Return how often something happened in the dashboard's interval."""
    where = f"{{{OF}{', ' + more if more else ''}}}"
    return f"sum by ({by}) (increase({metric}{where}[$__rate_interval]))"


def gauge(metric: str, by: str = "", more: str = "") -> str:
    """Return the sum of a gauge."""
    where = f"{{{OF}{', ' + more if more else ''}}}"
    return f"sum by ({by}) ({metric}{where})" if by else f"sum({metric}{where})"


ROWS: Final = (
    Row(
        "Health",
        (
            stat(
                "Drivers ready",
                "Processes whose /readyz answers ok.",
                gauge("netclaim_ready"),
            ),
            stat(
                "Not ready",
                "Processes that hold the seat but are not ready. A second process that waits for "
                "its turn during an update does not count.",
                f"sum((netclaim_seat_held{{{OF}}} == bool 1) * (netclaim_ready{{{OF}}} == bool 0))",
                bad_above=1,
            ),
            stat(
                "Not registered",
                "Processes that kubelet has not registered.",
                f"sum(netclaim_registered{{{OF}}} == bool 0)",
                bad_above=1,
            ),
            stat(
                "Runtime not hooked",
                "Ways by which a container runtime should call a driver and does not.",
                f"sum(netclaim_runtime_hooked{{{OF}}} == bool 0)",
                bad_above=1,
            ),
            stat(
                "Parts failing",
                "Parts of drivers that do not work for now; /readyz names them.",
                gauge("netclaim_parts_failing"),
                bad_above=1,
            ),
            stat(
                "Detaches given up",
                "Attachments that could not be undone in the chosen time range.",
                f"sum(increase(netclaim_given_up_detaches_total{{{OF}}}[$__range]))",
                bad_above=1,
            ),
        ),
    ),
    Row(
        "Verbs",
        (
            Panel(
                "Calls",
                "How often each verb is done, errors included.",
                "ops",
                tuple(
                    Query(rate(f"netclaim_{verb}_seconds_count", "driver"), verb) for verb in VERBS
                ),
            ),
            Panel(
                "Calls that failed",
                "The share of calls of a verb that ended with an error.",
                "percentunit",
                tuple(
                    Query(
                        f'(sum(rate(netclaim_{verb}_seconds_count{{{OF}, outcome="error"}}'
                        f"[$__rate_interval])) or vector(0)) "  # none yet is no error
                        f"/ sum(rate(netclaim_{verb}_seconds_count{{{OF}}}[$__rate_interval]))",
                        verb,
                    )
                    for verb in VERBS
                ),
            ),
            Panel(
                "Time, median",
                "Half of the calls are faster.",
                "s",
                tuple(Query(quantile(0.5, f"netclaim_{verb}_seconds"), verb) for verb in VERBS),
            ),
            Panel(
                "Time, 99th percentile",
                "One call in a hundred takes longer. Kubelet waits 45 s for prepare, the container "
                "runtime 2 s for attach.",
                "s",
                tuple(Query(quantile(0.99, f"netclaim_{verb}_seconds"), verb) for verb in VERBS),
            ),
        ),
    ),
    Row(
        "Refusals and retries",
        (
            Panel(
                "Refusals by reason",
                "Claims that were not prepared, sandboxes that were not attached and containers "
                "that were not let go.",
                "ops",
                (
                    Query(
                        # Most reasons never occur.
                        rate("netclaim_refusals_total", "what, reason") + " > 0",
                        "{{what}}: {{reason}}",
                    ),
                ),
                stacked=True,
            ),
            Panel(
                "Policy refusals",
                "Claims that ask for more than their namespace is allowed.",
                "ops",
                (Query(rate("netclaim_refusals_total", "node", 'reason="policy"'), "{{node}}"),),
                width=6,
            ),
            Panel(
                "Retries",
                "Calls that failed and are tried again.",
                "ops",
                (Query(rate("netclaim_retries_total", "what"), "{{what}}"),),
                width=6,
            ),
        ),
    ),
    Row(
        "Devices and attachments",
        (
            Panel(
                "Published devices",
                "Devices in ResourceSlices, for each node; slots are devices of links that the "
                "cluster cannot share out otherwise.",
                "short",
                (
                    Query(gauge("netclaim_published_devices", "node"), "{{node}}"),
                    Query(gauge("netclaim_slot_devices", "node"), "slots of {{node}}"),
                ),
                width=6,
            ),
            Panel(
                "Tainted devices",
                "Taints of devices, for each node and effect: NoSchedule keeps new pods away, "
                "NoExecute evicts those that run.",
                "short",
                (Query(gauge("netclaim_device_taints", "node, effect"), "{{node}} {{effect}}"),),
                width=6,
            ),
            Panel(
                "Carriers lost",
                "How often links lost their carrier, for each node.",
                "short",
                (Query(increase("netclaim_carrier_losses_total", "node"), "{{node}}"),),
                width=6,
            ),
            Panel(
                "Checked before binding",
                "Claims that were checked before their pods were bound, by outcome.",
                "short",
                (Query(increase("netclaim_preflights_total", "outcome"), "{{outcome}}"),),
                width=6,
            ),
            Panel(
                "Prepared claims",
                "Claims that hold devices, for each node.",
                "short",
                (Query(gauge("netclaim_prepared_claims", "node"), "{{node}}"),),
                width=6,
            ),
            Panel(
                "Attachments",
                "Devices that are attached to pods, for each node.",
                "short",
                (Query(gauge("netclaim_attachments", "node"), "{{node}}"),),
                width=6,
            ),
            Panel(
                "Room on links",
                "How much of each shared link is in use: of its claims, and of its bandwidth.",
                "percentunit",
                (
                    Query(
                        f"max by (node, link) (netclaim_link_attachments{{{OF}}}"
                        f" / netclaim_link_claims_max{{{OF}}})",
                        "claims of {{node}} {{link}}",
                    ),
                    Query(
                        f"max by (node, link) (netclaim_link_limits_bits_per_second{{{OF}}}"
                        f" / netclaim_link_bandwidth_bits_per_second{{{OF}}})",
                        "bandwidth of {{node}} {{link}}",
                    ),
                ),
                width=6,
            ),
            Panel(
                "Pending",
                "Devices that running pods lack, and detaches and status writes that are still to "
                "be done; all should return to 0.",
                "short",
                (
                    Query(gauge("netclaim_missing_attachments"), "missing"),
                    Query(gauge("netclaim_pending_detaches"), "detaches"),
                    Query(gauge("netclaim_pending_reports"), "reports"),
                ),
                width=6,
            ),
        ),
    ),
    Row(
        "Plugins and addresses",
        (
            Panel(
                "Plugin calls",
                "CNI calls by plugin type, command and outcome.",
                "ops",
                (
                    Query(
                        rate("netclaim_plugin_seconds_count", "plugin, command, outcome"),
                        "{{plugin}} {{command}} {{outcome}}",
                    ),
                ),
                stacked=True,
                width=6,
            ),
            Panel(
                "Plugin time, 99th percentile",
                "By plugin type and command.",
                "s",
                (
                    Query(
                        quantile(0.99, "netclaim_plugin_seconds", "plugin, command"),
                        "{{plugin}} {{command}}",
                    ),
                ),
                width=6,
            ),
            Panel(
                "Addresses in use",
                "Leases of each network, on all nodes.",
                "short",
                (
                    Query(
                        gauge("netclaim_network_addresses", "network, family", 'state="used"'),
                        "{{network}} {{family}}",
                    ),
                ),
                width=6,
            ),
            Panel(
                "Addresses left",
                "The share of a network's addresses that is free, on the node that has least.",
                "percentunit",
                (
                    Query(
                        "min by (network, family) ("
                        f'netclaim_network_addresses{{{OF}, state="free"}} / ignoring (state) ('
                        f'netclaim_network_addresses{{{OF}, state="free"}} + ignoring (state) '
                        f'netclaim_network_addresses{{{OF}, state="used"}}))',
                        "{{network}} {{family}}",
                    ),
                ),
                width=6,
            ),
            Panel(
                "Addresses left in pools",
                "The share of an AddressPool's addresses that is free, as the controller counts.",
                "percentunit",
                (
                    Query(
                        "min by (pool) ("
                        'netclaim_controller_pool_addresses{state="free"} / ignoring (state) ('
                        'netclaim_controller_pool_addresses{state="free"} + ignoring (state) '
                        'netclaim_controller_pool_addresses{state="used"}))',
                        "{{pool}}",
                    ),
                ),
            ),
            Panel(
                "Duplicate addresses",
                "Addresses that several pods have on one network, as the controller counts; there "
                "should be none.",
                "short",
                (Query("max(netclaim_controller_duplicate_addresses)", "addresses"),),
            ),
        ),
    ),
    Row(
        "Shared links",
        (
            Panel(
                "Interfaces of a link",
                "Interfaces that pods have of each link, on the node that has most.",
                "short",
                (Query(f"max by (link) (netclaim_link_attachments{{{OF}}})", "{{link}}"),),
                width=6,
            ),
            Panel(
                "Promised bandwidth",
                "The sum of what the interfaces of a link are limited to, on the node with most.",
                "bps",
                (
                    Query(
                        f"max by (link) (netclaim_link_limits_bits_per_second{{{OF}}})",
                        "{{link}}",
                    ),
                ),
                width=6,
            ),
            Panel(
                "Limits put back",
                "Limits that somebody in a pod had removed.",
                "short",
                (Query(rate("netclaim_limits_restored_total", "driver"), "{{driver}}"),),
                width=6,
            ),
            Panel(
                "Leases put back",
                "Leases of AddressPools that were deleted while their pods ran. Of those that are "
                "`taken`, another pod has the address by now.",
                "short",
                (Query(rate("netclaim_leases_restored_total", "result"), "{{result}}"),),
                width=6,
            ),
            Panel(
                "Addresses by DHCP",
                "Addresses that DHCP servers gave to pods, and that drivers renew.",
                "short",
                (Query(f"sum by (driver) (netclaim_dhcp_leases{{{OF}}})", "{{driver}}"),),
                width=6,
            ),
            Panel(
                "Renewals by DHCP",
                "`unanswered` is tried again until the lease ends; `lost`: the pod's interface is "
                "made again.",
                "short",
                (Query(rate("netclaim_dhcp_renewals_total", "result"), "{{result}}"),),
                width=6,
            ),
        ),
    ),
    Row(
        "Kubernetes API",
        (
            Panel(
                "Requests",
                "By verb and resource.",
                "reqps",
                (
                    Query(
                        rate("netclaim_api_requests_total", "verb, resource"),
                        "{{verb}} {{resource}}",
                    ),
                ),
                stacked=True,
                width=8,
            ),
            Panel(
                "Requests that failed",
                "Answers of 400 and above, and requests without an answer. 404 and 409 are normal "
                "now and then.",
                "reqps",
                (
                    Query(
                        rate("netclaim_api_requests_total", "resource, code", 'code!~"[123].."'),
                        "{{resource}} {{code}}",
                    ),
                ),
                stacked=True,
                width=8,
            ),
            Panel(
                "Time, 99th percentile",
                "Until the API server has answered.",
                "s",
                (
                    Query(
                        quantile(0.99, "netclaim_api_seconds", "verb, resource"),
                        "{{verb}} {{resource}}",
                    ),
                ),
                width=8,
            ),
        ),
    ),
    Row(
        "Process",
        (
            Panel(
                "Event loop lag, 99th percentile",
                "How late an event loop runs what is due.",
                "s",
                (
                    Query(
                        quantile(0.99, "netclaim_loop_lag_seconds", "node, loop"),
                        "{{node}} {{loop}}",
                    ),
                ),
                width=8,
            ),
            Panel(
                "Event loop stalls and failures of parts",
                "Event loops that were blocked for more than a second, and parts of a driver that "
                "failed and were started again.",
                "short",
                (
                    Query(
                        increase("netclaim_loop_stalls_total", "loop"),
                        "loop {{loop}}",
                    ),
                    Query(
                        increase("netclaim_part_failures_total", "part"),
                        "part {{part}}",
                    ),
                ),
                width=8,
            ),
            Panel(
                "Garbage collection",
                "Leftovers that were removed or could not be, rounds that could not check "
                "everything, and events that were dropped.",
                "short",
                (
                    Query(
                        "sum by (kind, outcome) (increase("
                        f"netclaim_collected_total{{{OF}}}[$__rate_interval]))",
                        "{{kind}} {{outcome}}",
                    ),
                    Query(
                        "sum(increase("
                        f'netclaim_collect_rounds_total{{{OF}, outcome="partial"}}'
                        "[$__rate_interval]))",
                        "partial rounds",
                    ),
                    Query(
                        f"sum(increase(netclaim_dropped_events_total{{{OF}}}[$__rate_interval]))",
                        "dropped events",
                    ),
                ),
                width=8,
            ),
            Panel(
                "Memory",
                "What the driver's process has in memory, for each node.",
                "bytes",
                (
                    Query(
                        "sum by (node) (process_resident_memory_bytes "
                        f"and on (job, instance) netclaim_build_info{{{OF}}})",
                        "{{node}}",
                    ),
                ),
                width=8,
            ),
            Panel(
                "Settings",
                "Processes whose settings file is wrong, and settings that wait for a restart.",
                "short",
                (
                    Query(f"sum(netclaim_settings_valid{{{OF}}} == bool 0)", "file not valid"),
                    Query(gauge("netclaim_settings_restart_needed"), "restart needed"),
                ),
                width=8,
            ),
            Panel(
                "Versions",
                "How many processes run which version.",
                "short",
                (
                    Query(
                        f"count by (version, python) (netclaim_build_info{{{OF}}})",
                        "{{version}}, Python {{python}}",
                    ),
                ),
                width=8,
            ),
        ),
    ),
)


def dashboard() -> dict[str, Any]:
    """Return the whole dashboard as Grafana reads it."""
    panels: list[dict[str, Any]] = []
    top = 0
    for row in ROWS:
        panels.append(_row(row, len(panels) + 1, top))
        top += 1
        left = height = 0
        for panel in row.panels:
            if left + panel.width > WIDTH:
                left, top = 0, top + height
            place = {"x": left, "y": top, "w": panel.width, "h": panel.height}
            panels.append(_panel(panel, len(panels) + 1, place))
            left, height = left + panel.width, panel.height
        top += height
    return {
        "title": "netclaim",
        "uid": "netclaim",
        "description": "Network interfaces for pods by Dynamic Resource Allocation.",
        "tags": ["kubernetes", "networking", "netclaim"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": panels,
    }


def _variables() -> list[dict[str, Any]]:
    source = {"type": "prometheus", "uid": "${datasource}"}

    def of_label(name: str, label: str, query: str) -> dict[str, Any]:
        return {
            "name": name,
            "label": label,
            "type": "query",
            "datasource": source,
            "query": {"query": query, "refId": name},
            "refresh": 2,
            "includeAll": True,
            "allValue": ".*",
            "multi": True,
            "current": {"text": "All", "value": "$__all"},
        }

    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
        of_label("driver", "Driver", "label_values(netclaim_build_info, driver)"),
        of_label("node", "Node", 'label_values(netclaim_build_info{driver=~"$driver"}, node)'),
    ]


def _row(row: Row, number: int, top: int) -> dict[str, Any]:
    place = {"x": 0, "y": top, "w": WIDTH, "h": 1}
    return {"id": number, "type": "row", "title": row.title, "gridPos": place, "panels": []}


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${datasource}"}
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0}
    made: dict[str, Any] = {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": source,
        "gridPos": place,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": source,
                "expr": query.expr,
                "legendFormat": query.legend,
            }
            for index, query in enumerate(panel.queries)
        ],
    }
    if panel.kind == "stat":
        steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
        if panel.bad_above is not None:
            steps.append({"color": "red", "value": panel.bad_above})
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
        made["options"] = {"colorMode": "background", "reduceOptions": {"calcs": ["lastNotNull"]}}
    else:
        mode = "normal" if panel.stacked else "none"
        fill = 30 if panel.stacked else 5
        defaults["custom"] = {
            "fillOpacity": fill,
            "stacking": {"mode": mode},
            "showPoints": "never",
        }
        made["options"] = {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    return made


def text() -> str:
    """Return the file's content."""
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text())
    print(f"{TARGET.relative_to(Path.cwd()) if TARGET.is_relative_to(Path.cwd()) else TARGET}")
