"""Words: a page explains an abbreviation where it first uses it, and some words are avoided."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.pure.repository.documentation.test_form import lines_outside_code
from tests.support.doc_pages import ROOT

WORDS: Final = {
    "CDI": "Container Device Interface",
    "CEL": "Common Expression Language",
    "CNI": "Container Network Interface",
    "CRI": "Container Runtime Interface",
    "DRA": "Dynamic Resource Allocation",
    "NRI": "Node Resource Interface",
    "OCI": "Open Container Initiative",
    "RBAC": "role-based access control",
}
# What is hard to read for many, and what to write instead.
AVOIDED: Final = {
    r"\bwhoever\b": "everybody who, a pod that, the code that",
    r"(?-i:\bAgain: )": "A second call …",
}
PAGES: Final = sorted(
    path.relative_to(ROOT)
    for path in (ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md"))
    if path.parent.name != "decisions" or path.name != "README.md"  # a list of titles
)
CODE: Final = re.compile(r"``.*?``|`[^`]*`|\]\([^)]*\)", re.DOTALL)


def paragraphs(text: str) -> list[str]:
    """The prose of a page: no headings, no code, no addresses of links."""
    lines = (line for _, line in lines_outside_code(text) if not line.startswith("#"))
    return CODE.sub("", "\n".join(lines)).split("\n\n")


def unexplained(text: str) -> list[str]:
    """Abbreviations whose first use comes before the paragraph that explains them."""
    read: list[str] = []
    found = []
    for paragraph in paragraphs(text):
        read.append(" ".join(paragraph.split()).lower())
        so_far = " ".join(read)
        for word, meaning in WORDS.items():
            used = re.search(rf"(?<![\w-]){word}(?![\w-])", paragraph)
            if used and meaning.lower() not in so_far and word not in found:
                found.append(word)
    return found


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_abbreviations_are_explained(page: Path) -> None:
    """No page uses an abbreviation of the field before it has said what it stands for."""
    assert unexplained((ROOT / page).read_text()) == []


def test_what_counts() -> None:
    """An explanation may come in the same paragraph or earlier; code and headings do not count."""
    assert unexplained("# CNI\n\nA `CNI` of [x](CNI.md).\n") == []
    assert unexplained("A CNI plugin.\n\nContainer Network\nInterface\n") == ["CNI"]
    assert unexplained("A Container Network\nInterface (CNI) plugin.\n\nCNI again.\n") == []


@pytest.mark.parametrize("word", AVOIDED)
def test_words_that_are_avoided(word: str) -> None:
    """Neither pages nor the docstrings and comments of the package have them."""
    texts = [*PAGES, *(path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.py"))]
    found = [path for path in texts if re.search(word, (ROOT / path).read_text(), re.IGNORECASE)]
    assert found == [], f"write instead: {AVOIDED[word]}"
