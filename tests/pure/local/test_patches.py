"""Patches: RFC 7386 and RFC 6902 as the API server carries them out."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.local.api.patches import json_patch, merge_patch
from netclaim.schema.refusal import RefusedError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from("xyz"), JSON, max_size=3)

# The examples of RFC 7386, appendix A, that concern objects.
MERGES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "result"), MERGES)
def test_merge_is_as_the_standard_says(target: Any, patch: Any, result: Any) -> None:
    """A merge patch gives what the standard's examples give."""
    assert merge_patch(target, patch) == result


@given(OBJECTS, OBJECTS)
def test_merge_twice_is_merge_once(target: Any, patch: Any) -> None:
    """A merge patch carried out again changes nothing, and never its arguments."""
    before = copy.deepcopy((target, patch))
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once
    assert (target, patch) == before


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([{"op": "add", "path": "/b", "value": 1}], {"a": [1, 2], "b": 1}),
        ([{"op": "add", "path": "/a/1", "value": 9}], {"a": [1, 9, 2]}),
        ([{"op": "add", "path": "/a/-", "value": 9}], {"a": [1, 2, 9]}),
        ([{"op": "remove", "path": "/a/0"}], {"a": [2]}),
        ([{"op": "replace", "path": "/a", "value": 3}], {"a": 3}),
        ([{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1, 2], "b": [1, 2]}),
        ([{"op": "move", "from": "/a/0", "path": "/b"}], {"a": [2], "b": 1}),
        ([{"op": "test", "path": "/a/0", "value": 1}], {"a": [1, 2]}),
        ([{"op": "add", "path": "/x~1y~0z", "value": 1}], {"a": [1, 2], "x/y~z": 1}),
        ([{"op": "replace", "path": "", "value": {}}], {}),
    ],
)
def test_operations_are_carried_out(operations: list[dict[str, Any]], result: Any) -> None:
    """Each operation does what the standard says, and leaves the original alone."""
    target = {"a": [1, 2]}
    assert json_patch(target, operations) == result
    assert target == {"a": [1, 2]}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/b"},
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "add", "path": "/b/c", "value": 1},
        {"op": "add", "path": "/a/5", "value": 1},
        {"op": "add", "path": "/a/x", "value": 1},
        {"op": "test", "path": "/a/0", "value": 2},
        {"op": "copy", "from": "/b", "path": "/c"},
        {"op": "add", "path": "b", "value": 1},
        {"op": "add", "value": 1},
        {"op": "do", "path": "/a"},
    ],
)
def test_impossible_operation_is_refused(operation: dict[str, Any]) -> None:
    """What cannot be done is refused as invalid."""
    with pytest.raises(RefusedError) as caught:
        json_patch({"a": [1, 2]}, [operation])
    assert caught.value.code == 422
