"""The pages of the five verbs name the events, metrics and settings that there are."""

import re
from typing import Final

import pytest

from netclaim.controller.process.serve import METRICS
from tests.pure.repository.documentation.test_driver import events_logged, options
from tests.support.doc_pages import DOCS, same_names, section
from tests.support.telemetry.metric_list import ALL

# The words that a page's log events begin with.
PREFIXES: Final = {
    "discover": ("discover",),
    "publish": ("publish",),
    "prepare": ("prepare", "unprepare"),
    "attach": ("adopt", "attach", "collect", "detach", "gc", "repair"),
    "report": ("report",),
}
SUMMARY: Final = "Settings, metrics and log events"
# Without what Prometheus adds for the series of a histogram.
METRIC: Final = re.compile(r"\b(netclaim_[a-z_]+?[a-z])(?:_bucket|_count|_sum)?\b")
PAGES: Final = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def metric_names() -> set[str]:
    """Every metric, under the name that is scraped: a counter's ends with _total."""
    return {each.name for each in ALL} | set(METRICS)


@pytest.mark.parametrize("verb", PREFIXES)
def test_log_events_of_a_verb(verb: str) -> None:
    """A verb's page lists all log events that begin with its words, and no other."""
    listed = re.findall(r"`([a-z_]+\.[a-z_]+)`", section(f"{verb}.md", SUMMARY))
    expected = [event for event in events_logged() if event.partition(".")[0] in PREFIXES[verb]]
    same_names(listed, expected, place=f'docs/{verb}.md, "{SUMMARY}"')
    assert listed == sorted(listed)


@pytest.mark.parametrize("verb", PREFIXES)
def test_settings_of_a_verb(verb: str) -> None:
    """A verb's page names only flags that `netclaim driver` has."""
    named = set(re.findall(r"`(--[a-z-]+)", section(f"{verb}.md", SUMMARY)))
    assert named <= set(options())


@pytest.mark.parametrize("page", PAGES)
def test_metrics_exist(page: str) -> None:
    """Whatever a page names as a metric is one."""
    named = set(METRIC.findall((DOCS / page).read_text()))
    assert not (none := named - metric_names()), f"no metrics of docs/{page}: {sorted(none)}"


def test_every_metric_of_a_verb_is_on_its_page() -> None:
    """What is measured of a verb is on the page of the verb."""
    for verb, words in PREFIXES.items():
        text = section(f"{verb}.md", SUMMARY)
        for name in metric_names():
            if name.removesuffix("_seconds").removeprefix("netclaim_") in words:
                assert f"`{name}`" in text, f'add {name} to docs/{verb}.md, "{SUMMARY}"'


def test_every_verb_is_written_alike() -> None:
    """Four of the pages answer the same questions, in the same order."""
    headings = ["What it does", "When", "What it needs", "What it guarantees", "What goes wrong"]
    for verb in ("discover", "publish", "prepare", "report"):
        text = (DOCS / f"{verb}.md").read_text()
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [*headings, SUMMARY]
