"""What the strict check says of a plugin's configuration, and what it must not say."""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.plugins import PLUGIN_TYPES
from netclaim.plugins.engine.conf import lowered, read_conf
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.key_rules import declared
from netclaim.plugins.engine.plugin import Asked
from netclaim.plugins.registry import IPAM_CLASSES, PLUGIN_CLASSES
from netclaim.plugins.strict import CommonConf, ipam_keys, own_keys, strict_faults

POOL = {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]}
SPACE = {"type": "macvlan", "ipam": POOL}


def said(config: dict[str, Any], *, first: bool | None = None, version: str = "1.0.0") -> list[str]:
    """What is wrong with a configuration, by itself at a place in its list that suits it."""
    kind = PLUGIN_CLASSES.get(config["type"])
    alone = kind is None or not kind.needs_previous
    asked = Asked(version, first=alone if first is None else first)
    return [str(f) for f in strict_faults(config, (), asked=asked, in_process=PLUGIN_TYPES)]


def pool(**keys: Any) -> dict[str, Any]:
    """A macvlan with keys in its `ipam`."""
    return {"type": "macvlan", "ipam": {**POOL, **keys}}


RANGES = "must be a list of objects; for example [[{subnet: 10.10.1.0/24}]]"
MISTAKES: list[tuple[dict[str, Any], list[str]]] = [
    ({"type": "vlan", "vlanId": 5000, "ipam": POOL}, ["vlanId: 5000 is not between 0 and 4094"]),
    ({"type": "vlan", "vlanId": "5"}, ["vlanId: must be a whole number"]),
    ({"type": "vlan", "vlanId": True}, ["vlanId: must be a whole number"]),
    (
        {"type": "vlan", "vlanId": 5},
        ["ipam: ipam is missing; vlan needs addresses, for example from host-local"],
    ),
    (
        {"type": "macvlan", "mode": "sideways"},
        ['mode: "sideways" is not one of private, vepa, bridge, passthru'],
    ),
    ({"type": "macvlan", "mod": "vepa"}, ['mod: unknown key "mod"; did you mean "mode"?']),
    ({"type": "macvlan", "Mod": "vepa"}, ['Mod: unknown key "Mod"; did you mean "mode"?']),
    (
        {"type": "sbr", "colour": 1},
        ['colour: unknown key "colour"; known keys are type, table'],
    ),
    (
        {"type": "macvlan", "ranges": []},
        ['ranges: unknown key "ranges"; it belongs under ipam'],
    ),
    ({"type": "macvlan", "linkInContainer": "yes"}, ["linkInContainer: must be true or false"]),
    (
        pool(routes=[{"dst": "10.0.0.0/40"}, {"gw": "10.10.1.1"}, {"dst": "0.0.0.0/0", "gw": "x"}]),
        [
            "ipam.routes[0].dst: '10.0.0.0/40' is not an address in CIDR notation",
            "ipam.routes[1].dst: dst is missing; for example 10.0.0.0/8",
            "ipam.routes[2].gw: 'x' is not an IP address",
        ],
    ),
    (
        {"type": "macvlan", "dns": {"nameservers": ["fe80::1%eth0", "10.1.1.1", "10.1.1.300"]}},
        ["dns.nameservers[2]: '10.1.1.300' is not an IP address"],
    ),
    ({"type": "macvlan", "mac": "home"}, ["mac: 'home' is not a MAC address"]),
    ({"type": "macvlan", "ipam": ""}, ["ipam: must be an object"]),
    (
        {"type": "macvlan", "ipam": {"subnet": "10.1.0.0/16"}},
        ["ipam.type: type is missing; for example host-local"],
    ),
    (pool(ranges=[{"subnet": "10.1.0.0/16"}]), [f"ipam.ranges[0]: {RANGES}"]),
    (pool(ranges={"subnet": "10.1.0.0/16"}), ["ipam.ranges: must be a list of lists of objects"]),
    (
        pool(ranges=[[{"subnet": "10.1.0.0/33"}]]),
        ["ipam.ranges[0][0].subnet: '10.1.0.0/33' is not an address in CIDR notation"],
    ),
    (
        pool(ranges=[[{"subnet": "10.1.0.5/24"}]]),
        ["ipam.ranges[0][0].subnet: subnet 10.1.0.5/24 has host bits; use 10.1.0.0/24"],
    ),
    (
        pool(ranges=[[{"subnt": "10.1.0.0/24"}]]),
        ['ipam.ranges[0][0].subnt: unknown key "subnt"; did you mean "subnet"?'],
    ),
    (
        pool(ranges=[[{}]]),
        ["ipam.ranges[0][0].subnet: subnet is missing; for example 10.10.1.0/24"],
    ),
    (pool(ranges=[]), ["ipam.ranges: ranges is missing; for example [[{subnet: 10.10.1.0/24}]]"]),
    (
        pool(ranges=[[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.1.0.0/16"}]]),
        ["ipam.ranges: range sets 0 and 1 overlap"],
    ),
    (pool(routes=[{"gw": "10.1.0.1"}]), ["ipam.routes[0].dst: dst is missing"]),
    (
        {"type": "macvlan", "ipam": {"type": "static", "addresses": [{"gateway": "10.1.0.1"}]}},
        ["ipam.addresses[0].address: address is missing; for example 10.10.1.7/24"],
    ),
    (
        {"type": "tuning", "sysctls": {}},
        ['sysctls: unknown key "sysctls"; did you mean "sysctl"?'],
    ),
    (
        {"type": "tuning", "sysctl": {"net.core.somaxconn": 500}},
        ['sysctl[net.core.somaxconn]: must be a string; write "500"'],
    ),
    (
        {"type": "tuning", "sysctl": {"kernel.panic": "1"}},
        ["sysctl[kernel.panic]: invalid net sysctl key: 'kernel.panic'"],
    ),
    ({"type": "vrf"}, ["vrfname: vrfname is missing; for example blue"]),
    ({"type": "vrf", "vrfName": ""}, ["vrfName: vrfname is missing; for example blue"]),
    ({"type": "vrf", "vrfname": "net1"}, ["vrfname: the pod has an interface of this name; choos"]),
    ({"type": "sdn", "dns": []}, ["dns: must be an object"]),
    ({"type": "sdn", "DNS": {"search": "a"}}, ["DNS.search: must be a list of strings"]),
    (
        {"type": "bandwidth", "ingressRate": 8},
        ["if rate is set, burst must also be set"],
    ),
    ({"type": "bandwidth", "ingressRate": -8}, ["ingressRate: -8 is less than 0"]),
    (
        {"type": "bridge", "vlanTrunk": [{"id": 5000}]},
        ["vlanTrunk[0].id: 5000 is not between 1 and 4094"],
    ),
    (
        {"type": "macvlan", "runtimeConfig": {"mac": 7, "others": 8}},
        ["runtimeConfig.mac: must be a string"],
    ),
    ({"type": "macvlan", "dns": {"server": "x"}}, ["dns.server: unknown key"]),
    ({"type": "macvlan", "mtu": -1}, ["mtu: -1 is not between 0 and 65535"]),
    ({"type": "bridge", "mtu": 65536}, ["mtu: 65536 is more than 65535"]),
    ({"type": "tuning", "mtu": 65536}, ["mtu: 65536 is not between 0 and 65535"]),
    (
        {"type": "macvlan", "mac": "01:00:5e:00:00:01"},
        ["mac: '01:00:5e:00:00:01' is not the address of one interface"],
    ),
    (
        {"type": "macvlan", "ipam": {"type": "host-local", "subnet": "10.1.0.5/24"}},
        ["ipam.subnet: subnet 10.1.0.5/24 has host bits; use 10.1.0.0/24"],
    ),
    (
        pool(routes=[{"dst": "10.2.0.0/16"}, {"dst": "10.3.0.1/16"}]),
        ["ipam.routes[1].dst: route to 10.3.0.1/16: the address has bits beyond its prefix: write"],
    ),
    (
        {
            "type": "macvlan",
            "ipam": {"type": "static", "routes": [{"dst": "0.0.0.0/0", "gw": "fd00::1"}]},
        },
        ["ipam.routes[0].gw: route to 0.0.0.0/0: fd00::1 is of the other address family"],
    ),
]


@pytest.mark.parametrize(("config", "expected"), MISTAKES, ids=str)
def test_a_mistake_has_its_path_and_what_to_write(
    config: dict[str, Any], expected: list[str]
) -> None:
    """Each of the plugins' keys is checked for its type, its bounds and its spelling."""
    assert [told[: len(start)] for told, start in zip(said(config), expected, strict=True)] == (
        expected
    )


FINE: list[dict[str, Any]] = [
    SPACE,
    {"type": "macvlan", "name": "n", "cniVersion": "1.0.0", "disableCheck": "true", "ipMasq": True},
    {"type": "macvlan", "capabilities": {"mac": True}, "args": {"cni": {"a": 1}}, "prevResult": {}},
    {"type": "macvlan", "cni.dev/valid-attachments": [], "example.com/owner": "team-a"},
    {"type": "macvlan", "MODE": "vepa", "mtu": None, "ipam": None, "master": "", "mac": ""},
    {"type": "macvlan", "ipam": {"type": "other-ipam", "whatever": {}}},
    {"type": "tuning", "ipam": {"anything": 1}},
    pool(name="n", dns={}, subnet=""),
    {"type": "macvlan", "ipam": {"type": "static", "addresses": [
        {"address": "10.1.0.7/24", "version": "4"}]}},
    {"type": "sdn", "mode": 7, "ipam": {"type": "host-local"}, "dns": {"more": 1}},
]  # fmt: skip


@pytest.mark.parametrize("config", FINE, ids=str)
def test_what_plugins_know_or_pass_over_is_no_mistake(config: dict[str, Any]) -> None:
    """Keys of CNI's own, those of a domain, empty values, and whatever a program may read."""
    assert said(config) == []


def test_a_program_is_nobodys_to_check() -> None:
    """A type that is executed, and addresses that a program manages, may have any keys."""
    asked = Asked("1.0.0")
    wrong = {"type": "macvlan", "mode": "new", "ipam": {"type": "host-local", "new": 1}}
    assert not list(strict_faults(wrong, (), asked=asked, in_process={"host-local"}))
    (fault,) = strict_faults(wrong, (), asked=asked, in_process={"macvlan"})
    assert fault.path == ("mode",)


@pytest.mark.parametrize("name", ["bandwidth", "sbr", "tuning", "vrf"])
def test_what_changes_an_interface_is_not_the_first_of_its_list(name: str) -> None:
    """A plugin that makes no interface has nothing to work on unless another one is before it."""
    config = {"type": name, "vrfname": "blue"} if name == "vrf" else {"type": name}
    message = f"type: {name} changes what an earlier plugin made: put a plugin before it"
    assert said(config, first=True) == [message]
    assert said(config, first=False) == []


def test_a_later_ipvlan_has_the_addresses_so_far() -> None:
    """Only the first plugin of a list cannot do without `ipam`."""
    assert said({"type": "ipvlan"}, first=False) == []
    assert len(said({"type": "ipvlan"})) == 1


# Cases that fail in both ways of running a plugin, though the table does not say with which words.
FAILING = frozenset(
    {
        "macvlan: a number where text belongs", "macvlan: a queue below zero",
        "macvlan: a queue that no number can be", "macvlan: a MAC that no link may have",
        "tap: an owner that no number can be",
        "bandwidth: a negative rate", "bandwidth: a rate beyond 64 bits",
        "tuning: a number where text belongs", "bridge: a bridge of a name too long",
        "bridge: addresses for a link left down", "bridge: an MTU that no number can be",
        "host-local: a subnet that is none", "host-local: a subnet without prefix",
        "host-local: an end before the start", "host-local: two of a family in CNI 0.2.0",
        "host-local: a route that is none", "static: a gateway that is none",
        # These have no ADD.
        "dummy: readiness without addresses", "ipvlan: readiness without addresses",
        "vlan: readiness without addresses", "ptp: readiness without addresses",
        "sbr: DEL with a table that none can be", "tuning: DEL with numbers that none can be",
        # The one that the check is for: a key that nobody reads.
        "macvlan: keys that only look alike",
    }
)  # fmt: skip
MODULES = (
    "site.bridge_cases",
    *(f"test_plugins_{of}" for of in ("links", "pairs", "meta", "ipam")),
)


def reference_cases() -> Iterator[tuple[str, str, str, list[dict[str, Any]]]]:
    """What the reference plugins are compared with: name, words of a failure, version, plugins."""
    for module in MODULES:
        found = vars(importlib.import_module(f"tests.reference.{module}"))
        for cases in found.values():
            for case in cases if isinstance(cases, list) else ():
                if hasattr(case, "says"):
                    plugins = [case.config] if hasattr(case, "config") else list(case.plugins)
                    yield case.name, case.says, case.version, plugins


def test_what_the_reference_plugins_accept_is_no_mistake() -> None:
    """Of the cases on which both ways agree, only those are refused that fail in both."""
    cases = list(reference_cases())
    assert len(cases) > 300
    for name, says, version, plugins in cases:
        for number, plugin in enumerate(plugins):
            managing = plugin["type"] in IPAM_CLASSES
            config = {**plugin, "type": "macvlan"} if managing else plugin
            # One that changes an interface is called by itself there, with a prevResult.
            kind = PLUGIN_CLASSES.get(config["type"])
            first = number == 0 and not (kind and kind.needs_previous)
            if not says and name not in FAILING:
                assert said(config, first=first, version=version) == [], name


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
PLACES = [
    (plugin, key.name, "")
    for plugin, kind in PLUGIN_CLASSES.items()
    for conf in kind.confs
    for key in declared(conf).values()
] + [
    ("macvlan", key.name, manager)
    for manager, kind in IPAM_CLASSES.items()
    for key in ipam_keys(kind).values()
]


@given(st.sampled_from(PLACES), json_values)
def test_what_cannot_be_read_is_found(place: tuple[str, str, str], value: object) -> None:
    """Whatever stands at a key: if the plugin's reading of it fails, the check says so first."""
    plugin, key, manager = place
    config: dict[str, Any] = {"type": plugin, "ipam": POOL, "vrfname": "blue"}
    if plugin != "vrf":
        del config["vrfname"]
    if manager:
        config["ipam"] = {"type": manager, key: value}
    else:
        config[key] = value
    if config["type"] != plugin:
        return
    told = said(config)
    try:
        for conf in PLUGIN_CLASSES[plugin].confs:
            read_conf(lowered(config), conf)
    except ConfError:
        assert told
    assert all("\n" not in each or "\n" in str(value) or "\n" in key for each in told)


@pytest.mark.parametrize("name", sorted(PLUGIN_TYPES))
def test_every_key_has_a_line(name: str) -> None:
    """Documentation is made of what the configuration classes say of their keys."""
    kind = PLUGIN_CLASSES.get(name) or IPAM_CLASSES[name]
    keys = [*own_keys(kind).values(), *ipam_keys(kind).values(), *declared(CommonConf).values()]
    without = [f"{name}.{key.name}" for key in keys if not key.rule.about]
    assert not without, f"annotate these with a KeyRule: {', '.join(without)}"
