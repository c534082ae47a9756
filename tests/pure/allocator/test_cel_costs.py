"""Selectors cost what Kubernetes says that they cost, and an evaluation ends at its limit.

The table was made by asking the scheduler's own CEL package (k8s.io/dynamic-resource-allocation
0.37.1) about our expressions: its estimate, and what it counted for each device.
"""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from netclaim.allocator.cel import EvaluationError, compile_selector
from netclaim.allocator.cel.check.checker import check
from netclaim.allocator.cel.cost import COST_MAX
from netclaim.allocator.cel.cost.estimate import estimate
from netclaim.allocator.cel.run import metered
from netclaim.allocator.cel.run.operators import SPENT
from netclaim.allocator.cel.syntax.parser import parse
from netclaim.allocator.cel.trace import Tracer
from netclaim.schema.rules.claims import check_expression
from tests.pure.allocator.test_cel import DEVICES

ROWS = Path(__file__).with_name("allocator_cel_costs.jsonl").read_text("utf-8").splitlines()
CASES: list[dict[str, Any]] = [json.loads(row) for row in ROWS]
THIRTY = [*range(30)]


def nested(depth: int) -> str:
    """Return so many loops over thirty numbers, inside one another."""
    expression = "true"
    for level in range(depth):
        expression = f"{THIRTY}.all(x{level}, {expression})"
    return expression


def test_estimates() -> None:
    """The estimate for every expression is the API server's."""
    assert len(CASES) > 700
    found = {case["expression"]: _estimate(case["expression"]) for case in CASES}
    assert found == {case["expression"]: case["estimate"] for case in CASES}


def test_an_estimate_is_enough() -> None:
    """No device costs more than the estimate, so that what stays below the limit is not counted.

    The scheduler itself counts one unit more for a field of something that has none.
    """
    assert [case for case in CASES if max(case["spent"]) > case["estimate"] + 1] == []


def test_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted is close to what the scheduler counts: for most expressions, the same."""
    spent = _spent(monkeypatch)
    cheap = [case for case in CASES if max(case["spent"]) <= COST_MAX]
    close = [case for case in cheap if _close(spent(case["expression"]), case["spent"])]
    assert len(close) > 0.9 * len(cheap)


@pytest.mark.parametrize("depth", [4, 5])
def test_an_evaluation_ends_at_the_limit(depth: int) -> None:
    """Loops in loops have no value, in the scheduler's words, and no && or || hides that."""
    selector = compile_selector(f"{nested(depth)} || true")
    with pytest.raises(EvaluationError, match="operation cancelled: actual cost limit exceeded"):
        selector.matches(DEVICES["full"])
    (clause,) = Tracer(selector).trace(DEVICES["full"])
    assert clause.error == "operation cancelled: actual cost limit exceeded"


def test_a_selector_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some devices that cost too much, a selector has no value for any other at once."""
    monkeypatch.setattr(metered, "COST_MAX", 1000)
    selector = compile_selector(nested(5))
    evaluated = _counting(monkeypatch)
    for _ in range(metered.EXCEEDED_MAX):
        with pytest.raises(EvaluationError):
            selector.matches(DEVICES["full"])
    before = len(evaluated)
    for _ in range(1000):
        with pytest.raises(EvaluationError, match="actual cost limit exceeded"):
            selector.matches(DEVICES["plain"])
    assert before > 0
    assert len(evaluated) == before


@pytest.mark.parametrize(
    "expression",
    [
        'lists.range(device.attributes["dra.example.com"].mtu * 1000000).size() > 0',
        '("a".replace("", "{0}").replace("", "{0}").replace("", "{0}") + device.driver).size() > 1',
    ],
)
def test_what_is_too_large_is_never_made(expression: str) -> None:
    """A list or a text that would fill the memory is refused before it exists."""
    selector = compile_selector(expression.replace("{0}", "b" * 1000) + f" && {nested(5)}")
    with pytest.raises(EvaluationError, match="actual cost limit exceeded"):
        selector.matches(DEVICES["full"])


def test_the_api_server_refuses_it() -> None:
    """An expression that could cost too much is refused, whatever its devices cost in fact."""
    (fault,) = check_expression(nested(4), ("spec", "expression"))
    assert fault.message == "Forbidden: too complex, exceeds cost limit"
    assert [*check_expression(nested(3), ("spec", "expression"))] == []


def _estimate(expression: str) -> int:
    return estimate(check(parse(expression), expression))


def _spent(monkeypatch: pytest.MonkeyPatch) -> Any:
    counted: list[int] = []
    spend = metered._spend

    def counting(frame: list[Any], cost: int) -> None:
        counted[:] = [frame[SPENT] + cost]
        spend(frame, cost)

    monkeypatch.setattr(metered, "_spend", counting)

    def spent(expression: str) -> list[int]:
        checked = check(parse(expression), expression)
        program, found = metered.compile_metered(checked, checked.root), []
        for device in DEVICES.values():
            counted[:] = [0]
            with contextlib.suppress(EvaluationError):
                program(device)
            found += counted
        return found

    return spent


def _close(ours: list[int], theirs: list[int]) -> bool:
    """Whether counts differ by three or a tenth at most: errors and constants end them earlier."""
    pairs = zip(ours, theirs, strict=True)
    return all(abs(one - other) <= max(3, other / 10) for one, other in pairs)


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    spend = metered._spend

    def counting(frame: list[Any], cost: int) -> None:
        calls.append(cost)
        spend(frame, cost)

    monkeypatch.setattr(metered, "_spend", counting)
    return calls
