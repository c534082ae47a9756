"""Selectors have kube-scheduler's answers, for every expression of a kept table and no crash else.

The table was made by asking the scheduler's own CEL package (k8s.io/dynamic-resource-allocation);
its results are facts, its expressions are ours.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.allocator.cel import (
    CelError,
    CompileError,
    EvaluationError,
    UnsupportedError,
    compile_selector,
    device_view,
)
from netclaim.errors import RequestError
from netclaim.model.api.dra.slice import PublishedDevice

GOLDEN = json.loads(Path(__file__).with_name("allocator_cel_golden.json").read_text("utf-8"))
DEVICES = {
    name: device_view(device["driver"], PublishedDevice.read({"name": name, **device}))
    for name, device in GOLDEN["devices"].items()
}


def answer(expression: str) -> dict[str, Any]:
    """What our CEL makes of an expression, in the table's form."""
    try:
        selector = compile_selector(expression)
    except UnsupportedError:
        return {"unsupported": True}
    except CompileError as error:
        return {"refused": f"{error.line}:{error.column}"}
    results: list[bool | str] = []
    for device in DEVICES.values():
        try:
            results.append(selector.matches(device))
        except EvaluationError:
            results.append("error")
    return {"results": results}


def agrees(case: dict[str, Any]) -> bool:
    """Whether our answer is the table's; a refusal without a place may be anywhere."""
    ours = answer(case["expression"])
    if case.get("unsupported"):
        return "unsupported" in ours
    if case.get("refused") == "":
        return "refused" in ours
    return ours == {key: value for key, value in case.items() if key != "expression"}


def test_table_of_expressions() -> None:
    """Every expression of the table has the scheduler's answer, or is refused at the same place."""
    assert len(GOLDEN["cases"]) > 800
    assert [case for case in GOLDEN["cases"] if not agrees(case)] == []


def test_refusal_says_where() -> None:
    """A selector that does not compile is a RequestError with line, column and reason."""
    with pytest.raises(CompileError) as caught:
        compile_selector('device.driver ==\n  "a" && devic.driver == "b"')
    assert (caught.value.line, caught.value.column) == (2, 10)
    assert str(caught.value) == "2:10: undeclared reference to 'devic'"
    assert isinstance(caught.value, RequestError)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("device.driver = 'x'", "1:15: found '='; use '==' to compare"),
        ("device.driver & true", "1:15: found '&'; use '&&'"),
        ("device.driver == 'x", "1:18: unterminated string, or an unknown escape in it"),
        (
            "device.driver == 1",
            "1:15: found no matching overload for '_==_' applied to '(string, int)'",
        ),
        ("device.driver", "1:1: must evaluate to bool or the unknown type, not string"),
        ("(true", "1:6: expected ')', found the end of the expression"),
        ("duration('1h') == duration('1h')", "netclaim does not evaluate duration()"),
    ],
)
def test_reasons(expression: str, reason: str) -> None:
    """The reason names the mistake in the author's terms."""
    with pytest.raises(CompileError) as caught:
        compile_selector(expression)
    assert reason in str(caught.value)


def test_deep_nesting_is_refused() -> None:
    """An expression that is nested beyond reason is refused, not a crash."""
    with pytest.raises(CompileError, match="nested too deeply"):
        compile_selector("(" * 2000 + "true" + ")" * 2000)


def test_many_terms_are_taken() -> None:
    """A chain of hundreds of conditions is no nesting."""
    chain = " || ".join(f'device.driver == "{n}"' for n in range(300))
    assert compile_selector(chain).matches(DEVICES["full"]) is False


def test_list_attribute_fails_every_selector() -> None:
    """A device with a list attribute, an alpha feature, has no answer for any selector."""
    with pytest.raises(EvaluationError, match="unsupported attribute value"):
        device_view(
            "d", PublishedDevice.read({"name": "x", "attributes": {"tags": {"strings": ["a"]}}})
        )


def test_attributes_without_domain_are_the_drivers() -> None:
    """A name without a domain is in the driver's own, the same as with it."""
    attributes = {"a": {"int": 1}, "d.example/b": {"int": 2}, "other.example/c": {"int": 3}}
    view = device_view("d.example", PublishedDevice.read({"name": "x", "attributes": attributes}))
    assert view["attributes"] == {"d.example": {"a": 1, "b": 2}, "other.example": {"c": 3}}


TOKENS = st.sampled_from(
    [
        *("device", ".driver", ".attributes", '["dra.example.com"]', ".name", ".mtu", ".?name"),
        *("(", ")", "[", "]", "{", "}", "==", "!=", "&&", "||", "!", "-", "<", "in", "?", ":", ","),
        *(
            "1",
            "2.5",
            "3u",
            '"a"',
            "true",
            "null",
            "b'x'",
            ".all(x, x)",
            ".size()",
            "has(",
            "+",
            "%",
        ),
        *(
            "optional.of(",
            ".orValue(",
            "cel.bind(y, ",
            "quantity(",
            "semver(",
            '.matches("a+")',
            " ",
        ),
    ]
)


NINES = "9" * 5000  # more digits than Python reads
SEVEN = "0" * 5000 + "7"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"{NINES} == 1", "refused"),
        (f"{NINES}u == 1u", "refused"),
        (f'int("-{NINES}") == 1', "refused"),
        (f'uint("{NINES}") == 1u', "refused"),
        (f'int(device.driver.replace(device.driver, "{NINES}")) == 1', "error"),
        (f'int(device.driver.replace(device.driver, "-{SEVEN}")) == -7', True),
        (f'uint(device.driver.replace(device.driver, "{SEVEN}")) == 7u', True),
        (f"{SEVEN} == 7", True),
        (f'isSemver("{NINES}.0.0")', False),
        (f'isSemver("1.0.0-{NINES}")', False),
        (f'isQuantity("{NINES}")', False),
        (f'isQuantity("1e{NINES}")', False),
        (f'isQuantity("0.{NINES}")', False),
        (f'cidr("10.0.0.0/{NINES}").prefixLength() == 8', "error"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_numbers_of_any_length_have_an_answer(expression: str, expected: bool | str) -> None:
    """A number that is too large is refused as such, however many digits it has."""
    found = answer(expression)
    if expected == "refused":
        assert "refused" in found
    else:
        assert found["results"] == [expected] * len(DEVICES)


@given(st.lists(TOKENS, max_size=12).map("".join) | st.text(max_size=20))
def test_any_text_is_a_selector_or_a_mistake(text: str) -> None:
    """Whatever the text, it compiles and answers, or the error is one of ours."""
    try:
        selector = compile_selector(text)
        selector.matches(DEVICES["full"])
    except CelError:
        pass
