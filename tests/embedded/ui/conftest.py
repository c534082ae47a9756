"""One browser for the tests of a module, and the page of a saved cluster."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.pages import chromium, saved, served
from tests.support.ui_objects import hostile, scene


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Lend a browser."""
    with chromium() as lent:
        yield lent


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a saved cluster in which something of everything is wrong, and markup in all texts."""
    path = saved(tmp_path_factory.mktemp("page"), [*scene(), *hostile()])
    with served("ui", "-f", path) as (url, _):
        yield url
