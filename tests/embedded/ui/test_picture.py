"""The pictures of the page in the documentation are of the page as it is."""

import pytest
from playwright.sync_api import Browser

from scripts.ui_image import PICTURES, Picture, looked_at


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: str(picture.name))
def test_the_picture_is_current(browser: Browser, picture: Picture) -> None:
    """What the page says is what it said when scripts/ui_image.py made the picture."""
    page, said = looked_at(browser, picture)
    assert said == picture.said.read_text()
    page.close()
