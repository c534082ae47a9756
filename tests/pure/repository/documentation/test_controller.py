"""docs/pod-networks.md lists the controller's options, metrics and log events."""

import re

from netclaim.cli.app import load_command
from netclaim.controller.process.serve import METRICS, Process
from tests.support.doc_pages import ROOT, code, same_names, section, table

PAGE = "pod-networks.md"
SOURCE = ROOT / "src" / "netclaim" / "controller"
EVENT = re.compile(r'\b(?:log\.(?:info|warning|error)|explain)\(\s*"([a-z_]+\.[a-z_]+)"')


def test_every_option_is_listed() -> None:
    """With its variable."""
    text = section(PAGE, "The controller")
    for option in load_command("controller").params:
        if option.name != "help":
            assert f"`{option.opts[0]}`" in text
            assert option.envvar is None or f"`{option.envvar}`" in text


def test_every_log_event_is_listed() -> None:
    """And no other."""
    logged = [name for path in SOURCE.rglob("*.py") for name in EVENT.findall(path.read_text())]
    listed = [code(row["Event"]) for row in table(PAGE, "Log events")]
    same_names(listed, logged, place=f'docs/{PAGE}, "Log events"')


def test_every_metric_is_listed() -> None:
    """And no other."""
    listed = [code(row["metric"]) for row in table(PAGE, "Metrics")]
    same_names(listed, METRICS, place=f'docs/{PAGE}, "Metrics"')


def test_the_metrics_of_a_waiting_replica_are_listed() -> None:
    """A replica that waits has one; the others are counted by the one that works."""
    text = section(PAGE, "Metrics")
    assert all(f"`{family.name}`" in text for family in Process().collect())
