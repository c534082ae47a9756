"""Claim parameters: every dialect that people write, and every mistake with its message."""

import contextlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.errors import RequestError
from netclaim.model import AllocatedDevice, OpaqueConfig
from netclaim.network.errors import ParametersError
from netclaim.network.request.keys import API_VERSIONS, KEYS, KINDS, SetBy
from netclaim.network.request.parameters import InterfaceRequest, read_claim
from netclaim.paths import show
from tests.support.network_parts import (
    DRIVER,
    MACVLAN,
    TYPED,
    WHERE,
    claim_of,
    config_of,
    device_of,
)

PAGE = (Path(__file__).parents[4] / "docs" / "parameters.md").read_text()
OF_CLAIMS = [key.name for key in KEYS if key.set_by is not SetBy.CLASS]
STATIC: dict[str, Any] = {
    "cniVersion": "1.0.0",
    "name": "fixed",
    "plugins": [
        {"type": "macvlan", "ipam": {"type": "static", "addresses": [{"address": "10.1.0.5/24"}]}}
    ],
}
CONF = {"cniVersion": "1.0.0", "name": "one", "type": "macvlan", "master": "eth1"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
# Objects near enough to parameters to get past the first checks.
near_parameters = st.fixed_dictionaries(
    {},
    optional={
        "apiVersion": st.sampled_from(API_VERSIONS) | json_values,
        "kind": st.sampled_from(KINDS) | json_values,
        "ifName": st.just("net1") | json_values,
        "interface": st.just("net1") | json_values,
        "config": st.just(MACVLAN) | json_values,
        "extra": json_values,
    },
)


def without(key: str) -> dict[str, Any]:
    """The usual parameters less one key."""
    return {name: value for name, value in TYPED.items() if name != key}


def only(*configs: OpaqueConfig) -> InterfaceRequest:
    """Read a claim of one request."""
    (request,) = read_claim(claim_of(*configs))
    return request


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param(TYPED, id="typed"),
        pytest.param(TYPED | {"kind": "CNIConfig"}, id="kind CNIConfig"),
        pytest.param(
            TYPED | {"apiVersion": "cni.dra.networking.x-k8s.io/v1alpha1"}, id="the other group"
        ),
        pytest.param(TYPED | {"config": json.dumps(MACVLAN)}, id="typed, config as a string"),
        pytest.param({"interface": "net1", "config": MACVLAN}, id="plain"),
        pytest.param({"interface": "net1", "config": json.dumps(MACVLAN)}, id="plain, string"),
    ],
)
def test_every_dialect_says_the_same(parameters: dict[str, Any]) -> None:
    """The same wish in any dialect is the same request."""
    request = only(config_of(parameters, "net"))
    assert request.ifname == "net1"
    assert request.network.to_dict() == MACVLAN
    assert request.device == device_of("net")


def test_a_single_conf_is_a_network_too() -> None:
    """`config` may be one plugin instead of a list; its path is then that of `config`."""
    for written in (CONF, json.dumps(CONF)):
        request = only(config_of(TYPED | {"config": written}, "net"))
        assert [plugin.type for plugin in request.network.plugins] == ["macvlan"]
        assert [show(path) for path in request.plugin_paths] == [f"{WHERE}.config"]


def test_a_list_knows_where_each_plugin_was_written() -> None:
    """Messages about a plugin of a list have the path with its place."""
    (path,) = only(config_of(TYPED, "net")).plugin_paths
    assert show(path) == f"{WHERE}.config.plugins[0]"


def test_a_configuration_that_names_no_request_is_for_the_only_one() -> None:
    """`requests` may be left out where the claim has one request of ours."""
    assert only(config_of(TYPED)).ifname == "net1"


def test_the_claim_goes_over_the_class_key_by_key() -> None:
    """A class can give the network and the claim the name, or the claim another network whole."""
    from_class = config_of(TYPED, "net", source="FromClass")
    named = only(from_class, config_of(without("config") | {"ifName": "data0"}, "net"))
    assert (named.ifname, named.network.name) == ("data0", "macvlan-eth1")
    replaced = only(from_class, config_of(without("ifName") | {"config": CONF}, "net"))
    assert (replaced.ifname, replaced.network.name) == ("net1", "one")


def test_class_and_claim_may_speak_different_dialects() -> None:
    """`interface` of a plain claim goes over `ifName` of a typed class."""
    request = only(
        config_of({"interface": "data0"}, "net"), config_of(TYPED, "net", source="FromClass")
    )
    assert (request.ifname, request.network.name) == ("data0", "macvlan-eth1")


