"""Every YAML on a page is run, or is a part of something that is.

A block with a title is a file of its page and is named by a command whose output the page shows;
`tests/embedded/repository/test_documentation.py` runs these commands. Any other block has a comment
above it that says what it is.
"""

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from netclaim.framework.settings.sources import Sources
from netclaim.local.input.topology_file import load_topology
from netclaim.network.settings import check_together, declared
from scripts import shown_output
from tests.support.doc_pages import ROOT

PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK: Final = re.compile(
    r'(?:<!-- yaml: (?P<about>.+?) -->\n)?^```yaml(?: title="(?P<title>[\w.-]+)")?\n'
    r"(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
ANYTHING: Final = ({"...": None}, ["..."])  # how a page leaves something out


class Block(NamedTuple):
    """A fenced block of YAML, and where it stands."""

    page: Path
    line: int
    about: str
    title: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    """All blocks of a page."""
    text = page.read_text()
    return [
        Block(
            page, text[: match.start()].count("\n") + 1,
            match["about"] or "", match["title"] or "", match["text"],
        )
        for match in BLOCK.finditer(text)
    ]  # fmt: skip


BLOCKS: Final = [block for page in PAGES for block in blocks_of(page)]


def holds(whole: Any, part: Any) -> bool:
    """Whether a value has everything that another has, at the same place."""
    if part in ANYTHING:
        return True
    match whole, part:
        case dict(), dict():
            return all(key in whole and holds(whole[key], part[key]) for key in part)
        case list(), list():
            return len(whole) == len(part) and all(map(holds, whole, part))
        case _:
            return bool(whole == part)


def holds_somewhere(whole: Any, part: Any) -> bool:
    """The same, at any place."""
    inner = whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()
    return holds(whole, part) or any(holds_somewhere(each, part) for each in inner)


def names(value: Any) -> list[str]:
    """The keys of the innermost objects."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    deeper = [name for each in inner for name in names(each)]
    return deeper or (list(value) if isinstance(value, dict) else [])


@pytest.mark.parametrize("block", BLOCKS, ids=lambda each: f"{each.page.stem}:{each.line}")
def test_each_is_accounted_for(block: Block, tmp_path: Path) -> None:
    """A block is a file that a shown command reads, a part of a file, or checked by its kind."""
    if block.title and not block.about:
        shown = shown_output.commands(block.page.read_text())
        assert any(block.title in command.split() for command in shown), "no shown command reads it"
        return
    documents = list(yaml.safe_load_all(block.text))
    match block.about.split():
        case ["part", "of", name]:
            held = list(yaml.safe_load_all((ROOT / name).read_text()))
            assert all(holds_somewhere(held, document) for document in documents)
        case ["used", "by", name]:
            text = (ROOT / name).read_text()
            assert all(name in text for document in documents for name in names(document))
        case ["topology"]:
            (tmp_path / "topology.yaml").write_text(block.text)
            load_topology(tmp_path / "topology.yaml")
        case ["status", "of", "a", "claim"]:
            (entry,) = documents[0]["status"]["devices"]
            assert set(entry) == {"driver", "pool", "device", "conditions", "data", "networkData"}
        case ["values", "of", "the", "chart"]:
            values = dict(documents[0])
            if settings := values.pop("settings", None):
                file = tmp_path / "config.yaml"
                file.write_text(yaml.safe_dump(settings))
                assert Sources(declared(), {}, file, check=check_together).read().in_file
            chart = yaml.safe_load((ROOT / "charts/netclaim/values.yaml").read_text())
            assert all(set(each) <= set(chart[name]) for name, each in values.items())
        case ["for", "kind"]:
            assert documents[0]["apiVersion"] == "kind.x-k8s.io/v1alpha4"
        case ["for", "Talos"]:
            assert list(documents[0]) == ["machine"]
        case _:
            pytest.fail("say above the block what it is, for example <!-- yaml: part of FILE -->")


def test_there_are_blocks() -> None:
    """The pages have YAML, so that the test above tests something."""
    assert len(BLOCKS) > 15


def test_what_is_a_part() -> None:
    """A part may stand anywhere inside; what it leaves out is not compared."""
    whole = [{"spec": {"a": 1, "b": [{"c": {"d": 2}}]}}]
    assert holds_somewhere(whole, {"c": {"...": None}})
    assert holds_somewhere(whole, {"a": 1})
    assert not holds_somewhere(whole, {"a": 2})
    assert not holds_somewhere(whole, {"b": []})
