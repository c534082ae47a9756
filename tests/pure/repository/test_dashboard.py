"""The dashboard and the alerts use the metrics that there are, with labels that they have."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
import yaml

from netclaim.controller.process.serve import METRICS, POOL_ADDRESSES
from scripts import dashboard
from tests.support.doc_pages import DOCS, ROOT, same_names
from tests.support.telemetry import promql
from tests.support.telemetry.metric_list import ALL, PROCESS

FILES: Final = ROOT / "charts" / "netclaim" / "files"
DASHBOARD: Final = json.loads((FILES / "dashboard.json").read_text())
ALERTS: Final = [
    rule for group in yaml.safe_load((FILES / "alerts.yaml").read_text()) for rule in group["rules"]
]
LABELS: Final = {each.name: each.labels for each in ALL}
# What Prometheus, or the chart's ServiceMonitor, adds to every series.
TARGET: Final = {"job", "instance", "node", "driver"}
# Metrics that are not ours, but everybody's; the last ones are of kube-state-metrics.
OF_DAEMONSET: Final = {"namespace": "any", "daemonset": "any"}
OTHERS: Final[Mapping[str, Mapping[str, Any]]] = {
    **{name: {} for name in ("up", *PROCESS)},
    **{name: {} for name in METRICS},
    POOL_ADDRESSES: {"pool": "any", "state": ("used", "kept", "free")},
    "kube_daemonset_status_desired_number_scheduled": OF_DAEMONSET,
    "kube_daemonset_status_number_available": OF_DAEMONSET,
    "kube_daemonset_status_updated_number_scheduled": OF_DAEMONSET,
}
# Metrics of the controller that say nothing is wrong whatever they are.
HARMLESS: Final = {
    f"netclaim_controller_{name}"
    for name in (
        *("networks", "waiting", "nudges_total", "services", "endpoints", "slice_writes_total"),
        "annotated_waiting",  # tenants' own doing; their pods' events say why
    )
}
UNITS: Final = {"short", "ops", "reqps", "s", "percentunit", "bytes", "bps"}


def panels() -> Iterator[dict[str, Any]]:
    """Every panel but the titles of rows."""
    return (panel for panel in DASHBOARD["panels"] if panel["type"] != "row")


def expressions() -> list[tuple[str, str]]:
    """Every expression with what it is for."""
    shown = [(p["title"], t["expr"]) for p in panels() for t in p["targets"]]
    variables = [
        (each["name"], re.sub(r"label_values\((.*), \w+\)", r"\1", each["query"]["query"]))
        for each in DASHBOARD["templating"]["list"]
        if each["type"] == "query"
    ]
    return [*shown, *variables, *((rule["alert"], rule["expr"]) for rule in ALERTS)]


@pytest.mark.parametrize(("what", "expr"), expressions())
def test_expressions_use_what_there_is(what: str, expr: str) -> None:
    """Metrics exist, have the labels that are asked for, and these can have the values."""
    used = promql.metrics(expr)
    assert used, f"{what}: {expr} names no metric"
    known = {**OTHERS, **LABELS}
    assert used <= known.keys(), f"{what}: no such metric: {used - known.keys()}"
    for each in promql.matchers(expr):
        has = known[each.metric]
        assert each.label in {*has, *TARGET}, f"{what}: {each.metric} has no label {each.label}"
        values = has.get(each.label, "any")
        if isinstance(values, tuple):
            named = {each.value} if each.operator in {"=", "!="} else set(each.value.split("|"))
            assert named <= set(values), f"{what}: {each.label} cannot be {named - set(values)}"
    kept = {label for metric in used for label in known.get(metric, {})}
    assert promql.grouped(expr) <= kept | TARGET | {"le"}, what


def test_the_dashboard_is_current() -> None:
    """The file is what scripts/dashboard.py writes."""
    assert (FILES / "dashboard.json").read_text() == dashboard.text(), "run scripts/dashboard.py"


def test_every_metric_is_shown() -> None:
    """Each metric is on the dashboard."""
    used = set().union(*(promql.metrics(t["expr"]) for p in panels() for t in p["targets"]))
    same_names(used - OTHERS.keys(), LABELS, place="ROWS in scripts/dashboard.py")


def test_panels_are_whole() -> None:
    """Each panel has a unit, says what it shows, and names its series by labels that are kept."""
    for panel in panels():
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            assert target["legendFormat"], panel["title"]
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert named <= promql.grouped(target["expr"]), panel["title"]


def test_panels_have_places_of_their_own() -> None:
    """No panel lies on another, or beyond the edge; ids are unique."""
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        here = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not here & cells, panel["title"]
        assert at["x"] + at["w"] <= dashboard.WIDTH, panel["title"]
        cells |= here
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_alerts_are_whole(rule: dict[str, Any]) -> None:
    """Each alert has a severity, says what it means, and links to its section of the runbooks."""
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert re.fullmatch(r"\d+m", rule.get("for", "0m"))
    notes = rule["annotations"]
    assert set(notes) == {"summary", "description", "runbook_url"}
    assert notes["runbook_url"] == f"RUNBOOKS_URL#{rule['alert'].lower()}"
    known = {**OTHERS, **LABELS}
    kept = {label for metric in promql.metrics(rule["expr"]) for label in known[metric]}
    aggregated = re.match(r"\(?\s*(?:sum|max|min)\b", rule["expr"]) is not None
    labels = promql.grouped(rule["expr"]) if aggregated else kept | TARGET
    for text in (notes["summary"], notes["description"]):
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= labels


def test_every_fault_of_the_controller_has_an_alert() -> None:
    """A metric of the controller that can say something is wrong is in an alert."""
    used = set().union(*(promql.metrics(rule["expr"]) for rule in ALERTS)) & METRICS.keys()
    same_names(used, METRICS.keys() - HARMLESS, place="charts/netclaim/files/alerts.yaml")


def test_runbooks_are_the_alerts() -> None:
    """docs/runbooks.md has a section for each alert, in the same order, with the same questions."""
    text = (DOCS / "runbooks.md").read_text()
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    titles = [section.splitlines()[0] for section in sections]
    same_names(titles, (rule["alert"] for rule in ALERTS), place="docs/runbooks.md")
    assert titles == [rule["alert"] for rule in ALERTS]
    for section in sections:
        questions = re.findall(r"^\*\*(.+?)\*\*", section, re.MULTILINE)
        assert questions == ["What it means.", "How to see it.", "What to do."], section[:40]
