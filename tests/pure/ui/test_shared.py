"""The page for many people: each sees what their own token may list, and nothing without one."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from netclaim.framework.process.http import Place
from netclaim.kube import Cluster, KubeConfigError, StoredSecrets, Trust
from netclaim.kube.access.config import load_server
from netclaim.ui.shared import viewers
from netclaim.ui.shared.server import namespace_of, shared_serving, token_of
from netclaim.ui.sources import NO_NETWORKS
from tests.pure.ui.test_picture import QUESTION
from tests.support.ui_api import ADMIN, VIEWER, ApiServer, api_server, token


@dataclass
class Site:
    """A page that runs, and the cluster that it looks at."""

    api: ApiServer
    url: str
    session: aiohttp.ClientSession

    @asynccontextmanager
    async def ask(self, path: str, given: str = "", **more: Any) -> AsyncIterator[Any]:
        """Ask with a token."""
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        async with self.session.get(self.url + path, headers=headers, **more) as answer:
            yield answer

    async def first(self, given: str, query: str = "") -> Mapping[str, Any]:
        """Return the pieces that a stream begins with."""
        async with self.ask(f"stream{query}", given) as stream:
            assert stream.status == 200
            return await pieces(stream)


async def pieces(stream: aiohttp.ClientResponse) -> Mapping[str, Any]:
    """Read the first event of a stream."""
    said = (await stream.content.readuntil(b"\n\n")).decode()
    found: dict[str, Any] = json.loads(said.partition("data: ")[2])["set"]
    return found


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """Lend a page before a cluster with an admin and a tenant."""
    async with api_server() as (api, address):
        cluster = Cluster(address, StoredSecrets(token=b"never-to-be-sent"), Trust())
        async with (
            shared_serving(cluster, QUESTION, Place("127.0.0.1:0")) as (where, at),
            aiohttp.ClientSession() as session,
        ):
            yield Site(api, f"http://{where}:{at}/", session)


async def test_the_page_itself_is_for_everybody(site: Site) -> None:
    """The page, its files and the probe need no token, ask the cluster nothing, and say nothing."""
    for path in ("", "page/main.js", "page/session.js", "healthz"):
        async with site.ask(path) as answer:
            assert answer.status == 200
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    async with site.ask("") as answer:
        assert 'data-access="token"' in await answer.text()
    assert site.api.asked == []


@pytest.mark.parametrize("path", ["stream", "object?key=node/rack1-a", "why?key=pod/media/x"])
async def test_nothing_without_a_token(site: Site, path: str) -> None:
    """Without a token the cluster is not asked; one that it does not know gets nothing either."""
    async with site.ask(path) as answer:
        assert answer.status == 401
    assert site.api.asked == []
    async with site.ask(path, "wrong") as answer:
        assert (answer.status, "may have expired" in await answer.text()) == (401, True)
    assert {path for _, path in site.api.asked} == {"/version"}


async def test_each_token_sees_its_own(site: Site) -> None:
    """A tenant sees what is in its namespace and is told that there may be more; an admin, all."""
    everything = await site.first(ADMIN)
    own = await site.first(VIEWER)
    spaces = {key.split("/")[1] for key in own if key.startswith(("pod/", "claim/"))}
    assert spaces == {"media"}
    assert not [key for key in own if key.startswith(("node/", "link/"))]
    assert "storage" in {key.split("/")[1] for key in everything if key.startswith("pod/")}
    assert own["head"]["notes"][0] == viewers.NOT_ALL
    assert "notes" not in everything["head"]
    assert "storage" not in json.dumps(own)


async def test_why_a_pod_waits_is_not_guessed(site: Site) -> None:
    """Who may not list devices and classes is told that, and not that there are none."""
    for given, outcome in ((VIEWER, "unknown"), (ADMIN, "cannot be allocated")):
        async with site.ask("stream", given) as watched:
            await pieces(watched)
            async with site.ask("why?key=pod/media/encoder-wide", given) as answer:
                said = await answer.json()
        assert said["outcome"] == outcome
        assert "does not exist" not in said["summary"]
        wanted = "deviceclasses, nodes, resourceslices" if given == VIEWER else "cannot be"
        assert wanted in said["summary"]


async def test_every_request_has_the_viewers_token(site: Site) -> None:
    """The token of the process itself is never sent."""
    await site.first(VIEWER)
    await site.first(ADMIN)
    assert {header for header, _ in site.api.asked} == {f"Bearer {ADMIN}", f"Bearer {VIEWER}"}


async def test_answers_are_of_the_token_that_asks(site: Site) -> None:
    """What another token has read is not there for this one."""
    async with site.ask("stream", ADMIN) as watched:
        await pieces(watched)
        async with site.ask("object?key=pod/storage/replica-3", ADMIN) as answer:
            assert answer.status == 200
        async with site.ask("stream", VIEWER) as own:
            await pieces(own)
            async with site.ask("object?key=pod/storage/replica-3", VIEWER) as answer:
                assert answer.status == 404
            async with site.ask("object?key=pod/media/encoder-0", VIEWER) as answer:
                assert answer.status == 200


async def test_a_token_that_is_refused_later(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page ends when the cluster refuses its token, and no other page gets what it had read."""
    monkeypatch.setattr(viewers, "ASK_AGAIN_S", 0.01)
    async with site.ask("stream", VIEWER) as stream:
        await pieces(stream)
        del site.api.known[VIEWER]
        assert await stream.content.read() == b""  # it ends
    async with site.ask("object?key=pod/media/encoder-0", VIEWER) as answer:
        assert answer.status == 401
    assert await site.first(ADMIN)


