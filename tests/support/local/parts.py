"""An embedded API server for tests, and ways to ask it."""

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from netclaim.kube import ApiError, Client, Cluster, StoredSecrets, connect
from netclaim.kube.transport import Transport
from netclaim.local.api import Store, Verbs, serve_api
from netclaim.schema.kinds import NAMESPACE
from tests.support.local.api_cases import Case, Step

# What a server chooses: names it makes up, its clock, how it writes down who owns what.
CHOSEN_META = (
    "uid", "resourceVersion", "creationTimestamp", "managedFields", "name", "continue",
    "deletionTimestamp", "remainingItemCount",
)  # fmt: skip
CHOSEN = ("timeAdded",)
# Kinds with dozens of defaults that mean nothing where nothing is run.
HEAD_ONLY = ("Pod", "Deployment")


def new_verbs(*namespaces: str, store: Store | None = None, server: type[Verbs] = Verbs) -> Verbs:
    """An API with namespaces, `default` among them."""
    verbs = server(store or Store())
    for name in ("default", *namespaces):
        verbs.create(NAMESPACE, {"metadata": {"name": name}}, manager="test")
    return verbs


@asynccontextmanager
async def serving(verbs: Verbs) -> AsyncIterator[Client]:
    """A client of an API that is served on loopback."""
    async with (
        serve_api(verbs, "127.0.0.1") as url,
        connect(Cluster(server=url, credentials=StoredSecrets())) as client,
    ):
        yield client


@asynccontextmanager
async def embedded(namespace: str) -> AsyncIterator[Transport]:
    """An embedded server with a namespace, for requests of any shape."""
    async with (
        serve_api(new_verbs(namespace), "127.0.0.1") as url,
        connected(Cluster(server=url, credentials=StoredSecrets())) as transport,
    ):
        yield transport


@asynccontextmanager
async def connected(cluster: Cluster) -> AsyncIterator[Transport]:
    """A connection to a server."""
    async with aiohttp.ClientSession() as session:
        yield Transport(cluster, session)


async def answers(transport: Transport, case: Case, namespace: str) -> list[Any]:
    """What a server says to each step of a case, without what it chooses itself."""
    word = secrets.token_hex(3)
    found = [await _answer(transport, step, namespace, word) for step in case.steps]
    return [_comparable(one, namespace, word) for one in found]


def refusals(found: list[Any]) -> list[Any]:
    """Of a server's answers, the refusals; None for what it did."""
    return [one if "code" in one else None for one in found]


async def _answer(transport: Transport, step: Step, namespace: str, word: str) -> Any:
    def filled(text: str) -> str:
        return text.replace("NS", namespace).replace("ID", word)

    path, _, text = filled(step.path).partition("?")
    query = dict(part.split("=", 1) for part in text.split("&")) if text else {}
    content = b""
    if isinstance(step.body, bytes):
        content = step.body
    elif step.body is not None:
        content = filled(msgspec.json.encode(step.body).decode()).encode()
    try:
        reply = await transport.call(
            step.method, path, query=query, content=content, media_type=step.media_type
        )
    except ApiError as error:
        # Some causes are told once for each check that finds them.
        causes = sorted({(cause.field, cause.reason) for cause in error.causes})
        return {"code": error.code, "reason": error.reason, "causes": [list(c) for c in causes]}
    return msgspec.json.decode(reply)


def _comparable(found: Any, namespace: str, word: str) -> Any:
    """An answer without what a server chooses, and without empty fields."""
    if isinstance(found, dict) and found.get("kind") in HEAD_ONLY and "spec" in found:
        return {"kind": found["kind"], "apiVersion": found["apiVersion"]}
    if isinstance(found, dict):
        return dict(_compared_fields(found, namespace, word))
    if isinstance(found, list):
        return [_comparable(one, namespace, word) for one in found]
    if isinstance(found, str):
        return found.replace(namespace, "NS").replace(word, "ID")
    return found


def _compared_fields(found: dict[str, Any], namespace: str, word: str) -> Iterator[tuple[str, Any]]:
    for key, value in found.items():
        kept = value
        if key == "metadata" and isinstance(value, dict):
            kept = {name: one for name, one in value.items() if name not in CHOSEN_META}
        compared = _comparable(kept, namespace, word)
        if key not in CHOSEN and compared not in (None, [], {}):
            yield key, compared
