"""Make the pictures of the page of `netclaim ui`: a cluster with something of everything.

    .venv/bin/python -m scripts.ui_image

It needs Debian's chromium, and looks best with the package fonts-inter. What a picture shows is
written beside it, as the page says it: a test compares that with the page of today, since pixels
depend on fonts.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, Page

from tests.support.pages import chromium, opened, saved, served
from tests.support.ui_objects import scene

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
WIDE: Final = (1440, 900)
PHONE: Final = (390, 844)  # pixels of CSS, as most phones have
MAP: Final = ("#sums", "#problems", "#networks", "#map")
DETAIL: Final = ("#detail h2", "#detail .answers")
WAITING: Final = "#open=pod%2Fmedia%2Fencoder-wide"


@dataclass(frozen=True)
class Picture:
    """What is looked at, how, and which parts of the page are seen."""

    name: str  # of the files in docs/images
    scheme: Literal["dark", "light"]
    size: tuple[int, int]
    fragment: str
    parts: tuple[str, ...]
    scrolled_to: str = ""

    @property
    def image(self) -> Path:
        return IMAGES / f"{self.name}.png"

    @property
    def said(self) -> Path:
        return IMAGES / f"{self.name}.txt"


PICTURES: Final = (
    Picture("ui", "dark", WIDE, WAITING, (*MAP, *DETAIL)),
    Picture("ui-light", "light", WIDE, "", MAP),
    Picture("ui-phone", "light", PHONE, "", MAP, scrolled_to="#sums"),
)


def said_by(page: Page, picture: Picture) -> str:
    """Return the texts of the parts that the picture shows, a line each."""
    if picture.fragment:
        page.wait_for_selector("table.why")
    texts = [page.locator(part).inner_text() for part in picture.parts]
    return "".join(
        f"{line.strip()}\n" for text in texts for line in text.split("\n") if line.strip()
    )


def looked_at(browser: Browser, picture: Picture) -> tuple[Page, str]:
    """Open the page as the picture has it; returns it with what it says."""
    with (
        tempfile.TemporaryDirectory() as directory,
        served("ui", "-f", saved(Path(directory), scene())) as (url, _),
    ):
        width, height = picture.size
        page = opened(browser, url + picture.fragment, width=width, height=height)
        page.evaluate("document.getElementById('source').textContent = 'prod-east'")
        page.emulate_media(color_scheme=picture.scheme, reduced_motion="reduce")
        return page, said_by(page, picture)


def main() -> None:
    """Write the pictures, and what they say."""
    with chromium() as browser:
        for picture in PICTURES:
            page, said = looked_at(browser, picture)
            page.evaluate("document.getElementById('pulse').dataset.state = 'live'")
            page.evaluate("document.getElementById('pulse').textContent = 'live'")
            if picture.scrolled_to:
                top = "document.querySelector(where).scrollIntoView()"
                page.evaluate(f"(where) => {top}", picture.scrolled_to)
            page.screenshot(path=picture.image)
            picture.said.write_text(said)
            page.close()


if __name__ == "__main__":
    main()
