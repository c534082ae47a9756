"""Metrics are one list: what is declared, what is exposed, what docs/driver.md says."""

import re
from pathlib import Path
from typing import get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from netclaim.controller.process.serve import METRICS as OF_CONTROLLER
from netclaim.framework.telemetry.metrics import SECONDS, Metrics, Verb
from netclaim.framework.testing import FakeClock
from tests.support.telemetry.metric_list import ALL, METRICS, PROCESS

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "driver.md"
# What Prometheus adds to a metric's name for each of its series.
SERIES = re.compile(r"_(?:bucket|count|sum|created)$")


def test_what_is_declared_is_exposed() -> None:
    """The registry has the declared metrics, of their kinds and with their texts, and no others."""
    text = Metrics("a.example.com", FakeClock()).exposition().decode()
    exposed = {
        (family.name, family.type, family.documentation)
        for family in text_string_to_metric_families(text)
        if not family.name.endswith("_created") and not family.name.startswith("process_")
    }
    declared = {(each.name.removesuffix("_total"), each.kind, each.text) for each in METRICS}
    assert exposed == declared


def test_every_verb_is_timed() -> None:
    """Each verb has a histogram under its own name, for success and for failure."""
    assert tuple(SECONDS) == get_args(Verb)
    metrics = Metrics("a.example.com", FakeClock())
    for verb in SECONDS:
        with metrics.timed(verb):
            pass
        with pytest.raises(ValueError, match="no"), metrics.timed(verb):
            raise ValueError("no")
    text = metrics.exposition().decode()
    for verb in get_args(Verb):
        for outcome in ("ok", "error"):
            labels = f'{{driver="a.example.com",outcome="{outcome}"}}'
            assert f"netclaim_{verb}_seconds_count{labels} 1.0" in text


def test_the_page_lists_every_metric() -> None:
    """docs/driver.md has a row for each declared metric, in its words, and no others."""
    rows = re.findall(r"^\| `(netclaim_\w+)` \| .* \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    assert rows == [(each.name, each.text) for each in ALL], "run scripts/driver_page.py"


def test_the_page_lists_the_process() -> None:
    """docs/driver.md names what there is about the process itself, and no more."""
    text = Metrics("a.example.com", FakeClock()).exposition().decode()
    exposed = set(re.findall(r"^# TYPE (process_\w+)", text, re.MULTILINE))
    assert exposed == set(PROCESS)
    assert set(re.findall(r"`(process_\w+)`", PAGE.read_text())) == exposed


def test_no_page_names_a_metric_that_there_is_not() -> None:
    """Every metric that a page or the changelog speaks of is declared."""
    names = {each.name for each in ALL} | set(OF_CONTROLLER)
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("changelog.d/*.md"), ROOT / "README.md"]
    found = {name for page in pages for name in re.findall(r"netclaim_\w+", page.read_text())}
    assert {SERIES.sub("", name) for name in found} <= names


def test_an_idle_node_has_few_series() -> None:
    """A cluster has this many series for each node before anything happens; each has its reason."""
    text = Metrics("a.example.com", FakeClock()).exposition().decode()
    series = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in series if "_created" in line]
    assert not [line for line in series if 'outcome="error"' in line and "_bucket" in line]
    assert len(series) < 180
