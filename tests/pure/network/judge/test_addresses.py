"""The rules for addresses: every key that brings one, against every rule."""

import ipaddress
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

import pytest

from netclaim.cni import DNS, Route
from netclaim.errors import RequestError
from netclaim.network.judge.carried import Use
from netclaim.network.judge.request import permit
from netclaim.network.policy.levels import Level
from netclaim.network.policy.standing import Standing
from netclaim.network.request.into_config.wishes import WISHES
from netclaim.plugins.engine.conf import read_cidr, read_ip
from netclaim.plugins.engine.key_rules import DeclaredKey, declared, item_of, keys_within
from netclaim.plugins.engine.strict_values import CNI_KEYS
from netclaim.plugins.registry import IPAM_CLASSES
from tests.pure.network.judge.test_permit import asked, network, of, refused
from tests.support.network_parts import WHERE

ADDRESS_KEYS: Final[Mapping[str, Use | None]] = {
    "ips[]": Use.ASSIGNED,
    "dns.nameservers[]": None,
    "host-local.subnet": Use.ASSIGNED,
    "host-local.rangeStart": Use.ASSIGNED,
    "host-local.rangeEnd": Use.ASSIGNED,
    "host-local.gateway": Use.NEXT_HOP,
    "host-local.ranges[][].subnet": Use.ASSIGNED,
    "host-local.ranges[][].rangeStart": Use.ASSIGNED,
    "host-local.ranges[][].rangeEnd": Use.ASSIGNED,
    "host-local.ranges[][].gateway": Use.NEXT_HOP,
    "host-local.routes[].dst": Use.DESTINATION,
    "host-local.routes[].gw": Use.NEXT_HOP,
    "netclaim.routes[].dst": Use.DESTINATION,
    "netclaim.routes[].gw": Use.NEXT_HOP,
    "static.addresses[].address": Use.ASSIGNED,
    "static.addresses[].gateway": Use.NEXT_HOP,
    "static.routes[].dst": Use.DESTINATION,
    "static.routes[].gw": Use.NEXT_HOP,
    "static.dns.nameservers[]": None,
}
"""Keys of a claim that carry an address, and what becomes of it; None: part of the result only.

`args` and `runtimeConfig`, which can carry one too, are refused.
"""

NODE: Final = "10.10.1.11"
ON_ITS_LINK: Final = Standing(
    Level.BASELINE, "team-a", link="eth1", node_addresses=frozenset({NODE, "fd00::b"})
)
UPLINK: Final = Standing(
    Level.BASELINE,
    "team-a",
    link="eth0",
    carries="the default route",
    node_networks=(ipaddress.ip_network("10.10.1.0/24"), ipaddress.ip_network("fe80::/64")),
    node_addresses=frozenset({NODE}),
    node_peers=frozenset({"10.10.1.1"}),
)


def placed(key: str, address: str) -> dict[str, Any]:
    """What a claim writes to bring an address, or a range of that one alone, by a key."""
    if key == "ips[]":
        return {"config": network(macvlan({"type": "static"})), "ips": [f"{address}/32"]}
    if key == "dns.nameservers[]":
        return {"config": network({"type": "macvlan", "dns": {"nameservers": [address]}})}
    plugin, _, keys = key.partition(".")
    ipam: dict[str, Any] = {"type": plugin}
    if plugin == "host-local":
        last = keys.rpartition(".")[2]
        found = {"subnet": "10.99.0.0/24"}
        if last in {"subnet", "rangeStart", "rangeEnd"}:
            found = {"subnet": around(address), "rangeStart": address, "rangeEnd": address}
        elif last == "gateway":
            found["gateway"] = address
        ipam |= {"ranges": [[found]]} if keys.startswith("ranges") else found
    elif keys.startswith("addresses"):
        given = {"address": f"{address}/32"}
        if keys.endswith("gateway"):
            given = {"address": "10.99.0.5/24", "gateway": address}
        ipam["addresses"] = [given]
    elif keys.startswith("dns"):
        ipam["dns"] = {"nameservers": [address]}
    if keys.startswith("routes"):
        to = {"dst": f"{address}/32"}
        ipam["routes"] = [{"dst": "0.0.0.0/0", "gw": address} if keys.endswith("gw") else to]
    return {"config": network(macvlan(ipam))}