async def test_one_viewer_too_many(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """More tokens than there is room for get an error; those who look already go on."""
    monkeypatch.setattr(viewers, "VIEWERS_MAX", 1)
    async with site.ask("stream", ADMIN) as stream:
        await pieces(stream)
        async with site.ask("stream", VIEWER) as refused:
            assert refused.status == 503
        assert await site.first(ADMIN)


async def test_views_of_one_token(site: Site) -> None:
    """A token has so many views, and no more; one that nobody looks at any more makes room."""
    async with AsyncExitStack() as open_pages:
        for number in range(viewers.VIEWS_EACH):
            stream = site.ask(f"stream?namespace=n{number}", VIEWER)
            assert (await open_pages.enter_async_context(stream)).status == 200
        async with site.ask("stream?namespace=another", VIEWER) as refused:
            assert (refused.status, "views already" in await refused.text()) == (429, True)
        assert await site.first(ADMIN)
    while True:  # the server notices that the pages are closed
        async with site.ask("stream?namespace=another", VIEWER) as answer:
            if answer.status == 200:
                break


async def test_guessed_tokens(site: Site) -> None:
    """An address that guesses is refused without a question; a view that is open goes on."""
    async with site.ask("stream", VIEWER) as stream:
        await pieces(stream)
        for number in range(1_000):
            asked = len(site.api.asked)
            async with site.ask("stream", f"guess{number}") as answer:
                if answer.status == 429:
                    assert "too many tokens" in await answer.text()
                    break
                assert answer.status == 401
        assert f"Bearer guess{number}" not in {header for header, _ in site.api.asked[asked:]}
        async with site.ask("object?key=pod/media/encoder-0", VIEWER) as again:
            assert again.status == 200


@pytest.mark.parametrize(("refused", "notes"), [(True, 1), (False, 0)])
async def test_refused_networks(site: Site, refused: bool, notes: int) -> None:
    """Somebody who may list all but networks is told so, and nothing of what others have."""
    if refused:
        site.api.refused.add("podnetworks")
    head = (await site.first(ADMIN))["head"]
    assert [NO_NETWORKS in note for note in head.get("notes", ())] == [True] * notes


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_it_only_reads(site: Site, method: str) -> None:
    """Nothing but reading is answered."""
    async with site.session.request(method, f"{site.url}stream") as answer:
        assert answer.status == 405


@pytest.mark.parametrize("namespace", ["..", "a/b", "A", "x" * 64, "%2e%2e"])
async def test_names_of_namespaces(site: Site, namespace: str) -> None:
    """What is no name of a namespace never becomes part of a path."""
    async with site.ask(f"stream?namespace={namespace}", VIEWER) as answer:
        assert answer.status == 400
    assert site.api.asked == []


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("Bearer abc.d-e_f", "abc.d-e_f"),
        ("bearer  abc", "abc"),
        ("Basic abc", ""),
        ("Bearer", ""),
        ("Bearer a b", ""),
        ("Bearer a\u0000b", ""),
        (f"Bearer {'x' * 20_000}", ""),
    ],
)
def test_tokens(header: str, found: str) -> None:
    """A token is what a header can carry, and nothing else."""
    assert token_of(header) == found


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (VIEWER, "media"),
        (ADMIN, ""),
        (token("system:serviceaccount:../x:y"), ""),
        ("abc", ""),
        ("a.b.c", ""),
        ("a.W10.c", ""),
    ],
)
def test_namespace_of_an_account(given: str, found: str) -> None:
    """The namespace of a service account's token is listed if not all may be."""
    assert namespace_of(given) == found


async def test_where_the_api_server_is(tmp_path: Any) -> None:
    """A pod without a token finds the API server; nothing else of it is used."""
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(KubeConfigError, match=r"ca\.crt"):
        load_server(environ=environ, account=tmp_path)
    (tmp_path / "ca.crt").write_bytes(b"PEM")
    found = load_server(environ=environ, account=tmp_path)
    assert (found.server, found.trust.authority) == ("https://[fd00::1]:443", b"PEM")
    assert not (await found.credentials.identity()).token
