"""The demo with its page: pods appear while they start, and a link that fails turns red."""

import subprocess
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.pages import PATIENCE_MS, opened, served

expect.set_options(timeout=PATIENCE_MS)


def first_process(parent: int) -> int:
    """Return process 1 of the embedded cluster below a process: the child of its only child."""
    keeper = _child(parent)
    return _child(keeper)


def _child(parent: int) -> int:
    return int(Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])


def test_the_demo(browser: Browser) -> None:
    """The sixteen pods appear on their link once the page is open; the link's failure is shown."""
    with served("demo", "--ui") as (url, process):
        page = opened(browser, url)
        expect(page.locator(".card")).to_have_count(3)
        expect(page.locator(".line")).to_have_count(16)
        expect(page.locator("#sums")).to_contain_text("16 ready")
        port = page.locator('.port[data-key$="/kind-worker/eth1"]')
        expect(port).not_to_have_class("bad")
        cut = ["nsenter", "--target", str(first_process(process.pid)), "--net"]
        subprocess.run([*cut, "ip", "link", "set", "second.0", "down"], check=True)
        expect(port.locator(".state.tainted")).to_be_visible()
        expect(page.locator("#problems")).to_contain_text("eth1")
        page.close()