def test_a_class_alone_is_enough() -> None:
    """A claim without a configuration takes the class's."""
    assert only(config_of(TYPED, "net", source="FromClass")).ifname == "net1"


def test_a_chosen_alternative_takes_the_configuration_of_its_request() -> None:
    """A request with alternatives is configured by its own name or by the alternative's."""
    devices = (device_of("net/fast"),)
    for name in ("net", "net/fast"):
        (request,) = read_claim(claim_of(config_of(TYPED, name), devices=devices))
        assert request.device.request == "net/fast"


def test_an_alternative_goes_over_its_request_key_by_key() -> None:
    """In whatever order they are written; the class's are below both, and one for all below that.

    An alternative that was not allocated changes nothing.
    """
    entries = (
        config_of({"config": CONF}, "net/slow"),
        config_of({"interface": "data0", "config": MACVLAN}, "net"),
        config_of(TYPED | {"ifName": "all0"}),
        config_of(TYPED | {"ifName": "class0"}, "net/slow", source="FromClass"),
    )
    for configs in itertools.permutations(entries):
        (slow,) = read_claim(claim_of(*configs, devices=(device_of("net/slow"),)))
        assert (slow.ifname, slow.network.name) == ("data0", "one")
        (fast,) = read_claim(claim_of(*configs, devices=(device_of("net/fast"),)))
        assert (fast.ifname, fast.network.name) == ("data0", "macvlan-eth1")


def test_a_mistake_is_at_the_entry_that_has_it() -> None:
    """The path says whether it is the alternative's entry or its request's."""
    devices = (device_of("net/slow"),)
    for bad, good in (("net", "net/slow"), ("net/slow", "net")):
        configs = (config_of(TYPED | {"mtu": 1}, bad), config_of(TYPED, good))
        with pytest.raises(RequestError) as caught:
            read_claim(claim_of(*configs, devices=devices))
        assert show(caught.value.path) == f"spec.devices.config[{bad}].opaque.parameters.mtu"


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        (("net/slow",), ("net/fast", "net/slow"), "[net/slow] and [net/fast, net/slow]"),
        (("net",), ("net",), "[net] and [net]"),
        ((), (), "[] and []"),
    ],
)
def test_entries_that_are_as_specific_are_both_named(
    first: tuple[str, ...], second: tuple[str, ...], named: str
) -> None:
    """Neither can go over the other."""
    configs = (config_of(TYPED, *first), config_of(TYPED, *second))
    with pytest.raises(RequestError) as caught:
        read_claim(claim_of(*configs, devices=(device_of("net/slow"),)))
    assert f"2 entries are for this request, with `requests` {named}; keep" in str(caught.value)


def test_several_requests_have_an_interface_each() -> None:
    """Requests of one claim are read side by side, in the order of the devices."""
    claim = claim_of(
        config_of(TYPED | {"ifName": "net2"}, "b"),
        config_of(TYPED, "a"),
        devices=(device_of("a"), device_of("b", "eth2")),
    )
    read = [(r.device.device, r.ifname) for r in read_claim(claim)]
    assert read == [("eth1", "net1"), ("eth2", "net2")]


def test_devices_of_one_request_are_numbered() -> None:
    """Interfaces of one pattern count from 0 in the order of the results, across requests too."""
    every = TYPED | {"ifName": "net%d"}
    claim = claim_of(
        config_of(every, "a", "b"),
        config_of(TYPED | {"ifName": "mgmt"}, "c"),
        config_of(TYPED | {"ifName": "x%dy"}, "d"),
        devices=(
            device_of("a", "eth7"),
            device_of("a", "eth3"),
            device_of("c", "eth1"),
            device_of("b", "eth2"),
            device_of("d/fast", "eth9"),
            device_of("d/fast", "eth8"),
        ),
    )
    read = [(r.device.device, r.ifname) for r in read_claim(claim)]
    assert read == [
        ("eth7", "net0"),
        ("eth3", "net1"),
        ("eth1", "mgmt"),
        ("eth2", "net2"),
        ("eth9", "x0y"),
        ("eth8", "x1y"),
    ]
    assert read_claim(claim) == read_claim(claim)


def test_a_pattern_of_the_class_numbers_all_of_its_requests() -> None:
    """A class that names interfaces by a pattern serves any number of devices."""
    of_class = [config_of(TYPED | {"ifName": "net%d"}, name, source="FromClass") for name in "ab"]
    smaller = config_of({"apiVersion": TYPED["apiVersion"], "kind": "CNI", "mtu": 1400})
    devices = (device_of("a"), device_of("b", "eth2"), device_of("b", "eth3"))
    read = read_claim(claim_of(*of_class, smaller, devices=devices))
    assert [(each.ifname, each.wishes.mtu) for each in read] == [
        ("net0", 1400),
        ("net1", 1400),
        ("net2", 1400),
    ]


