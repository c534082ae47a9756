"""Configurations are values: nothing can change them between the judgement and the run."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from netclaim.cni.frozen_json import decode_json, frozen, repeated, repeated_within

CONFIG = {"name": "n", "ipam": {"ranges": [[{"subnet": "10.9.0.0/24"}]]}, "mtu": 1400}


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config.update(mtu=9000),
        lambda config: config.pop("mtu"),
        lambda config: config["ipam"].setdefault("type", "static"),
        lambda config: config["ipam"]["ranges"].append([]),
        lambda config: config["ipam"]["ranges"][0].clear(),
        lambda config: config["ipam"]["ranges"][0][0].__setitem__("subnet", "10.0.0.0/8"),
        lambda config: config["ipam"]["ranges"].__iadd__([[]]),
    ],
)
def test_a_frozen_value_cannot_change(change: Callable[[Any], object]) -> None:
    """Neither itself nor anything in it, whether it was frozen or decoded from text."""
    for value in (frozen(CONFIG), decode_json(json.dumps(CONFIG))):
        with pytest.raises(TypeError, match="cannot change"):
            change(value)
        assert value == CONFIG
        assert json.loads(json.dumps(value)) == CONFIG


def test_a_copy_of_a_frozen_value_is_somebody_elses() -> None:
    """What is made from it can be changed, and does not change it."""
    value = frozen(CONFIG)
    assert {**value, "mtu": 9000}["mtu"] == 9000
    assert value["mtu"] == 1400


def test_keys_that_stand_twice_in_a_text_are_known() -> None:
    """The last value is kept, and each object knows which keys it had more than once."""
    value = decode_json('{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}')
    assert value == {"a": 3, "b": {"c": 2}}
    assert (repeated(value), repeated(value["b"])) == (("a",), ("c",))
    assert list(repeated_within(value)) == ["c", "a"]
    assert not list(repeated_within(frozen(CONFIG)))


@pytest.mark.parametrize("text", ["", "{", "NaN", '{"a": 1e400}', "\ufeff{}"])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    """Strictly: what only some readers take is none."""
    with pytest.raises(ValueError, match=r"JSON|truncated|range"):
        decode_json(text)
