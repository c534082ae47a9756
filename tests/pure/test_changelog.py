"""Fragments become the section of a release."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="script")
def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("changelog", ROOT / "scripts" / "changelog.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_release_comes_before_earlier_ones(script: ModuleType) -> None:
    """Each fragment is an item, its further lines indented, and the newest release is first."""
    head = (ROOT / "CHANGELOG.md").read_text()
    old = script.section("0.1.0", "2026-12-01", ["One,\nof two lines.\n"])
    new = script.section("0.2.0", "2027-01-01", ["A.\n", "B.\n"])
    both = script.with_release(script.with_release(head, old), new)
    assert both.removeprefix(head) == (
        "\n## 0.2.0, 2027-01-01\n\n- A.\n- B.\n\n## 0.1.0, 2026-12-01\n\n- One,\n  of two lines.\n"
    )


def test_a_changelog_that_was_changed(script: ModuleType) -> None:
    """Without the line that ends the head nothing is written."""
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md"):
        script.with_release("# Changelog\n", "")