def test_shares_of_one_link_are_interfaces_of_their_own() -> None:
    """Two shares of one link in one request are two devices, told apart by their share."""
    shares = tuple(
        AllocatedDevice("net", DRIVER, "kind-worker", "eth1", share_id=one) for one in "xy"
    )
    read = read_claim(claim_of(config_of(TYPED | {"ifName": "net%d"}, "net"), devices=shares))
    assert [(each.device.share_id, each.ifname) for each in read] == [("x", "net0"), ("y", "net1")]


def test_an_mtu_is_for_all_devices() -> None:
    """What every interface can have is wished for once."""
    wished = TYPED | {"ifName": "net%d", "mtu": 1400}
    devices = (device_of("net"), device_of("net", "eth2"))
    read = read_claim(claim_of(config_of(wished, "net"), devices=devices))
    assert [each.wishes.mtu for each in read] == [1400, 1400]


def test_a_configuration_for_another_request_is_left_alone() -> None:
    """What is meant for an alternative that was not chosen is not read."""
    broken = config_of({"nonsense": 1}, "net/slow")
    claim = claim_of(broken, config_of(TYPED, "net/fast"), devices=(device_of("net/fast"),))
    assert len(read_claim(claim)) == 1


MISTAKES = [
    pytest.param(
        without("ifName"),
        f"{WHERE}.ifName: ifName is missing; for example net1",
        id="no interface name",
    ),
    pytest.param(
        {"config": MACVLAN},
        f"{WHERE}.interface: interface is missing; for example net1",
        id="plain, no name",
    ),
    pytest.param(
        without("config"),
        f"{WHERE}.config: config is missing; write a CNI conf or conflist",
        id="no network",
    ),
    pytest.param(
        without("apiVersion"),
        f"{WHERE}.apiVersion: apiVersion is missing; write cni.networking.x-k8s.io/v1alpha1",
        id="no apiVersion",
    ),
    pytest.param(
        TYPED | {"apiVersion": "cni.networking.x-k8s.io/v2"},
        f'{WHERE}.apiVersion: unknown apiVersion "cni.networking.x-k8s.io/v2"; '
        f"write cni.networking.x-k8s.io/v1alpha1",
        id="unknown apiVersion",
    ),
    pytest.param(without("kind"), f"{WHERE}.kind: kind is missing; write CNI", id="no kind"),
    pytest.param(
        TYPED | {"kind": "Macvlan"},
        f'{WHERE}.kind: unknown kind "Macvlan"; write CNI',
        id="unknown kind",
    ),
    pytest.param(
        TYPED | {"queues": 4},
        f'{WHERE}.queues: unknown key "queues"; known keys are {", ".join(OF_CLAIMS)}',
        id="unknown key",
    ),
    pytest.param(
        TYPED | {"configs": {}},
        f'{WHERE}.configs: unknown key "configs"; did you mean "config"?',
        id="misspelt key",
    ),
    pytest.param(
        without("ifName") | {"ifname": "net1"},
        f'{WHERE}.ifname: unknown key "ifname"; did you mean "ifName"?; '
        f"{WHERE}.ifName: ifName is missing; for example net1",
        id="key in another case",
    ),
    pytest.param(
        TYPED | {"interface": "net1"},
        f'{WHERE}.interface: unknown key "interface"; with an apiVersion the key is ifName',
        id="plain key in typed parameters",
    ),
    pytest.param(
        {"interface": "net1", "ifName": "net1", "config": MACVLAN},
        f'{WHERE}.ifName: unknown key "ifName"; it needs apiVersion: '
        f"cni.networking.x-k8s.io/v1alpha1 and kind: CNI beside it",
        id="typed key in plain parameters",
    ),
    pytest.param(
        TYPED | {"ifName": 7}, f"{WHERE}.ifName: must be a string", id="interface name a number"
    ),
    pytest.param(
        TYPED | {"ifName": "a-very-long-name"},
        f"{WHERE}.ifName: 'a-very-long-name' must have 1 to 15 bytes",
        id="interface name too long",
    ),
    pytest.param(
        TYPED | {"ifName": "net/1"},
        f"{WHERE}.ifName: 'net/1' must not hold '/', ':', '%', spaces or control characters",
        id="interface name with a slash",
    ),
    pytest.param(
        TYPED | {"ifName": "net%s"},
        f"{WHERE}.ifName: 'net%s' may have a % only as %d, and only once",
        id="another pattern",
    ),
    pytest.param(
        TYPED | {"ifName": "net%d-%d"},
        f"{WHERE}.ifName: 'net%d-%d' may have a % only as %d, and only once",
        id="two numbers",
    ),
    pytest.param(
        TYPED | {"ifName": "a-very-long-na%d"},
        f"{WHERE}.ifName: 'a-very-long-na31' must have 1 to 15 bytes",
        id="a pattern that is too long",
    ),
    pytest.param(
        TYPED | {"ifName": "eth%d"},
        f"{WHERE}.ifName: the pod already has an interface named eth0; choose another name, for "
        f"example net%d",
        id="a pattern with the name of the pod's own interface",
    ),
    pytest.param(
        TYPED | {"ifName": "eth0"},
        f"{WHERE}.ifName: the pod already has an interface named eth0; choose another name, "
        f"for example net1",
        id="the primary interface",
    ),
    pytest.param(
        TYPED | {"config": []},
        f"{WHERE}.config: must be an object, a CNI conf or conflist",
        id="config a list",
    ),
    pytest.param(
        TYPED | {"config": json.dumps(json.dumps(MACVLAN))},
        f"{WHERE}.config: must be an object, a CNI conf or conflist",
        id="config as JSON text inside JSON text",
    ),
    pytest.param(
        TYPED | {"config": {"cniVersion": "1.0.0", "plugins": []}},
        f"{WHERE}.config.name: name is missing; for example storage",
        id="network without a name",
    ),
    pytest.param(
        TYPED | {"config": MACVLAN | {"plugins": []}},
        f"{WHERE}.config.plugins: must be a list of at least one plugin",
        id="network without plugins",
    ),
    pytest.param(
        TYPED | {"config": {"cniVersion": "1.0.0", "name": "one", "plugin": []}},
        f'{WHERE}.config.plugin: unknown key "plugin"; did you mean "plugins"?',
        id="misspelt list of plugins",
    ),
    pytest.param(
        TYPED | {"config": MACVLAN | {"disableChecks": True}},
        f'{WHERE}.config.disableChecks: unknown key "disableChecks"; did you mean "disableCheck"?',
        id="misspelt key beside the plugins",
    ),
    pytest.param(
        TYPED | {"config": MACVLAN | {"queues": 4}},
        f'{WHERE}.config.queues: unknown key "queues"; known keys are cniVersion, cniVersions, '
        "name, disableCheck, disableGC, plugins",
        id="unknown key beside the plugins",
    ),
    pytest.param(
        TYPED | {"config": MACVLAN | {"plugins": [{"master": "eth1"}]}},
        f"{WHERE}.config.plugins[0].type: type is missing; for example macvlan",
        id="plugin without a type",
    ),
    pytest.param(
        TYPED | {"config": MACVLAN | {"cniVersion": 1.0}},
        f"{WHERE}.config.cniVersion: write 1.0 in quotes",
        id="version a number",
    ),
    pytest.param(
        TYPED | {"ifName": "", "config": None},
        f"{WHERE}.ifName: '' must have 1 to 15 bytes; "
        f"{WHERE}.config: must be an object, a CNI conf or conflist",
        id="two mistakes at once",
    ),
]


