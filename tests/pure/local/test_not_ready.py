"""Why an embedded cluster does not get ready: which driver, where, and its last words."""

from collections.abc import Collection
from pathlib import Path

from netclaim.local.node.driver_process import last_words
from netclaim.local.not_ready import not_ready

NODES = ("one", "two", "three")


def said(registered: Collection[str], published: Collection[str]) -> str:
    """What is said of a driver that is registered, and has published, on some nodes."""
    return not_ready(
        ["toaster.example.com"],
        NODES,
        registered=lambda _, node: node in registered,
        published=lambda _, node: node in published,
        last_words=lambda _, node: f"Traceback on {node}",
    )


def test_a_driver_that_does_not_register() -> None:
    """The nodes where a driver is missing are named, with what it said on the first of them."""
    assert said(["one"], ["one"]) == (
        "toaster.example.com has not registered with kubelet on two, three;"
        " its log on two: Traceback on two"
    )


def test_a_driver_that_publishes_nothing() -> None:
    """A driver that is there without devices is told apart from one that is not."""
    assert said(["one", "two"], ["one"]) == (
        "toaster.example.com has not registered with kubelet on three;"
        " its log on three: Traceback on three;"
        " toaster.example.com has published no devices on two; its log on two: Traceback on two"
    )
    assert said(NODES, NODES) == ""


def test_last_words(tmp_path: Path) -> None:
    """A log is quoted in one line, and may be empty or missing."""
    log = tmp_path / "driver.log"
    assert last_words(log) == "it logged nothing"
    log.write_text("")
    assert last_words(log) == "it logged nothing"
    log.write_text("".join(f"line {number}\n" for number in range(9)))
    assert last_words(log) == "line 4 | line 5 | line 6 | line 7 | line 8"
