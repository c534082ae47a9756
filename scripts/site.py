"""Build the documentation site: the pages of docs/, with links that work outside the repository.

Pages link to files of the repository, as code hosts expect it (`../deploy/rbac.yaml`). A site has
only what is below its pages, so a copy is built in which such files stand beside the pages: other
pages as pages, everything else to download. Promise: fails at any warning, such as a link that
leads nowhere. Limit: builds; whether all pages are in the navigation is for a test.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
SITE: Final = CHECKOUT / ".site"
HOME: Final = CHECKOUT / "README.md"  # the site has a home of its own in its place
PROJECT: Final = "project"  # where copies of what stands outside docs/ go
LINK: Final = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
FENCE: Final = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def stage(target: Path) -> None:
    """Write the pages, and whatever they lead to, below `target`."""
    shutil.copytree(CHECKOUT / "docs", target)
    waiting = [(page, CHECKOUT / "docs" / page.relative_to(target)) for page in _pages(target)]
    seen: set[Path] = set()
    while waiting:
        page, source = waiting.pop()
        found: list[tuple[Path, Path]] = []
        page.write_text(_relinked(source, page, target, found))
        for copy, original in found:
            if original in seen:
                continue
            seen.add(original)
            _copy(original, copy)
            if copy.suffix == ".md":
                waiting.append((copy, original))
    _list_decisions(target / "decisions")


def _list_decisions(where: Path) -> None:
    """Put a list of the decisions on their first page: a directory's own list is not on a site."""
    pages = sorted(where.glob("[0-9]*.md"))
    titles = [page.read_text().partition("\n")[0].removeprefix("# ") for page in pages]
    listed = [f"- [{title}]({page.name})" for title, page in zip(titles, pages, strict=True)]
    first = where / "README.md"
    first.write_text("\n".join([first.read_text(), *listed, ""]))


def _pages(below: Path) -> list[Path]:
    return sorted(below.rglob("*.md"))


def _relinked(source: Path, page: Path, target: Path, found: list[tuple[Path, Path]]) -> str:
    """Return the page's text with the site's links; `found` gets the files to copy."""

    def relink(match: re.Match[str]) -> str:
        there = (source.parent / match[1]).resolve()
        if "://" in match[1] or match[1].startswith("mailto:") or not there.exists():
            return match[0]
        if there.is_dir():
            sys.exit(f"{source}: {match[1]} is a directory; link to a file in it")
        return _relative(_place(there, target, found), page) + (match[2] or "")

    text = source.read_text()
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(relink, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, LINK.sub(relink, text[end:])])


def _place(there: Path, target: Path, found: list[tuple[Path, Path]]) -> Path:
    """Return where a file of the repository stands on the site."""
    if there == HOME:
        return target / "index.md"
    if there.is_relative_to(CHECKOUT / "docs"):
        return target / there.relative_to(CHECKOUT / "docs")
    copy = target / PROJECT / there.relative_to(CHECKOUT)
    found.append((copy, there))
    return copy


def _copy(original: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(original, copy)


def _relative(place: Path, page: Path) -> str:
    return os.path.relpath(place, page.parent)


def build(site: Path) -> None:
    """Build the site; what Zensical warns of ends it, with its own words."""
    with tempfile.TemporaryDirectory(prefix="netclaim-site-") as name:
        work = Path(name)
        stage(work / "docs")
        shutil.copyfile(CHECKOUT / "mkdocs.yml", work / "mkdocs.yml")
        done = subprocess.run(
            [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
            cwd=work, capture_output=True, text=True, check=False,
            env={**os.environ, "NO_COLOR": "1"},
        )  # fmt: skip
        if done.returncode != 0:
            said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
            sys.exit(said.partition("Traceback")[0] + "the site was not built")
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(work / "site", site)


def main() -> None:
    """Build, and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=SITE, help="Where to put it.")
    site = parser.parse_args().output
    build(site)
    pages = len(list(site.rglob("*.html")))
    print(f"{pages} pages: {site / 'index.html'}")


if __name__ == "__main__":
    main()