def around(address: str) -> str:
    """The small subnet that an address is in, if it is an address."""
    with suppress(ValueError):
        return str(ipaddress.ip_network(f"{address}/29", strict=False))
    return f"{address}/29"


def macvlan(ipam: Mapping[str, Any]) -> dict[str, Any]:
    """A plugin with this address management."""
    return {"type": "macvlan", "ipam": ipam}


def said_of(key: str, address: str, standing: Standing) -> str:
    """What is said of an address that comes by a key; empty if it is permitted."""
    return "; ".join(refused(asked(placed(key, address)), standing))


def addressed(key: DeclaredKey, path: str) -> Iterator[str]:
    """The paths of a declared key, and of what is inside of it, that hold an address."""
    if key.rule.check in {read_cidr, read_ip}:
        yield path
    brackets, inside = keys_within(key)
    kind = key
    for _ in range(brackets.count("[]")):
        kind = item_of(kind.type)
    for each in {**inside, **CNI_KEYS.get(kind.type, {})}.values():
        if kind.type is DNS and each.name == "nameservers":
            yield f"{path}.nameservers[]"
        elif kind.type is not DNS:
            yield from addressed(each, f"{path}{brackets}.{each.name}")


def test_every_key_that_carries_an_address_has_its_use() -> None:
    """The table has the keys of the plugins' own classes, and no others."""
    found = {"ips[]" for wish in WISHES if wish.name == "ips"} | {"dns.nameservers[]"}
    for name, kind in IPAM_CLASSES.items():
        assert kind.ipam_conf is not None
        for key in declared(kind.ipam_conf).values():
            found |= set(addressed(key, f"{name}.{key.name}"))
    assert found == set(ADDRESS_KEYS)
    assert {"dst", "gw"} == set(CNI_KEYS[Route])


DEFAULT: Final = {
    4: ("0.0.0.0/0", "10.99.0.1", "10.99.0.0/24"),
    6: ("::/0", "fd99::1", "fd99::/64"),
}
TO_THE_NODE: Final = {"destination": "10.10.1.0/24", "table": 100}
Brought: TypeAlias = tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]
BEFORE_THE_PRIMARY: Final[Mapping[str, Brought]] = {
    "alone": ({}, [], {}),
    "table": ({"table": 100}, [], {"rules": [TO_THE_NODE]}),
    "sbr": ({}, [{"type": "sbr"}], {}),
    "vrf": ({}, [{"type": "vrf", "vrfname": "blue"}], {}),
    "the parameter vrf": ({}, [], {"vrf": {"name": "blue"}}),
    "scope": ({"table": 100, "scope": 253}, [], {"rules": [TO_THE_NODE]}),
    "priority": ({"priority": 1}, [], {}),
}
"""What brings a route to the front in a pod: keys of the route, plugins, parameters."""


@pytest.mark.parametrize("family", DEFAULT)
@pytest.mark.parametrize("how", BEFORE_THE_PRIMARY)
@pytest.mark.parametrize("key", [*(k for k in ADDRESS_KEYS if k.endswith(".dst")), "routes[]"])
def test_every_key_of_a_destination_has_a_rule_for_the_default_route(
    key: str, how: str, family: int
) -> None:
    """On the link itself it leads to the node's network, whatever brings it to the front."""
    facts, plugins, beside = BEFORE_THE_PRIMARY[how]
    to, gateway, subnet = DEFAULT[family]
    address = subnet.replace("0/24", "5/24").replace("::/64", "::5/64")

    def said(*, by_route: bool = False, by_address: bool = False, ips: bool = False) -> str:
        """What is said of the route: with a gateway of its own, one of its address, or none."""
        hop = {"gw": gateway} if by_route else {}
        ipam: dict[str, Any] = {"type": "static", "addresses": [{"address": address}]}
        parameters = {**beside}
        if key.startswith("host-local"):  # which always has a gateway, perhaps of one family
            ipam = {
                "type": "host-local",
                "subnet": subnet if by_address else DEFAULT[10 - family][2],
            }
        elif key.startswith("netclaim"):
            ipam = {"type": "netclaim", "pool": "media"}
        elif by_address:
            ipam["addresses"][0]["gateway"] = gateway
        if ips:
            parameters["ips"] = [address]
        if key == "routes[]":
            hop = {"gateway": gateway} if by_route else {}
            parameters["routes"] = [{"destination": to, **facts, **hop}]
        else:
            ipam["routes"] = [{"dst": to, **facts, **hop}]
        config = network(macvlan(ipam), *plugins)
        return "; ".join(refused(asked({"config": config, **parameters}), UPLINK))

    direct = f"{to} overlaps {'fe80::/64' if family == 6 else '10.10.1.0/24'}"
    assert "scope" in facts or said(by_route=True) == ""
    if key == "netclaim.routes[].dst":  # the pool's gateway is known once it is leased
        assert said() == ""
        return
    assert direct in said()
    if key == "routes[]":  # which no gateway of an address serves
        assert direct in said(by_address=True)
        return
    assert said(by_address=True) == ""
    if key.startswith("static"):
        assert direct in said(by_address=True, ips=True)


