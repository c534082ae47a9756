"""What `netclaim status` reads from a cluster: once, and again at every change."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from netclaim.kube import Cluster, StoredSecrets, UnreachableError
from netclaim.local.api import Verbs, serve_api
from netclaim.manifests.versions.conversion import from_v1
from netclaim.schema.kinds import CLAIM, NODE, POD, SLICE
from netclaim.status.scope import Scope, View
from netclaim.status.showing.displays import display_for
from netclaim.status.watching import Question, ask, watch
from netclaim.survey.cluster import RULE_VERSIONS
from tests.support.kube.stub import Reply, StubServer, serve_stub, status
from tests.support.local.parts import new_verbs
from tests.support.status_objects import DRIVER, claim, link, links, pod, ready_node

DRA = "/apis/resource.k8s.io/v1beta1"
LISTS = {
    "Node": "/api/v1/nodes",
    "ResourceSlice": f"{DRA}/resourceslices",
    "DeviceClass": f"{DRA}/deviceclasses",
    "ResourceClaim": f"{DRA}/resourceclaims",
    "Pod": "/api/v1/pods",
}
FORBIDDEN = Reply(status(403, "Forbidden", "not for you"), 403)
LIMIT_S = 120  # a change is seen in a moment, on a machine that has time for it


def question(view: View = "overview", *names: str, namespace: str = "") -> Question:
    """What is asked."""
    return Question(Scope(view, names, namespace), frozenset({DRIVER}))


def script(server: StubServer, *objects: dict[str, Any], without: tuple[str, ...] = ()) -> None:
    """Serve objects as a cluster of an older version lists them: without their kinds."""
    server.on("GET", "/apis/resource.k8s.io", Reply({"versions": [{"version": "v1beta1"}]}))
    for version in RULE_VERSIONS:  # of a time before there were any
        rules = f"/apis/resource.k8s.io/{version}/devicetaintrules"
        server.on("GET", rules, Reply(status(404, "NotFound"), 404))
    for plural in ("podnetworks", "addresspools", "addressleases"):  # where nobody defined them
        path = f"/apis/cni.networking.x-k8s.io/v1alpha1/{plural}"
        server.on("GET", path, Reply(status(404, "NotFound"), 404))
    for kind, path in LISTS.items():
        if kind in without:
            server.on("GET", path, FORBIDDEN)
            continue
        items = []
        for one in objects:
            if one["kind"] == kind:
                old = from_v1(one, kind, "v1beta1") if kind not in ("Node", "Pod") else one
                items.append({key: old[key] for key in old if key not in ("apiVersion", "kind")})
        server.on("GET", path, Reply({"metadata": {"resourceVersion": "1"}, "items": items}))


OBJECTS = (
    ready_node("one"),
    links("one", link("eth0")),
    claim("a", "eth0", pods=("p",), ready=True, ips=("10.0.0.2/24",)),
    pod("p", "a", on="one"),
)


async def test_a_cluster_of_an_older_version() -> None:
    """Every kind is listed once, in pages, and read as v1."""
    async with serve_stub() as server:
        script(server, *OBJECTS)
        found = await ask(Cluster(server.url, StoredSecrets()), question())
        asked = [seen for seen in server.seen if seen.path in LISTS.values()]
    assert sorted(seen.path for seen in asked) == sorted(LISTS.values())
    assert all(seen.method == "GET" and int(seen.query["limit"]) for seen in asked)
    assert [one.state for one in found.devices] == ["used"]
    assert [one.state for one in found.pods] == ["Ready"]
    assert found.problems == ()


async def test_only_what_a_view_needs_is_listed() -> None:
    """Links need no nodes, and the drivers' pods; of a namespace, only its own pods are listed."""
    async with serve_stub() as server:
        script(server, *OBJECTS)
        await ask(Cluster(server.url, StoredSecrets()), question("links"))
        labels = {seen.path: seen.query.get("labelSelector", "") for seen in server.seen}
    assert LISTS["Node"] not in labels
    assert labels[LISTS["Pod"]] == "app.kubernetes.io/name=netclaim"
    async with serve_stub() as server:
        script(server, *OBJECTS)
        server.on("GET", "/api/v1/namespaces/default/pods", Reply({"items": []}))
        await ask(Cluster(server.url, StoredSecrets()), question("pods", namespace="default"))
        paths = {seen.path for seen in server.seen}
    assert "/api/v1/namespaces/default/pods" in paths
    assert LISTS["Pod"] not in paths


