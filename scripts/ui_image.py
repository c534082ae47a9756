"""Make docs/images/ui.png: the page of `netclaim ui` on a cluster with something of everything.

    .venv/bin/python -m scripts.ui_image

It needs Debian's chromium, and looks best with the package fonts-inter. What the picture shows is
written beside it in ui.txt, as the page says it: a test compares that with the page of today, since
pixels depend on fonts.
"""

import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page

from tests.support.pages import chromium, opened, saved, served
from tests.support.ui_objects import scene

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
PICTURE: Final = IMAGES / "ui.png"
SAID: Final = IMAGES / "ui.txt"
OPENED: Final = "#open=pod%2Fmedia%2Fencoder-wide"
SIZE: Final = {"width": 1440, "height": 900}


def said_by(page: Page) -> str:
    """Return the texts of the parts that the picture shows, a line each."""
    page.wait_for_selector("table.why")
    parts = ("#sums", "#problems", "#networks", "#map", "#detail h2", "#detail .answers")
    texts = [page.locator(part).inner_text() for part in parts]
    return "".join(
        f"{line.strip()}\n" for text in texts for line in text.split("\n") if line.strip()
    )


def looked_at(browser: Browser) -> tuple[Page, str]:
    """Open the page as the picture has it; returns it with what it says."""
    with (
        tempfile.TemporaryDirectory() as directory,
        served("ui", "-f", saved(Path(directory), scene())) as (url, _),
    ):
        page = opened(browser, url + OPENED, **SIZE)
        page.evaluate("document.getElementById('source').textContent = 'prod-east'")
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        return page, said_by(page)


def main() -> None:
    """Write the picture, and what it says."""
    with chromium() as browser:
        page, said = looked_at(browser)
        page.evaluate("document.getElementById('pulse').dataset.state = 'live'")
        page.evaluate("document.getElementById('pulse').textContent = 'live'")
        page.screenshot(path=PICTURE)
    SAID.write_text(said)


if __name__ == "__main__":
    main()
