"""`netclaim ui` and its like as processes, and Debian's Chromium to look at what they serve."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

PATIENCE_MS = 60_000  # an upper bound only: every wait is for an event
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/(?:\S+/)?")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Lend a browser; the tests run as root, for which it has no sandbox."""
    path = shutil.which("chromium")
    assert path, "chromium is missing: scripts/setup.sh installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served(*words: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run a command that serves the page; gives its address. It must end well when asked to."""
    process = subprocess.Popen(
        [sys.executable, "-m", "netclaim", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        with process.stdout as said:
            for line in said:
                if found := ADDRESS.search(line):
                    yield found[0], process
                    break
            else:
                raise AssertionError(f"{words} printed no address")
            process.send_signal(signal.SIGTERM)
            said.read()
        process.wait()
    finally:
        process.kill()
        process.wait()


def saved(directory: Path, objects: Sequence[dict[str, Any]]) -> str:
    """Write objects as a saved cluster; returns the path."""
    path = directory / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(path)


def opened(browser: Browser, url: str, *, width: int = 1440, height: int = 900) -> Page:
    """Open a page and wait until it shows what there is; faults of its scripts are collected."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    return page