@pytest.mark.parametrize(("parameters", "message"), MISTAKES)
def test_a_mistake_is_told_with_its_path(parameters: dict[str, Any], message: str) -> None:
    """Every mistake in the parameters has a message that says what to change, and where."""
    with pytest.raises(RequestError) as caught:
        only(config_of(parameters, "net"))
    assert str(caught.value) == message


CLAIM_MISTAKES = [
    pytest.param(
        (),
        (device_of("net"),),
        f"spec.devices.requests[net]: no configuration for the driver {DRIVER}: add an entry to "
        f"spec.devices.config with the request's name and `opaque` parameters",
        id="no configuration",
    ),
    pytest.param(
        (config_of(TYPED, "net"), config_of(TYPED, "net")),
        (device_of("net"),),
        "spec.devices.config[net]: 2 entries are for this request, with `requests` [net] and "
        "[net]; keep only one",
        id="two configurations",
    ),
    pytest.param(
        (
            config_of(TYPED, "net", source="FromClass"),
            config_of(TYPED, "net", source="FromClass"),
        ),
        (device_of("net"),),
        f"DeviceClass(net).spec.config: 2 entries are for the driver {DRIVER}; keep only one",
        id="two configurations of the class",
    ),
    pytest.param(
        (config_of(TYPED | {"kind": "Macvlan"}, "net", source="FromClass"),),
        (device_of("net"),),
        'DeviceClass(net).spec.config.opaque.parameters.kind: unknown kind "Macvlan"; write CNI',
        id="mistake of the class",
    ),
    pytest.param(
        (config_of(TYPED, "net"),),
        (device_of("net"), device_of("net", "eth2")),
        f"{WHERE}.ifName: the request net has 2 devices, but net1 is the name of one interface; "
        f"write a pattern, for example net%d",
        id="two devices",
    ),
    pytest.param(
        (config_of(TYPED | {"ifName": "net%d", "ips": ["10.10.1.7/24"]}, "net"),),
        (device_of("net"), device_of("net", "eth2")),
        f"{WHERE}.ips: 2 interfaces would have the same addresses; leave ips out, or write a "
        f"request for each device",
        id="addresses for two devices",
    ),
    pytest.param(
        (config_of(TYPED | {"ifName": "net%d", "mac": "02:42:0a:0a:01:07"}, "net"),),
        (device_of("net"), device_of("net", "eth2")),
        f"{WHERE}.mac: 2 interfaces would have the same MAC address; leave mac out, or write a "
        f"request for each device",
        id="a MAC for two devices",
    ),
    pytest.param(
        (config_of(TYPED | {"ifName": "net%d", "config": STATIC}, "net"),),
        (device_of("net"), device_of("net", "eth2")),
        f"{WHERE}.config.plugins[0].ipam.addresses: 2 interfaces would have the same static "
        f"addresses; use host-local, or write a request for each device",
        id="static addresses for two devices",
    ),
    pytest.param(
        (config_of(TYPED | {"ifName": "net%d"}, "a"), config_of(TYPED, "b")),
        (device_of("a"), device_of("a", "eth2"), device_of("b", "eth3")),
        "spec.devices.config: the requests a, b all name their interface 'net1'; "
        "use a different name for each",
        id="a name and a pattern",
    ),
    pytest.param(
        (config_of(TYPED, "a"), config_of(TYPED, "b")),
        (device_of("a"), device_of("b", "eth2")),
        "spec.devices.config: the requests a, b all name their interface 'net1'; "
        "use a different name for each",
        id="one name twice",
    ),
]