async def test_what_may_not_be_listed_is_left_out() -> None:
    """A tenant sees the claims and pods of the own namespace, and is told what is missing."""
    async with serve_stub() as server:
        script(server, *OBJECTS, without=("Node", "ResourceClaim", "Pod"))
        mine = {key: OBJECTS[2][key] for key in ("metadata", "spec", "status")}
        server.on("GET", f"{DRA}/namespaces/default/resourceclaims", Reply({"items": [mine]}))
        server.on("GET", "/api/v1/namespaces/default/pods", FORBIDDEN)
        found = await ask(Cluster(server.url, StoredSecrets()), question())
    assert [one.name for one in found.claims] == ["a"]
    assert found.pods == ()
    assert found.notes == (
        "nodes cannot be listed: not for you",
        "resourceclaims of other namespaces than default cannot be listed",
        "pods cannot be listed: not for you",
    )


async def test_a_server_that_is_not_there() -> None:
    """At first, a server that does not answer is an error, also for a watch."""
    cluster = Cluster("http://127.0.0.1:1", StoredSecrets())
    with pytest.raises(UnreachableError):
        await ask(cluster, question())
    stream = io.StringIO()
    with pytest.raises(UnreachableError):
        await watch(cluster, question(), display_for(stream, Scope(), "text"))
    assert stream.getvalue() == ""


def filled() -> Verbs:
    """An API server with a node and its link."""
    verbs = new_verbs()
    verbs.create(NODE, ready_node("one"), manager="test")
    verbs.create(SLICE, links("one", link("eth0")), manager="test")
    return verbs


class Told(io.StringIO):
    """A stream that says when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self._written = asyncio.Event()

    def write(self, text: str) -> int:
        """Write, and say so."""
        self._written.set()
        return super().write(text)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until what was written is what is waited for."""
        async with asyncio.timeout(LIMIT_S):
            while not holds():
                self._written.clear()
                await self._written.wait()

    def last(self) -> dict[str, Any]:
        """The last line, as JSON."""
        lines = self.getvalue().splitlines()
        return dict(json.loads(lines[-1])) if lines else {}


async def test_a_watch_follows_and_survives_the_server() -> None:
    """Changes are shown as they come, also those after the server was away; Ctrl-C ends it."""
    verbs, stream = filled(), Told()
    asked = question("pods")

    async with AsyncExitStack() as first:
        url = await first.enter_async_context(serve_api(verbs, "127.0.0.1"))
        display = display_for(stream, asked.scope, "json")
        task = asyncio.create_task(watch(Cluster(url, StoredSecrets()), asked, display))
        await stream.until(lambda: bool(stream.last()))
        assert stream.last()["pods"] == []
        verbs.create(CLAIM, claim("a"), manager="test")
        verbs.create(POD, pod("p", "a"), manager="test")
        await stream.until(lambda: len(stream.last()["pods"]) == 1)
        assert stream.last()["pods"][0]["claims"][0]["state"] == "Pending"
    await stream.until(lambda: bool(stream.last()["notes"]))
    assert stream.last()["notes"][0].startswith(
        "the API server does not answer, so this may be old: "
    )
    port = int(url.rpartition(":")[2])
    async with serve_api(verbs, "127.0.0.1", port):
        verbs.create(POD, pod("q", "a"), manager="test")
        await stream.until(lambda: len(stream.last()["pods"]) == 2 and not stream.last()["notes"])
        os.kill(os.getpid(), signal.SIGINT)
        assert await task == 130


async def test_a_watched_name_may_go() -> None:
    """What is watched by name has to be there at first, and may then go."""
    verbs, stream = filled(), Told()
    verbs.create(CLAIM, claim("a"), manager="test")
    asked = question("claims", "a", namespace="default")
    async with serve_api(verbs, "127.0.0.1") as url:
        display = display_for(stream, asked.scope, "text")
        task = asyncio.create_task(watch(Cluster(url, StoredSecrets()), asked, display))
        await stream.until(lambda: "Pending" in stream.getvalue())
        verbs.delete(CLAIM, "a", namespace="default")
        await stream.until(lambda: "gone: claim default/a" in stream.getvalue())
        os.kill(os.getpid(), signal.SIGTERM)
        assert await task == 130


async def test_a_reader_that_leaves() -> None:
    """A watch whose reader has seen enough ends quietly, with the next thing that it would say."""
    verbs = filled()
    async with serve_api(verbs, "127.0.0.1") as url:
        config = {
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "netclaim", "status", "pods", "-w", "--kubeconfig=/dev/stdin",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(json.dumps(config).encode())
        process.stdin.close()
        assert await process.stdout.readline() == b"no pods in namespace default\n"
        process.stdout._transport.close()  # type: ignore[attr-defined]  # as `head -n 1` does
        verbs.create(POD, pod("p", "a"), manager="test")
        assert await process.stderr.read() == b""
        assert await process.wait() == 141
