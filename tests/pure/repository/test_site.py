"""The site: every page is in its navigation, and it is whole by itself."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from scripts import site
from tests.support.doc_pages import DOCS, ROOT

ELSEWHERE: Final = re.compile(
    r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"'
)


def listed(nav: Any) -> Iterator[str]:
    """The pages that a part of the navigation has."""
    match nav:
        case str():
            yield nav
        case dict():
            for each in nav.values():
                yield from listed(each)
        case list():
            for each in nav:
                yield from listed(each)


def test_every_page_is_in_the_navigation() -> None:
    """Each page of docs/ can be reached from the menu; decisions are listed on their own page."""
    nav = list(listed(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    wanted = {page for page in pages if not re.match(r"decisions/\d", page)}
    assert sorted(nav) == sorted(wanted), "correct `nav` in mkdocs.yml"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; building it fails at any warning."""
    target: Path = tmp_path_factory.mktemp("site") / "site"
    site.build(target)
    return target


def test_pages_load_nothing_from_elsewhere(built: Path) -> None:
    """Scripts, styles and pictures all come with the site."""
    pages = list(built.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        assert not ELSEWHERE.findall(page.read_text()), page.name


def test_files_of_the_repository_come_along(built: Path) -> None:
    """What a page links to outside of docs/ is on the site."""
    assert (built / "project" / "examples" / "toaster.py").exists()
    assert (built / "project" / "CONTRIBUTING.html").exists()


def test_a_broken_link_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A site with a link that leads nowhere is not built, and the message names the page."""
    checkout = tmp_path / "checkout"
    (checkout / "docs" / "decisions").mkdir(parents=True)
    (checkout / "docs" / "decisions" / "README.md").write_text("# Decisions\n")
    (checkout / "docs" / "index.md").write_text("# Home\n\n[gone](gone.md)\n")
    (checkout / "mkdocs.yml").write_text("site_name: x\nnav: [index.md, decisions/README.md]\n")
    monkeypatch.setattr(site, "CHECKOUT", checkout)
    with pytest.raises(SystemExit, match=r"(?s)index\.md.*the site was not built"):
        site.build(tmp_path / "site")
    assert not (tmp_path / "site").exists()
