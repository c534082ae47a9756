"""JSON of others is read, or taken apart; no text of theirs raises anything else."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.json_text import LEVELS_MAX, elements, members, read_around, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 5000 + "]" * 5000,
        '{"a":' * 900 + "1" + "}" * 900,
        "[[]," * 500 + "1" + "]" * 500,
        r'"\ud800x"',
        "\ud800",
        b'"\xff"',
        "1e999",
        "",
        "{",
    ],
)
def test_what_cannot_be_read_is_a_value_error(text: str | bytes) -> None:
    """Depth, halves of characters, bytes that are no text: there is one error for all."""
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


def test_brackets_within_text_are_no_levels() -> None:
    """Only lists and objects count, and only those that are open at a time."""
    written = {"a": "[" * 5000 + '\\"', "b": [[]] * 5000}
    assert read_json(json.dumps(written)) == written
    assert read_json("[" * LEVELS_MAX + "]" * LEVELS_MAX)


@given(VALUES, st.sampled_from((None, 2)))
def test_parts_are_what_a_decoder_finds(value: Any, indent: int | None) -> None:
    """However it is written, an object's members and a list's elements are its own."""
    text = json.dumps({"k": value, "l": [value, value]}, indent=indent).encode()
    parts = dict(members(text))
    assert msgspec.json.decode(parts["k"]) == value
    assert [msgspec.json.decode(each) for each in elements(parts["l"])] == [value, value]
    assert read_around(text, (), str, levels=3) == msgspec.json.decode(text)


@given(st.binary(max_size=30) | st.text('{}[]",:\\ 1a', max_size=30).map(str.encode))
def test_no_text_raises_anything_else(text: bytes) -> None:
    """Taking apart what is no JSON ends, with parts or with a ValueError."""
    for take in (members, elements, lambda given: [read_around(given, ("a",), str, levels=2)]):
        try:
            list(take(text))
        except ValueError:
            continue


def test_what_is_free_is_replaced_and_nothing_else() -> None:
    """Only what cannot be read is; elsewhere it is an error, as is what follows the end."""
    text = rb'{"a": [{"free": "\ud800", "b": {"free": [1]}}], "c": 2}'
    replaced = {"a": [{"free": "?", "b": {"free": [1]}}], "c": 2}
    assert read_around(text, {"free"}, lambda _: "?", levels=3) == replaced
    for wrong in (text.replace(b"free", b"x"), text + b"x"):
        with pytest.raises(ValueError, match=r"."):
            read_around(wrong, {"free"}, lambda _: "?", levels=3)
