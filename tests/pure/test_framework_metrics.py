"""Metrics are one list: what is declared, what is exposed, what docs/driver.md says."""

import re
from pathlib import Path
from typing import get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from netclaim.framework import metric_table
from netclaim.framework.metric_table import METRICS, SECONDS, Declared, Verb
from netclaim.framework.metrics import Metrics
from netclaim.framework.testing import FakeClock
from tests.pure.doc_pages import same_names
from tests.pure.metric_list import ALL, PROCESS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "driver.md"
# What Prometheus adds to a metric's name for each of its series.
SERIES = re.compile(r"_(?:bucket|count|sum|created)$")


def test_what_is_declared_is_in_the_list() -> None:
    """METRICS has every metric that the module declares."""
    declared = {each.name for each in vars(metric_table).values() if isinstance(each, Declared)}
    declared |= {each.name for each in SECONDS.values()}
    same_names(
        (each.name for each in METRICS), declared, place="METRICS in framework/metric_table.py"
    )


def test_what_is_declared_is_exposed() -> None:
    """The registry has the declared metrics, of their kinds and with their texts, and no others."""
    text = Metrics("a.example.com", FakeClock()).exposition().decode()
    exposed = {
        (family.name, family.type, family.documentation)
        for family in text_string_to_metric_families(text)
        if not family.name.endswith("_created") and not family.name.startswith("process_")
    }
    declared = {(each.name.removesuffix("_total"), each.kind, each.text) for each in METRICS}
    names, made = {name for name, _, _ in declared}, {name for name, _, _ in exposed}
    place = "framework/metrics.py"
    assert not (new := names - made), f"make an attribute of Metrics of {new} in {place}"
    assert not (new := made - names), f"add {new}, which Metrics makes, to METRICS in {place}"
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
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `netclaim_")]
    wanted = [row(each) for each in ALL]
    assert not (new := [each for each in wanted if each not in rows]), "\n".join(
        ['add to docs/driver.md, "Metrics":', *new]
    )
    assert rows == wanted


def row(each: Declared) -> str:
    """A metric as the page shows it."""
    labels = (f"`{label}`: {shown(values)}" for label, values in each.labels.items())
    return f"| `{each.name}` | {each.kind} | {'; '.join(labels)} | {each.text} |"


def shown(values: tuple[str, ...] | str) -> str:
    """The values of a label, or what bounds them."""
    return values if isinstance(values, str) else ", ".join(f"`{value}`" for value in values)


def test_the_page_lists_the_process() -> None:
    """docs/driver.md names what there is about the process itself, and no more."""
    text = Metrics("a.example.com", FakeClock()).exposition().decode()
    exposed = set(re.findall(r"^# TYPE (process_\w+)", text, re.MULTILINE))
    assert exposed == set(PROCESS)
    assert set(re.findall(r"`(process_\w+)`", PAGE.read_text())) == exposed


def test_no_page_names_a_metric_that_there_is_not() -> None:
    """Every metric that a page or the changelog speaks of is declared."""
    names = {each.name for each in ALL}
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("changelog.d/*.md"), ROOT / "README.md"]
    found = {name for page in pages for name in re.findall(r"netclaim_\w+", page.read_text())}
    assert {SERIES.sub("", name) for name in found} <= names
