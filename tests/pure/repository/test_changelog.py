"""Fragments become the section of a release."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import netclaim

ROOT = Path(__file__).parents[3]


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
    head = f"# Changelog\n\n{script.HEAD_END}"
    old = script.section("0.1.0", "2026-12-01", ["- A list\n- of two.\n"])
    new = script.section("0.2.0", "2027-01-01", ["A.\n", "B,\nand C.\n"])
    both = script.with_release(script.with_release(head, old), new)
    assert both.removeprefix(head) == (
        "\n## 0.2.0, 2027-01-01\n\n- A.\n- B, and C.\n"
        "\n## 0.1.0, 2026-12-01\n\n- - A list\n  - of two.\n"
    )


def test_what_users_must_do_comes_first(script: ModuleType) -> None:
    """A fragment with something in bold is moved before the others."""
    text = script.section("0.1.0", "2026-12-01", ["A.\n", "B. **Drain your nodes.**\n"])
    assert text.endswith("\n- B. **Drain your nodes.**\n- A.\n")


def test_the_fragments_of_the_next_release(script: ModuleType) -> None:
    """They make a section that is wrapped like every page, in the changelog as it is."""
    fragments = [path.read_text() for path in sorted((ROOT / "changelog.d").glob("*.md"))]
    text = script.section("99.0.0", "2026-12-01", fragments)
    assert max(map(len, text.splitlines())) <= script.COLUMNS
    assert text.count("\n- ") == len(fragments)
    assert text in script.with_release((ROOT / "CHANGELOG.md").read_text(), text)


def test_the_section_of_a_release(script: ModuleType) -> None:
    """A tag gets the release's items with their headings, and nothing of its neighbours."""
    changelog = f"# Changelog\n\n{script.HEAD_END}"
    for version in ("0.1.0", "0.1.1", "0.1.10"):
        release = script.section(version, "2026-12-01", [f"### Area\n\n{version}.\n"])
        changelog = script.with_release(changelog, release)
    assert script.released(changelog, "0.1.1") == "- ### Area\n\n  0.1.1.\n"
    with pytest.raises(SystemExit, match=r"does not have 0\.1\.2"):
        script.released(changelog, "0.1.2")


def test_this_version_is_in_the_changelog(script: ModuleType) -> None:
    """A version that does not end with .dev0 has its section."""
    if "dev" not in netclaim.__version__:
        changelog = (ROOT / "CHANGELOG.md").read_text()
        assert script.released(changelog, netclaim.__version__)


def test_a_version_that_is_released_already(script: ModuleType) -> None:
    """A second section of the same version is refused."""
    release = script.section("0.1.0", "2026-12-01", ["A.\n"])
    once = script.with_release(script.HEAD_END, release)
    with pytest.raises(SystemExit, match=r"already has 0\.1\.0"):
        script.with_release(once, release)


@pytest.mark.parametrize("arguments", [["0.1"], ["v0.1.0"], ["0.1.0", "tomorrow"]])
def test_arguments_that_are_wrong(
    script: ModuleType, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version or a date of another form is refused before anything is written."""
    before = (ROOT / "CHANGELOG.md").read_text()
    monkeypatch.setattr("sys.argv", ["changelog.py", *arguments])
    with pytest.raises(SystemExit, match="2"):
        script.main()
    assert (ROOT / "CHANGELOG.md").read_text() == before


def test_a_changelog_that_was_changed(script: ModuleType) -> None:
    """Without the line that ends the head nothing is written."""
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md"):
        script.with_release("# Changelog\n", "")
