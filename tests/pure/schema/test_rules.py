"""The embedded API server refuses what a real one refuses, for the same reasons.

The answers were recorded from Kubernetes 1.36; the cluster rung holds them current.
"""

import json

import pytest

from tests.support.local.api_cases import ANSWERS, CASES, Case
from tests.support.local.parts import answers, embedded, refusals

RECORDED = json.loads(ANSWERS.read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_refuses_as_the_real_one_does(case: Case) -> None:
    """Each request gets the recorded code, reason and causes, or is carried out."""
    async with embedded("t-1") as transport:
        found = await answers(transport, case, "t-1")
    assert refusals(found) == RECORDED[case.name]


def test_every_case_was_recorded() -> None:
    """Nothing is compared with an answer that nobody gave."""
    assert RECORDED.keys() == {case.name for case in CASES}