def test_a_range_gives_the_default_route_a_gateway_only_if_all_of_its_set_do() -> None:
    """One of a set's ranges is chosen, and with it a gateway, which may be of the other family."""
    first = {"subnet": "10.99.0.0/24"}
    other = {"subnet": "10.98.0.0/24", "gateway": "fd99::1"}
    sure = [[[first]], [[other], [first]]]
    for ranges in (*sure, [[first, other]], [[other]]):
        ipam = {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]}
        assert (refused(of(macvlan(ipam)), UPLINK) == []) is (ranges in sure)


OWN: Final[Mapping[Use | None, str]] = {
    Use.ASSIGNED: f"{NODE} is the node's own address on the link 'eth1'"
}
INSIDE: Final = "overlaps 10.10.1.0/24, the node's own network on the link 'eth0'"
ENDS: Final = frozenset({Use.ASSIGNED, Use.NEXT_HOP})


@pytest.mark.parametrize("key", ADDRESS_KEYS)
def test_the_nodes_own_address_is_nobody_elses(key: str) -> None:
    """By whichever key it comes, a pod does not get it; to talk to the node is another matter."""
    said = said_of(key, NODE, ON_ITS_LINK)
    assert OWN.get(ADDRESS_KEYS[key], "") in said
    assert bool(said) is (ADDRESS_KEYS[key] is Use.ASSIGNED)
    assert said_of(key, "10.10.1.12", ON_ITS_LINK) == ""


@pytest.mark.parametrize("key", ADDRESS_KEYS)
@pytest.mark.parametrize("address", [NODE, "10.10.1.77"])
def test_the_nodes_own_network_is_closed_on_the_link_that_carries_it(
    key: str, address: str
) -> None:
    """No address of it is assigned, is a gateway, or is reached past the primary network."""
    said = said_of(key, address, UPLINK)
    assert bool(said) is (ADDRESS_KEYS[key] is not None)
    assert INSIDE in said or "the node's own address" in said or not said
    assert said_of(key, "10.98.0.7", UPLINK) == ""


@pytest.mark.parametrize("key", ADDRESS_KEYS)
@pytest.mark.parametrize("address", ["127.0.0.1", "224.0.0.5", "255.255.255.255", "0.0.0.0"])
def test_some_addresses_are_nobodys(key: str, address: str) -> None:
    """Loopback, multicast and the like are neither a pod's nor a gateway's."""
    said = said_of(key, address, ON_ITS_LINK)
    assert bool(said) is (ADDRESS_KEYS[key] in ENDS)
    assert not said or re.search("is not an address that an interface can have|outside", said)


@pytest.mark.parametrize("key", ADDRESS_KEYS)
def test_what_a_plugin_cannot_read_is_refused(key: str) -> None:
    """It is not for an executed plugin to find an address in what nobody could judge."""
    for written in ("10.10.1.011", "10.10.1.11/24/7", "0x0a0a010b", "1\uff11.0.0.1"):
        if ADDRESS_KEYS[key] is not None:
            with pytest.raises(RequestError):
                permit(asked(placed(key, written)), UPLINK)


