"""The tutorial of docs/framework.md shows the example as it is, and its test passes."""

import re
import sys
from types import ModuleType
from typing import Any, Final

import pytest

from tests.pure.framework.test_examples import load
from tests.support.doc_pages import ROOT, section

TUTORIAL: Final = section("framework.md", "Writing a driver")
BLOCKS: Final = re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)
TOASTER: Final = (ROOT / "examples" / "toaster.py").read_text()


def test_what_is_shown_is_in_the_example() -> None:
    """Every block but the test is a part of examples/toaster.py, in its order but for helpers."""
    *shown, _ = BLOCKS
    assert len(shown) == 6
    for block in shown:
        assert block in TOASTER


def test_the_whole_class_is_shown() -> None:
    """The blocks leave out nothing of the driver but its imports and constants."""
    rest = TOASTER
    for block in BLOCKS[:-1]:
        rest = rest.replace(block, "")
    assert not re.search(r"^\s*(async )?(def|class) ", rest, re.MULTILINE)


def test_the_shown_test_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tutorial's last block runs as it stands, beside the example."""
    example: ModuleType = load("toaster")
    monkeypatch.setitem(sys.modules, "toaster", example)
    names: dict[str, Any] = {}
    exec(BLOCKS[-1], names)
    names["test_contract"]()


def test_the_shown_settings_can_be_read() -> None:
    """The example of an author's own settings runs as it stands."""
    text = section("framework.md", "Settings, metrics and logs of your own")
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0], names)
    assert names["settings"].cool_down_s == 45
