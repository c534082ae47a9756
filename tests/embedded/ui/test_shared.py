"""The page for many people in a real browser: a token is asked for, and decides what is seen."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.pages import PATIENCE_MS, opened, served
from tests.support.ui_api import ADMIN, VIEWER, ApiServer, api_server_beside

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture
def cluster() -> Iterator[tuple[ApiServer, str]]:
    """Lend a cluster that knows an admin and a tenant."""
    with api_server_beside() as lent:
        yield lent


def kubeconfig(directory: Path, server: str, token: str) -> str:
    """Write a kubeconfig of somebody; returns its path."""
    path = directory / "kubeconfig"
    written = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "media"}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(written))
    return str(path)


@pytest.fixture
def address(cluster: tuple[ApiServer, str], tmp_path: Path) -> Iterator[str]:
    """Serve the page before it."""
    path = kubeconfig(tmp_path, cluster[1], "of-nobody-who-looks")
    with served("ui", "serve", "--kubeconfig", path, "--address", "127.0.0.1:0") as (url, _):
        yield url


def test_a_tenant_signs_in(browser: Browser, address: str) -> None:
    """A tenant sees its namespace only; a token that nobody knows is asked for again."""
    page = browser.new_page()
    said: list[str] = []
    page.on("pageerror", lambda one: said.append(str(one)))
    page.goto(address)
    page.get_by_role("textbox", name="Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("does not accept this token")
    page.get_by_role("textbox", name="Token").fill(VIEWER)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".line, .queued").first).to_be_visible()
    expect(page.locator("#notes")).to_contain_text("not visible to you")
    expect(page.locator("#by-namespace option")).to_have_text(["All", "media"])
    assert "storage" not in page.content()
    page.locator('[data-key="pod/media/encoder-0"]').first.click()
    expect(page.locator("#detail h2")).to_contain_text("encoder-0")
    page.locator("#detail summary", has_text="YAML").click()
    expect(page.locator("#detail pre")).to_contain_text("kind: Pod")
    page.reload()
    expect(page.locator("#detail h2")).to_contain_text("encoder-0")  # the tab still knows who
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("textbox", name="Token")).to_be_visible()
    assert said == []
    page.close()


def test_a_token_that_ends(browser: Browser, address: str, cluster: tuple[ApiServer, str]) -> None:
    """A viewer who signed in is asked again when the token is not accepted any more."""
    page = browser.new_page()
    page.goto(address)
    page.get_by_role("textbox", name="Token").fill(ADMIN)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".card").first).to_be_visible()
    del cluster[0].known[ADMIN]
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("may have expired")
    page.close()


def test_a_proxy_that_knows_who_it_is(browser: Browser, address: str) -> None:
    """Behind a proxy that sends the viewer's token nothing is asked for."""
    context = browser.new_context(extra_http_headers={"Authorization": f"Bearer {ADMIN}"})
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#sign-in")).to_be_hidden()
    expect(page.locator("#problems .problem.error")).to_have_count(3)
    expect(page.locator("#sign-out")).to_be_hidden()
    context.close()


def test_ones_own_kubeconfig(
    browser: Browser, cluster: tuple[ApiServer, str], tmp_path: Path
) -> None:
    """On one's own machine the kubeconfig says who looks, and nothing is asked for."""
    path = kubeconfig(tmp_path, cluster[1], VIEWER)
    with served("ui", "--kubeconfig", path) as (url, _):
        page = opened(browser, url)
        expect(page.locator("#sign-in")).to_be_hidden()
        expect(page.locator("#sign-out")).to_be_hidden()
        expect(page.locator("#pulse")).to_have_text("live")
        expect(page.locator("#by-namespace option")).to_have_text(["All", "media"])
        expect(page.locator("#notes")).to_contain_text("other namespaces than media")
        page.close()
