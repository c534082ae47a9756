"""One reading of a configuration, however it is written."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.cni.key_case import fold
from netclaim.errors import RequestError
from netclaim.network.policy.table import TYPES
from netclaim.network.request.canonical import canonical

LONG_S, KELVIN = "\u017f", "\u212a"


def network(plugin: dict[str, Any]) -> dict[str, Any]:
    """A list of one plugin."""
    return {"cniVersion": "1.0.0", "name": "n", "plugins": [plugin]}


def read(config: object) -> Any:
    """The one form."""
    return canonical(config, path=("config",))


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ({"TYPE": "macvlan", "MASTER": "eth1"}, {"type": "macvlan", "master": "eth1"}),
        ({"type": "macvlan", f"ma{LONG_S}ter": "eth1"}, {"type": "macvlan", "master": "eth1"}),
        (
            {"Type": "macvlan", f"lin{KELVIN}InContainer": True},
            {"type": "macvlan", "linkInContainer": True},
        ),
        ({"type": "macvlan", "master": None}, {"type": "macvlan"}),
        (
            {"type": "macvlan", "IPAM": {"Type": "host-local", "DATADIR": "/etc"}},
            {"type": "macvlan", "ipam": {"type": "host-local", "dataDir": "/etc"}},
        ),
        (
            {
                "type": "macvlan",
                "ipam": {"type": "host-local", "Ranges": [[{"SUBNET": "10.0.0.0/8"}]]},
            },
            {
                "type": "macvlan",
                "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.0.0.0/8"}]]},
            },
        ),
        (
            {"type": "bridge", "vlanTrunk": [{"MINID": 1, "maxid": 2}]},
            {"type": "bridge", "vlanTrunk": [{"minID": 1, "maxID": 2}]},
        ),
        (
            {"type": "tuning", "SysCtl": {"net.ipv4.conf.Net1.arp_notify": "1"}},
            {"type": "tuning", "sysctl": {"net.ipv4.conf.Net1.arp_notify": "1"}},
        ),
        ({"type": "sdn", "MASTER": "eth1"}, {"type": "sdn", "MASTER": "eth1"}),
    ],
)
def test_known_keys_have_one_spelling(written: dict[str, Any], form: dict[str, Any]) -> None:
    """Keys that a plugin would find are spelt as the table has them; others stay as written."""
    assert read(network(written)) == network(form)
    assert read(json.dumps(network(written))) == network(form)


def test_a_single_plugin_is_read_alike() -> None:
    """A configuration that is one plugin has the keys of both."""
    assert read({"NAME": "n", "Type": "macvlan", "Mode": "bridge"}) == {
        "name": "n",
        "type": "macvlan",
        "mode": "bridge",
    }


@pytest.mark.parametrize(
    "plugin",
    [
        {"type": "macvlan", "master": "eth1", "MASTER": "eth0"},
        {"type": "macvlan", "master": "eth1", f"ma{LONG_S}ter": "eth0"},
        {"type": "macvlan", "Type": "bridge"},
        {"type": "macvlan", "ipam": {"type": "host-local"}, "IPAM": {"dataDir": "/etc"}},
        {"type": "macvlan", "ipam": {"type": "host-local", "dataDir": "", "DataDir": "/etc"}},
        {"type": "sdn", "deep": [{"er": {"key": 1, "KEY": 2}}]},
    ],
)
def test_two_spellings_of_a_key_are_refused(plugin: dict[str, Any]) -> None:
    """Of two keys that a plugin could take for one, none is chosen, however deep they stand."""
    for written in (network(plugin), json.dumps(network(plugin))):
        with pytest.raises(RequestError, match="are the same key to a CNI plugin; remove one"):
            read(written)


def test_a_key_that_stands_twice_is_refused() -> None:
    """JSON that has one key twice means different things to different readers."""
    with pytest.raises(RequestError) as caught:
        read('{"name": "n", "plugins": [{"type": "macvlan", "master": "a", "master": "b"}]}')
    assert str(caught.value) == "config: the key 'master' appears twice; remove one"


def test_nesting_has_an_end() -> None:
    """A configuration cannot be so deep that reading it fails."""
    deep: Any = {}
    for _ in range(60):
        deep = {"in": deep}
    for written in (network({"type": "sdn", "x": deep}), json.dumps([[]] * 3)):
        if isinstance(written, dict):
            with pytest.raises(RequestError, match="is nested too deeply"):
                read(written)
    with pytest.raises(RequestError, match="is not JSON"):
        read("[" * 100_000)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
known_keys = st.sampled_from(sorted({key for kind in TYPES.values() for key in kind.keys}))
spellings = known_keys.map(str.upper) | known_keys.map(str.title) | known_keys
plugins = st.dictionaries(spellings | st.text(max_size=8), json_values, max_size=6).flatmap(
    lambda keys: st.sampled_from(sorted(TYPES)).map(lambda kind: {**keys, "type": kind})
)


@given(plugins)
def test_the_form_is_stable_and_says_the_same(plugin: dict[str, Any]) -> None:
    """Read again the form is itself, no key of it is another's, and nothing was lost but nulls."""
    try:
        form = read(network(plugin))
    except RequestError:
        return
    assert read(form) == form
    (made,) = form["plugins"]
    assert {fold(key) for key in made} == {
        fold(key) for key, value in plugin.items() if value is not None
    }
    assert len({fold(key) for key in made}) == len(made)
