"""The page of `netclaim ui` with 1,000 nodes and 10,000 claims, in Chromium.

How long until it is drawn, how long an update keeps the browser's main thread, and whether memory
grows with updates: 10,000 of them on a small cluster, whose views the server composes at once. The
server composes every view, as it does for a cluster. NETCLAIM_BENCH_UPDATES sets how many.
"""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from playwright.async_api import CDPSession, Page, async_playwright

from benchmarks.table import Row, percentile, print_table
from netclaim.survey.follow import Moment
from netclaim.ui.running import listening, serving
from netclaim.ui.sources import Show
from netclaim.ui.view import Question
from tests.support.explain_objects import DRIVER
from tests.support.ui_objects import crowd, crowd_pair

__all__ = ["main"]

NODES, CLAIMS = 1_000, 10_000
UPDATES = 12  # each composed by the server, which takes a second
SMALL_NODES, SMALL_CLAIMS = 5, 20
MANY_UPDATES = int(os.environ.get("NETCLAIM_BENCH_UPDATES", "10000"))
WARM_UPDATES = 200  # until every part of the page has been used
PATIENCE_MS = 180_000
# Every task of the main thread that takes 50 ms or more.
WATCH = """() => { window.tasks = []; new PerformanceObserver((seen) => {
    for (const one of seen.getEntries()) window.tasks.push(one.duration);
}).observe({type: "longtask"}); }"""


class _Crowd:
    """A cluster in which a claim after the other fails, and recovers."""

    def __init__(self, nodes: int, claims: int) -> None:
        self._nodes, self._claims = nodes, claims
        self._objects = crowd(nodes, claims)
        self._show: Show | None = None

    async def run(self, show: Show) -> None:
        self._show = show
        show(Moment(tuple(self._objects)), ())

    async def events(self, *_: str) -> list[dict[str, Any]]:
        return []

    def change(self, number: int, *, ready: bool) -> None:
        """Change a claim and its pod."""
        at = len(self._objects) - 2 * self._claims + 2 * number
        node = f"node-{number % self._nodes:04d}"
        self._objects[at : at + 2] = crowd_pair(number, node, ready=ready)
        assert self._show is not None
        self._show(Moment(tuple(self._objects)), ())


async def _heap(session: CDPSession) -> float:
    """Return what the page holds after its garbage was collected, in MB."""
    await session.send("HeapProfiler.collectGarbage")
    found = await session.send("Performance.getMetrics")
    values = {one["name"]: float(one["value"]) for one in found["metrics"]}
    return values["JSHeapUsedSize"] / 1e6


@asynccontextmanager
async def _opened(source: _Crowd) -> AsyncIterator[tuple[Page, CDPSession]]:
    """Show a cluster in a browser, and provide the page once it is drawn."""
    question = Question("benchmark", frozenset({DRIVER}))
    async with (
        serving(question, nullcontext(source), listening(0)) as served,
        async_playwright() as playwright,
    ):
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = await browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        await page.goto(served.url)
        await page.wait_for_selector("html[data-ready]")
        session = await page.context.new_cdp_session(page)
        await session.send("Performance.enable")
        yield page, session
        await browser.close()


async def _update(source: _Crowd, page: Page, number: int) -> float:
    """Have a claim fail, or recover at every second call; returns when that is shown, in s."""
    ready = number % 2 == 1
    began_s = time.monotonic()
    source.change(number // 2, ready=ready)
    await page.wait_for_function(
        "(bad) => Boolean(document.querySelector('#sums .bad')) === bad", arg=not ready
    )
    return time.monotonic() - began_s


async def _measure() -> Sequence[Row]:
    source = _Crowd(NODES, CLAIMS)
    async with _opened(source) as (page, session):
        drawn_ms = await page.evaluate("performance.getEntriesByName('first drawn')[0].startTime")
        await page.evaluate(WATCH)
        before_mb = await _heap(session)
        shown_s = [await _update(source, page, number) for number in range(UPDATES)]
        tasks = await page.evaluate("window.tasks")
        after_mb = await _heap(session)
    return [
        Row("until everything is drawn", f"{drawn_ms:,.0f} ms", "below 2,000 ms"),
        Row(
            f"longest task of the main thread, {UPDATES} updates",
            f"{max(tasks, default=0):.0f} ms" if tasks else "below 50 ms",
            "below 200 ms",
        ),
        Row("a change until it is shown, median", f"{percentile(shown_s, 0.5):.1f} s"),
        Row("memory of the page", f"{before_mb:.0f} MB, then {after_mb:.0f} MB", "flat"),
    ]


async def _measure_many() -> Sequence[Row]:
    source = _Crowd(SMALL_NODES, SMALL_CLAIMS)
    async with _opened(source) as (page, session):
        heaps_mb: list[float] = []
        shown_s: list[float] = []
        for updates in (WARM_UPDATES, MANY_UPDATES // 2, MANY_UPDATES - MANY_UPDATES // 2):
            turns = (number % (2 * SMALL_CLAIMS) for number in range(updates))
            shown_s += [await _update(source, page, number) for number in turns]
            heaps_mb.append(await _heap(session))
    first, half, last = (f"{heap:.2f}" for heap in heaps_mb)
    return [
        Row("a change until it is shown, median", f"{1000 * percentile(shown_s, 0.5):.0f} ms"),
        Row("memory of the page, half-way, at the end", f"{first}, {half}, {last} MB", "flat"),
    ]


def main() -> None:
    """Measure and print."""
    print_table(f"page: {NODES:,} nodes, {CLAIMS:,} claims", asyncio.run(_measure()))
    print_table(f"page: {MANY_UPDATES:,} updates", asyncio.run(_measure_many()))


if __name__ == "__main__":
    main()
