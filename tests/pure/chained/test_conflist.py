"""netclaim-attach in network lists: put in, taken out, and nothing else touched."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.chained import ConflistError, PluginEntry, with_plugin, without_plugin

RED = PluginEntry("red.example", "/run/netclaim/red/attach.sock", "/run/netclaim/red/plans", "/k")
BLUE = PluginEntry("blue.example", "/run/netclaim/blue/a.sock", "/run/netclaim/blue/plans", "/k")
FLANNEL = """{
  "name": "cbr0",
  "cniVersion": "0.3.1",
  "plugins": [
    {
      "type": "flannel",
      "delegate": {
        "hairpinMode": true,
        "mtu": 1.50e3
      }
    },
    {
      "type": "portmap",
      "capabilities": {"portMappings": true}
    }
  ]
}
"""
FLANNEL_WITH_RED = FLANNEL.replace(
    """true}
    }
""",
    """true}
    },
    {
      "type": "netclaim-attach",
      "driver": "red.example",
      "socket": "/run/netclaim/red/attach.sock",
      "plans": "/run/netclaim/red/plans",
      "kubeletState": "/k"
    }
""",
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
PLUGINS = st.dictionaries(st.text(max_size=5), VALUES, max_size=4).flatmap(
    lambda rest: st.sampled_from(["bridge", "portmap", "x"]).map(
        lambda kind: {**rest, "type": kind}
    )
)


STYLES: list[dict[str, Any]] = [
    {}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}
]  # fmt: skip


@st.composite
def conflists(draw: st.DrawFn) -> str:
    """Lists in all manners of writing."""
    document: dict[str, Any] = draw(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
    document |= {"name": "net", "plugins": draw(st.lists(PLUGINS, min_size=1, max_size=3))}
    keys = draw(st.permutations(list(document)))
    style = draw(st.sampled_from(STYLES))
    ordered = {key: document[key] for key in keys}
    text = json.dumps(ordered, ensure_ascii=draw(st.booleans()), **style)
    return draw(st.sampled_from(["", "\n"])) + text + draw(st.sampled_from(["", "\n", "\r\n"]))


@given(conflists())
def test_in_and_out_again(text: str) -> None:
    """Taking out what was put in gives the same bytes; meanwhile only our entry is added."""
    installed = with_plugin(text, RED)
    before, after = json.loads(text), json.loads(installed)
    assert after == {**before, "plugins": [*before["plugins"], RED.to_json()]}
    assert list(after) == list(before)
    assert with_plugin(installed, RED) == installed
    assert without_plugin(installed, RED.driver) == text
    assert without_plugin(text, RED.driver) == text


@given(conflists())
def test_drivers_side_by_side(text: str) -> None:
    """Two drivers' entries come and go without regard to each other."""
    both = with_plugin(with_plugin(text, RED), BLUE)
    assert json.loads(both)["plugins"][-2:] == [RED.to_json(), BLUE.to_json()]
    assert with_plugin(both, RED) == both
    assert json.loads(without_plugin(both, RED.driver)) == json.loads(with_plugin(text, BLUE))
    assert without_plugin(without_plugin(both, RED.driver), BLUE.driver) == text


def test_it_is_written_as_its_neighbours() -> None:
    """In an indented file our entry is indented likewise, and a number's spelling stays."""
    assert with_plugin(FLANNEL, RED) == FLANNEL_WITH_RED


def test_a_stale_entry_is_replaced_where_it_is() -> None:
    """An entry of an earlier installation is brought up to date; what follows it still follows."""
    stale = with_plugin(with_plugin(FLANNEL, RED), BLUE).replace("red/attach.sock", "old.sock")
    assert with_plugin(stale, RED) == with_plugin(with_plugin(FLANNEL, RED), BLUE)


def test_entries_too_many() -> None:
    """Of several entries of one driver one is left."""
    document = json.loads(FLANNEL)
    document["plugins"] = [RED.to_json(), *document["plugins"], RED.to_json(), RED.to_json()]
    plugins = json.loads(with_plugin(json.dumps(document), RED))["plugins"]
    assert [plugin["type"] for plugin in plugins] == ["netclaim-attach", "flannel", "portmap"]
    assert json.loads(without_plugin(json.dumps(document), RED.driver)) == json.loads(FLANNEL)


def test_the_last_of_two_lists_counts() -> None:
    """Of two members `plugins` the runtime reads the last, and so do we."""
    text = '{"name": "n", "plugins": [{"type": "a"}], "plugins": [{"type": "b"}]}'
    edited = with_plugin(text, RED)
    assert edited.startswith(
        '{"name": "n", "plugins": [{"type": "a"}], "plugins": [{"type": "b"},{'
    )
    assert without_plugin(edited, RED.driver) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not JSON"),
        (FLANNEL[:-10], "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"name": "n", "plugins": [{"type": "a", "x": NaN}]}', "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"plugins": [{"type": "a"}]}', "has no name"),
        ('{"name": "n", "type": "bridge"}', 'has no list "plugins"'),
        ('{"name": "n", "plugins": []}', "has no plugins"),
        ('{"name": "n", "plugins": [{"type": "a"}, {"kind": "b"}]}', r"plugins\[1\] has no type"),
        ('{"name": "n", "plugins": ["bridge"]}', r"plugins\[0\] has no type"),
    ],
)
def test_what_cannot_be_edited(text: str, reason: str) -> None:
    """What no runtime could load is refused with the reason, rather than made worse."""
    with pytest.raises(ConflistError, match=reason):
        with_plugin(text, RED)
    with pytest.raises(ConflistError, match=reason):
        without_plugin(text, RED.driver)


def test_an_empty_list_is_never_left() -> None:
    """A list with nothing but our entry is left to a person."""
    alone = json.dumps({"name": "n", "plugins": [RED.to_json()]})
    with pytest.raises(ConflistError, match="its only plugin"):
        without_plugin(alone, RED.driver)
