"""The picture of the page in the documentation is of the page as it is."""

from playwright.sync_api import Browser

from scripts.ui_image import SAID, looked_at


def test_the_picture_is_current(browser: Browser) -> None:
    """What the page says is what it said when scripts/ui_image.py made the picture."""
    page, said = looked_at(browser)
    assert said == SAID.read_text()
    page.close()
