"""A driver that lacks a right says so, by what the API server answers."""

import pytest

from netclaim.framework.process.rights import REMEMBERED_S, Rights
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


@pytest.mark.parametrize("resource", ["events", "pods", "resourceclaims/status"])
def test_rights_that_claims_do_without(resource: str) -> None:
    """Claims are prepared without them, so that the driver stays ready."""
    rights = Rights(FakeClock())
    rights.note(answered("get", resource, "403"))
    assert not rights.text()


async def test_a_refusal_that_is_not_repeated() -> None:
    """It is forgotten: nobody needs the right, or it was granted meanwhile."""
    clock = FakeClock()
    rights = Rights(clock)
    rights.note(answered("get", "namespaces", "403"))
    await clock.sleep(REMEMBERED_S + 1)
    assert not rights.text()
