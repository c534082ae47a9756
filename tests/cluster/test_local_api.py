"""The embedded API server and a real one are asked the same and answer alike.

Alike means: the same code, the same reason, the same fields for the same causes, and for an object
the same content, but for what each server chooses itself.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from lab.cluster import Lab
from netclaim.kube import Client, load_cluster
from netclaim.kube.errors import InvalidError
from netclaim.kube.resource import Selection
from netclaim.kube.transport import Transport
from netclaim.kube.versions import dra_resource
from tests.pure.schema.test_pod_rules import CONTAINER, STORED, WRONG
from tests.support.local.api_cases import ANSWERS, CASES, GOOD, PODS, Case, claim
from tests.support.local.parts import answers, connected, embedded, refusals

NAMESPACES = "/api/v1/namespaces"
CLAIMS = dra_resource("ResourceClaim", "v1")


@asynccontextmanager
async def real(lab: Lab, namespace: str) -> AsyncIterator[Transport]:
    """The lab's server with a namespace, which is gone some time after."""
    async with connected(load_cluster(str(lab.state.kubeconfig))) as transport:
        body = msgspec.json.encode({"metadata": {"name": namespace}})
        await transport.call("POST", NAMESPACES, content=body, media_type="application/json")
        try:
            yield transport
        finally:
            await transport.call("DELETE", f"{NAMESPACES}/{namespace}")


@pytest.fixture
def namespace() -> str:
    """A name that no other test uses."""
    return f"t-{secrets.token_hex(3)}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_answer_alike(case: Case, lab: Lab, namespace: str) -> None:
    """A request has the same outcome on both; the answers that other tests rely on are real."""
    makes_pods = any(step.path.startswith(PODS) for step in case.steps)

    async def ask_both() -> tuple[list[Any], list[Any]]:
        async with embedded(namespace) as ours, real(lab, namespace) as theirs:
            if makes_pods:  # a real namespace takes pods only when its account is there
                account = ("wait", f"--namespace={namespace}", "serviceaccount/default")
                await asyncio.to_thread(lab.kubectl(), *account, "--for=create")
            return await answers(ours, case, namespace), await answers(theirs, case, namespace)

    found, expected = asyncio.run(ask_both())
    assert found == expected
    assert json.loads(ANSWERS.read_text())[case.name] == refusals(expected)


@pytest.mark.parametrize(("spec", "expected"), [*WRONG, *((spec, "") for spec in STORED)], ids=str)
def test_rules_for_pods_are_the_servers(spec: dict[str, Any], expected: str, lab: Lab) -> None:
    """A real server refuses what the rules refuse, at the same field, and stores what they pass."""
    pod = {"metadata": {"name": "x"}, "spec": {"containers": [CONTAINER], **spec}}

    async def refused() -> list[str]:
        async with connected(load_cluster(str(lab.state.kubeconfig))) as transport:
            try:
                await transport.call(
                    "POST",
                    f"{NAMESPACES}/default/pods",
                    query={"dryRun": "All"},
                    content=msgspec.json.encode(pod),
                    media_type="application/json",
                )
            except InvalidError as error:
                return [f"{c.field.removeprefix('spec.')}: {c.message}" for c in error.causes]
        return []

    faults = asyncio.run(refused())
    assert [fault for fault in faults if fault.startswith(expected)] if expected else not faults


async def watched(client: Client, namespace: str) -> list[tuple[str, str]]:
    """What a watch of the claims with a label tells while claims come, change and go."""
    selection = Selection(CLAIMS, namespace, labels="a=b")
    listing = await client.list(selection)
    await client.create(CLAIMS, claim(GOOD, "x", namespace=namespace))
    await client.create(CLAIMS, claim(GOOD, "y", namespace=namespace, labels={"a": "b"}))
    for name, label in (("x", "b"), ("y", "c"), ("x", "b")):
        patch = {"metadata": {"labels": {"a": label}}}
        await client.patch(CLAIMS, name, patch, namespace=namespace)
    for name in ("x", "y"):
        await client.delete(CLAIMS, name, namespace=namespace)
    told: list[Any] = []
    async with client.watch(
        selection, resource_version=listing.resource_version, timeout_s=2, idle_s=10
    ) as stream:
        async for lines in stream:
            told += [msgspec.json.decode(line) for line in lines]
    return [
        (event["type"], event["object"]["metadata"]["name"])
        for event in told
        if event["type"] != "BOOKMARK"
    ]


def test_both_tell_the_same_of_changes(lab: Lab, namespace: str) -> None:
    """A watch of a selection tells the same of objects that enter, change, leave and end."""

    async def watch_both() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        async with embedded(namespace) as ours, real(lab, namespace) as theirs:
            return await watched(Client(ours), namespace), await watched(Client(theirs), namespace)

    found, expected = asyncio.run(watch_both())
    assert found == expected
    assert [kind for kind, _ in expected] == ["ADDED", "ADDED", "DELETED", "DELETED"]
