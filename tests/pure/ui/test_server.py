"""The server of the page: who gets an answer, what a browser is told, how much is served."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp
import pytest

from netclaim.errors import RequestError
from netclaim.manifests.objects import Object
from netclaim.survey.follow import Moment
from netclaim.ui.answers import STREAMS_MAX
from netclaim.ui.engine import Engine
from netclaim.ui.running import listening, serving
from netclaim.ui.sources import Files
from tests.pure.ui.test_picture import QUESTION
from tests.support.ui_objects import scene


@dataclass
class Browser:
    """Asks a server that runs."""

    session: aiohttp.ClientSession
    url: str

    async def get(self, path: str = "", *, host: str = "", method: str = "GET") -> tuple[int, str]:
        """Return the code and the text of an answer."""
        headers = {"Host": host} if host else {}
        async with self.session.request(method, self.url + path, headers=headers) as answer:
            return answer.status, await answer.text()

    @asynccontextmanager
    async def stream(self) -> AsyncIterator[aiohttp.ClientResponse]:
        """Follow the changes."""
        async with self.session.get(f"{self.url}stream") as answer:
            yield answer


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """Lend a browser before a server of the scene."""
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "trading"},
        "involvedObject": {"kind": "Pod", "namespace": "trading", "name": "feed-9"},
        "reason": "FailedAttach",
        "message": "eth1 has no carrier",
        "type": "Warning",
    }
    source = Files([Object({}, one) for one in (*scene(), event)])
    async with (
        serving(QUESTION, nullcontext(source), listening(0)) as page,
        aiohttp.ClientSession() as session,
    ):
        yield Browser(session, page.url)


async def test_only_with_the_token(browser: Browser) -> None:
    """Without the token there is neither the page nor anything that it asks for."""
    assert (await browser.get())[0] == 200
    right = browser.url
    parts = urlsplit(right)
    for path in (
        "/",
        "/x/",
        "/page/main.js",
        "/stream",
        f"{parts.path[:-2]}/",
        f"{parts.path[:-1]}x/",
    ):
        browser.url = f"http://{parts.netloc}{path}"
        status, said = await browser.get()
        assert (status, "netclaim ui" in said) == (403, True)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:1", "10.0.0.1:8800"]
)
async def test_no_other_host(browser: Browser, host: str) -> None:
    """A name that somebody else points at this machine leads nowhere, even with the token."""
    assert (await browser.get(host=host))[0] == 421


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1:1", "[::1]:8800", "localhost"])
async def test_a_forwarded_port(browser: Browser, host: str) -> None:
    """The page can be reached through a port that was forwarded."""
    assert (await browser.get(host=host))[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_it_only_reads(browser: Browser, method: str) -> None:
    """Nothing but reading is answered."""
    assert (await browser.get(method=method))[0] == 405


@pytest.mark.parametrize(
    "path", ["", "page/main.js", "page/no.js", "object?key=node/rack1-a", "none"]
)
async def test_what_a_browser_is_told(browser: Browser, path: str) -> None:
    """Every answer forbids what is not of this server, and markup made of text."""
    async with browser.session.get(browser.url + path) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "name", ["../server.py", "%2e%2e/server.py", "..%2fserver.py", "/etc/passwd"]
)
async def test_only_files_of_the_page(browser: Browser, name: str) -> None:
    """No path leads to another file."""
    assert (await browser.get(f"page/{name}"))[0] in (403, 404)


async def test_the_first_answer_is_everything(browser: Browser) -> None:
    """A stream begins with all pieces."""
    async with browser.stream() as stream:
        assert await stream.content.readline() == b"event: all\n"
        line = (await stream.content.readuntil(b"\n\n")).removeprefix(b"data: ")
        assert len(json.loads(line)["set"]) == 96


async def test_one_window_too_many(browser: Browser) -> None:
    """More windows than the limit get an error, and another one when one was closed."""
    streams = [browser.stream() for _ in range(STREAMS_MAX)]
    answers = [await one.__aenter__() for one in streams]
    for each in answers:
        await each.content.readline()
    assert (await browser.get("stream"))[0] == 503
    for one in streams:
        await one.__aexit__(None, None, None)


async def test_an_object_in_full(browser: Browser) -> None:
    """What is opened has its YAML and its events."""
    status, said = await browser.get("object?key=pod/trading/feed-9")
    found = json.loads(said)
    assert status == 200
    assert found["yaml"].startswith("apiVersion: v1\nkind: Pod\n")
    assert found["events"][0]["note"] == "eth1 has no carrier"
    assert (await browser.get("object?key=pod/trading/none"))[0] == 404
    assert (await browser.get(f"object?key={'x' * 2000}"))[0] == 404


async def test_why(browser: Browser) -> None:
    """The reasons are answered as JSON; a fault of an object as a line."""
    status, said = await browser.get("why?key=pod/media/encoder-wide")
    assert (status, json.loads(said)["outcome"]) == (200, "cannot be allocated")
    status, said = await browser.get("why?key=pod/media/none")
    assert (status, said.startswith("no pod")) == (409, True)


async def test_a_slow_reader_misses_nothing() -> None:
    """Views that nobody waited for are skipped, and the next has all that they changed."""
    engine = Engine(QUESTION)
    running = asyncio.create_task(engine.run())
    objects = scene()
    engine.see(Moment(tuple(objects)))
    first = await engine.next(0)
    for count in range(1, 4):
        engine.see(Moment(tuple(objects[:-count])))
        last = await engine.next(first.number)
    assert last.number > first.number
    assert "pod/storage/replica-3" not in (await engine.next(last.number - 1)).pieces
    running.cancel()


def test_a_port_in_use() -> None:
    """A port that another program has is a RequestError that names the option."""
    with listening(0) as taken, pytest.raises(RequestError, match=r"--port: port .* is in use"):
        listening(taken.getsockname()[1])