@pytest.mark.parametrize(
    "ipam",
    [
        {"type": "static", "addresses": {"address": f"{NODE}/24"}},
        {"type": "static", "addresses": [[{"address": f"{NODE}/24"}]]},
        {"type": "static", "addresses": f'[{{"address": "{NODE}/24"}}]'},
        {"type": "host-local", "ranges": [{"subnet": "10.10.1.0/24"}]},
        {"type": "host-local", "ranges": [[[{"subnet": "10.10.1.0/24"}]]]},
        {"type": "host-local", "ranges": '[[{"subnet": "10.10.1.0/24"}]]'},
        {"type": "host-local", "subnet": ["10.10.1.0/24"]},
        {"type": "host-local", "subnet": "10.10.1.7/24"},
        {"type": "static", "addresses": [{"address": "10.9.0.1/24"}], "routes": {"dst": "x"}},
    ],
)
def test_an_ipam_of_another_shape_is_refused(ipam: dict[str, Any]) -> None:
    """What the plugin's own reader does not take is not judged in part."""
    with pytest.raises(RequestError):
        permit(of(macvlan(ipam)), UPLINK)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_refused(value: float) -> None:
    """It would be written as null: what was judged would not be what runs."""
    with pytest.raises(RequestError, match="is not a number that JSON has"):
        of(macvlan({"type": "host-local", "subnet": "10.99.0.0/24", "routes": value}))


def test_a_range_leaves_the_nodes_address_out_by_its_ends_or_as_its_gateway() -> None:
    """The refusal says how, and that is then accepted."""
    whole = {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]}
    (said,) = refused(of(macvlan(whole)), ON_ITS_LINK)
    assert said.endswith(
        "ipam.ranges[0][0].subnet: 10.10.1.0/24 has 10.10.1.11, the node's own address on the link "
        "'eth1'; leave it out by rangeStart and rangeEnd"
    )
    for more in ({"rangeStart": "10.10.1.12"}, {"rangeEnd": "10.10.1.10"}, {"gateway": NODE}):
        part = {"type": "host-local", "subnet": "10.10.1.0/24", **more}
        assert refused(of(macvlan(part)), ON_ITS_LINK) == []


@pytest.mark.parametrize("ipam", ["static", "host-local"])
@pytest.mark.parametrize(
    "dst", ["10.10.0.0/23", "10.8.0.0/13", "10.0.0.0/8", "0.0.0.0/1", "fe80::/63", "8000::/1"]
)
def test_a_route_without_a_gateway_asks_for_the_nodes_network_however_wide_it_is(
    ipam: str, dst: str
) -> None:
    """On the link that carries the node it is refused; over a gateway the packets are its."""
    given: dict[str, Any] = {"type": "static", "addresses": [{"address": "10.99.0.5/24"}]}
    if ipam == "host-local":
        given = {"type": "host-local", "subnet": "10.99.0.0/24"}
    direct = of(macvlan({**given, "routes": [{"dst": dst}]}))
    (said,) = refused(direct, UPLINK)
    assert f"ipam.routes[0].dst: {dst} overlaps" in said
    assert refused(direct, ON_ITS_LINK) == []
    gateway = "fe80::1" if ":" in dst else "10.99.0.1"
    assert refused(of(macvlan({**given, "routes": [{"dst": dst, "gw": gateway}]})), UPLINK) == []


def test_default_routes_and_those_beside_the_nodes_network_pass() -> None:
    """The default route takes the address's gateway, and a claim's own subnets are its own."""
    for dst in ("0.0.0.0/0", "10.99.0.0/16", "10.10.2.0/23", "128.0.0.0/1", "::/1"):
        ipam = {"type": "host-local", "subnet": "10.99.0.0/24", "routes": [{"dst": dst}]}
        assert refused(of(macvlan(ipam)), UPLINK) == []


def test_a_router_is_named_by_its_link_local_address() -> None:
    """Each link has the network fe80::/64, and a gateway there is no way around anything."""
    static = {"type": "static", "addresses": [{"address": "fd01::7/64", "gateway": "fe80::1"}]}
    assert refused(of(macvlan(static)), UPLINK) == []
    static = {"type": "static", "addresses": [{"address": "fe80::7/64"}]}
    assert len(refused(of(macvlan(static)), UPLINK)) == 1


def test_a_class_vouches_for_addresses_but_not_for_the_nodes_own() -> None:
    """It lets its claims choose addresses on the node's own network."""
    of_class = {"config": network(macvlan({"type": "static"})), "allow": ["ips"]}
    assert refused(asked({"ips": ["10.10.1.77/24"]}, of_class), UPLINK) == []
    for ip in (f"{NODE}/24", "224.0.0.5/24", "10.10.1.1/24"):
        assert len(refused(asked({"ips": [ip]}, of_class), UPLINK)) == 1
    (said,) = refused(asked({"ips": ["10.10.1.1/24"]}, of_class), UPLINK)
    assert said.startswith(f"{WHERE}.ips: 10.10.1.1 is the address of a gateway or an API server")