@pytest.mark.parametrize(("configs", "devices", "message"), CLAIM_MISTAKES)
def test_a_claim_that_cannot_be_is_told_why(
    configs: tuple[OpaqueConfig, ...], devices: tuple[AllocatedDevice, ...], message: str
) -> None:
    """One configuration for a request, one device, one name for an interface."""
    with pytest.raises(RequestError) as caught:
        read_claim(claim_of(*configs, devices=devices))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "message", [mistake.values[-1] for mistake in (*MISTAKES, *CLAIM_MISTAKES)]
)
def test_every_message_is_in_the_documentation(message: str) -> None:
    """The page on parameters lists what a user may be told, without the path that goes before."""
    for told in message.split("; spec."):
        assert told.rpartition(".opaque.parameters.")[2] in PAGE


@pytest.mark.parametrize("requests", [("a", "b"), ()])
def test_one_configuration_is_for_one_request(requests: tuple[str, ...]) -> None:
    """A configuration for two requests would make two interfaces of one name."""
    devices = (device_of("a"), device_of("b", "eth2"))
    with pytest.raises(ParametersError) as caught:
        read_claim(claim_of(config_of(TYPED, *requests), devices=devices))
    assert str(caught.value.faults[0]) == (
        f"spec.devices.config[{','.join(requests)}]: a configuration applies to one request, "
        f"but this one to a, b; write one entry for each, with its name in `requests`, or a "
        f"pattern as ifName, for example net%d"
    )


@given(near_parameters | st.dictionaries(st.text(), json_values))
def test_nothing_but_a_request_error_comes_of_bad_parameters(parameters: dict[str, Any]) -> None:
    """Whatever JSON a user writes is read, or refused as the user's mistake."""
    with contextlib.suppress(RequestError):
        assert only(config_of(parameters, "net")).network.plugins


def test_mistakes_by_the_thousand_get_a_few_lines() -> None:
    """A claim full of unknown keys, for many requests, is answered at once and briefly."""
    names = [f"r{number}" for number in range(32)]
    bad = {**without("config"), **{f"cofig{number}": 1 for number in range(700)}}
    entries = (config_of(bad), config_of(bad, *names), config_of(bad, *(f"{n}/a" for n in names)))
    devices = tuple(device_of(f"{name}/a") for name in names)
    with pytest.raises(ParametersError) as caught:
        read_claim(claim_of(*entries, devices=devices))
    assert len(caught.value.faults) < 60
    assert "has 695 more unknown keys" in str(caught.value)
