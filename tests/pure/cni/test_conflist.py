"""Network configurations as users write them, good and bad."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.cni import NetworkList, decode_network, parse_network
from netclaim.errors import RequestError
from netclaim.paths import show

MACVLAN: dict[str, Any] = {
    "type": "macvlan",
    "master": "eth1",
    "mode": "bridge",
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]},
}
CONFLIST: dict[str, Any] = {
    "cniVersion": "1.0.0",
    "name": "macvlan-eth1",
    "plugins": [MACVLAN, {"type": "tuning", "capabilities": {"mac": True, "mtu": False}}],
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
# Objects near enough to a network to get past the first checks.
near_networks = st.fixed_dictionaries(
    {},
    optional={
        "name": st.just("net") | json_values,
        "cniVersion": st.sampled_from(["0.3.1", "1.0.0", "9.9.9", "1.x", ""]) | json_values,
        "cniVersions": st.lists(st.sampled_from(["1.0.0", "2"]) | json_values) | json_values,
        "disableCheck": json_values,
        "type": st.just("macvlan") | json_values,
        "plugins": json_values
        | st.lists(
            st.fixed_dictionaries(
                {"type": st.just("tuning") | json_values},
                optional={"ipam": json_values, "capabilities": json_values},
            )
        ),
    },
)


def test_a_list_is_read_whole() -> None:
    """A conflist gives its name, its version, and what the runtime needs of each plugin."""
    network = parse_network(CONFLIST)
    assert (network.name, network.version) == ("macvlan-eth1", "1.0.0")
    assert [plugin.type for plugin in network.plugins] == ["macvlan", "tuning"]
    assert [plugin.ipam_type for plugin in network.plugins] == ["host-local", ""]
    assert network.plugins[1].capabilities == {"mac"}
    assert network.plugins[0].config == MACVLAN
    assert not network.disable_check
    assert not network.disable_gc


@pytest.mark.parametrize("form", [json.dumps, lambda config: json.dumps(config).encode()])
def test_a_string_of_json_reads_as_its_object(form: Any) -> None:
    """A configuration that was kept as text reads as the object that it holds."""
    assert decode_network(form(CONFLIST)) == parse_network(CONFLIST)


@pytest.mark.parametrize("form", [json.dumps, lambda config: json.dumps(config).encode()])
def test_text_is_decoded_once_at_most(form: Any) -> None:
    """Text is no configuration, and JSON text inside JSON text is none either."""
    with pytest.raises(RequestError, match="must be an object"):
        parse_network(form(CONFLIST))
    with pytest.raises(RequestError, match="must be an object"):
        decode_network(json.dumps(json.dumps(CONFLIST)))


def test_a_single_plugin_becomes_a_list_of_one() -> None:
    """A conf without `plugins` is a network of that plugin, with all of its keys."""
    conf = {"cniVersion": "0.3.1", "name": "one", **MACVLAN}
    network = parse_network(conf)
    assert (network.name, network.version) == ("one", "0.3.1")
    assert [plugin.config for plugin in network.plugins] == [conf]


def test_a_network_does_not_follow_the_object_it_was_read_from() -> None:
    """Changing the user's object afterwards changes nothing."""
    config = json.loads(json.dumps(CONFLIST))
    network = parse_network(config)
    config["plugins"][0]["master"] = "eth9"
    with pytest.raises(TypeError):
        network.plugins[0].config["master"] = "eth8"  # type: ignore[index]
    assert network.plugins[0].config["master"] == "eth1"


def test_a_network_reads_back_from_its_own_json() -> None:
    """What `to_json` writes reads as the same value."""
    network = parse_network({**CONFLIST, "disableCheck": True, "disableGC": "true"})
    assert network.disable_check
    assert network.disable_gc
    assert decode_network(network.to_json()) == network


