"""A driver that lacks a right says so, by what the API server answers."""

from pathlib import Path

import pytest
import yaml

from netclaim.framework.process.rights import REMEMBERED_S, RETRIED_S, Rights
from netclaim.framework.testing import FakeClock
from netclaim.kube import Answered


def answered(verb: str, resource: str, code: str) -> Answered:
    """An answer that took no time."""
    return Answered(verb, resource, code, 0.0)


def test_a_right_that_is_missing_and_granted() -> None:
    """It is missing from the first refusal until the API server allows it."""
    rights = Rights(FakeClock())
    rights.note(answered("get", "resourceclaims", "403"))
    rights.note(answered("get", "resourceclaims", "none"))
    rights.note(answered("get", "resourceclaims", "500"))
    assert rights.text().startswith("the API server forbids the driver to get resourceclaims")
    rights.note(answered("get", "resourceclaims", "404"))  # it was allowed to ask
    assert not rights.text()


@pytest.mark.parametrize(
    ("verb", "resource"), [("create", "events"), ("get", "pods"), ("get", "endpointslices")]
)
def test_rights_that_claims_do_without(verb: str, resource: str) -> None:
    """Claims are prepared and reported without them, so that the driver stays ready."""
    rights = Rights(FakeClock())
    rights.note(answered(verb, resource, "403"))
    assert not rights.text()


def rights_in_the_manifest() -> set[tuple[str, str]]:
    """What the role of the driver grants, by verb and resource."""
    path = Path(__file__).parents[4] / "deploy" / "rbac.yaml"
    documents = yaml.safe_load_all(path.read_text())
    role = next(
        each
        for each in documents
        if each["kind"] == "ClusterRole" and each["metadata"]["name"] == "netclaim-driver"
    )
    return {
        (verb, resource)
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize(
    ("verb", "resource"),
    sorted(
        (verb, resource)
        for verb, resource in rights_in_the_manifest()
        if resource in {"resourceslices", "resourceclaims/status", "resourceclaims", "namespaces"}
    ),
)
def test_every_right_to_claims_and_slices_is_missed(verb: str, resource: str) -> None:
    """Whichever of them the role does not have, the driver says which until it is granted."""
    rights = Rights(FakeClock())
    rights.note(answered(verb, resource, "403"))
    assert f"forbids the driver to {verb} {resource};" in rights.text()
    rights.note(answered(verb, resource, "200"))
    assert not rights.text()


async def test_a_refusal_that_is_not_repeated() -> None:
    """It is forgotten: nobody needs the right, or it was granted meanwhile."""
    clock = FakeClock()
    rights = Rights(clock)
    rights.note(answered("get", "namespaces", "403"))
    await clock.sleep(REMEMBERED_S + 1)
    assert not rights.text()


async def test_a_write_that_is_not_needed_any_more() -> None:
    """Its refusal counts until the driver would have tried it again."""
    clock = FakeClock()
    rights = Rights(clock)
    rights.note(answered("update", "resourceslices", "403"))
    await clock.sleep(RETRIED_S - 1)
    assert rights.text()
    await clock.sleep(2)
    assert not rights.text()