def test_keys_can_be_set_in_one_plugin() -> None:
    """`with_keys` makes another network, and leaves the first as it was."""
    network = parse_network(CONFLIST)
    changed = network.with_keys(0, {"master": "eth7"})
    assert changed.plugins[0].config == MACVLAN | {"master": "eth7"}
    assert changed.plugins[1:] == network.plugins[1:]
    assert network.plugins[0].config == MACVLAN


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        ({}, "0.1.0"),
        ({"cniVersion": ""}, "0.1.0"),
        ({"cniVersion": "0.4.0"}, "0.4.0"),
        ({"cniVersion": "0.4.0", "cniVersions": ["0.3.1", "1.0.0"]}, "1.0.0"),
        ({"cniVersion": "1.1.0", "cniVersions": ["0.3.1", "1.0.0"]}, "1.1.0"),
        ({"cniVersion": "2.0.0", "cniVersions": ["0.3.1", "1.0.0", "1.2.0"]}, "1.0.0"),
        ({"cniVersions": ["1.1.0", "1.10.0"]}, "1.1.0"),
    ],
)
def test_the_newest_version_that_we_speak_is_chosen(versions: Any, chosen: str) -> None:
    """Of `cniVersion` and `cniVersions` the highest not above 1.1.0 counts."""
    assert parse_network({"name": "n", "type": "dummy", **versions}).version == chosen


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": None}, "config.name"),
        ({"name": ""}, "config.name"),
        ({"name": 5}, "config.name"),
        ({"name": "../escape"}, "config.name"),
        ({"name": "trailing\n"}, "config.name"),
        ({"name": "n" * 175}, "config.name"),
        ({"cniVersion": 1.0}, "config.cniVersion"),
        ({"cniVersion": "one"}, "config.cniVersion"),
        ({"cniVersion": "2.0.0"}, "config.cniVersion"),
        ({"cniVersion": "0.3.2"}, "config.cniVersion"),
        ({"cniVersion": "0.2.0"}, "config.cniVersion"),
        ({"cniVersion": None}, "config.cniVersion"),
        ({"cniVersions": "1.0.0"}, "config.cniVersions"),
        ({"cniVersions": ["1.0.0", 1]}, "config.cniVersions[1]"),
        ({"disableCheck": "perhaps"}, "config.disableCheck"),
        ({"disableGC": 1}, "config.disableGC"),
        ({"plugins": {}}, "config.plugins"),
        ({"plugins": []}, "config.plugins"),
        ({"plugins": None}, "config.plugins"),
        ({"plugins": ["macvlan"]}, "config.plugins[0]"),
        ({"plugins": [MACVLAN, {}]}, "config.plugins[1].type"),
        ({"plugins": [{"type": "/bin/sh"}]}, "config.plugins[0].type"),
        ({"plugins": [{"type": "x", "ipam": "dhcp"}]}, "config.plugins[0].ipam"),
        ({"plugins": [{"type": "x", "ipam": {"type": "a/b"}}]}, "config.plugins[0].ipam.type"),
        ({"plugins": [{"type": "x", "capabilities": ["mac"]}]}, "config.plugins[0].capabilities"),
        (
            {"plugins": [{"type": "x", "capabilities": {"mac": 1}}]},
            "config.plugins[0].capabilities[mac]",
        ),
    ],
)
def test_an_error_names_the_field_to_change(change: Any, field: str) -> None:
    """What is wrong in a configuration is found at its path."""
    with pytest.raises(RequestError) as caught:
        parse_network({**CONFLIST, **change})
    assert show(caught.value.path) == field
    assert str(caught.value).startswith(f"{field}: ")


@pytest.mark.parametrize("config", [None, 7, [], "[]", "", "{", b"\xff", "\ud800", {"a": object()}])
def test_what_is_no_object_is_refused_as_a_whole(config: object) -> None:
    """A configuration that is no JSON object is an error of the field that held it."""
    with pytest.raises(RequestError) as caught:
        parse_network(config, path=("spec", "parameters", "config"))
    assert caught.value.path == ("spec", "parameters", "config")


def test_a_network_without_any_plugin_says_which_key_is_missing() -> None:
    """Neither `plugins` nor `type` is an error of `plugins`."""
    with pytest.raises(RequestError) as caught:
        parse_network({"name": "n", "cniVersion": "1.0.0"})
    assert caught.value.path == ("config", "plugins")


def test_endless_nesting_is_an_error_like_others() -> None:
    """A configuration nested beyond what can be read raises no RecursionError."""
    with pytest.raises(RequestError):
        decode_network('{"name":' + "[" * 100_000)
    circle: dict[str, Any] = {"name": "n"}
    circle["plugins"] = [circle]
    with pytest.raises(RequestError):
        parse_network(circle)


@settings(deadline=None)
@given(st.text() | st.binary() | json_values | near_networks)
def test_nothing_but_a_request_error_is_raised(config: object) -> None:
    """Whatever a user writes is a network that reads back, or a RequestError."""
    try:
        if isinstance(config, str | bytes):
            network = decode_network(config)
        else:
            network = parse_network(config)
    except RequestError:
        return
    assert isinstance(network, NetworkList)
    assert decode_network(network.to_json()) == network
    assert all(plugin.config["type"] for plugin in network.plugins)
