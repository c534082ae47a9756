"""Addresses, a MAC, an MTU and a card's settings for a network that somebody else wrote."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from netclaim.cni import parse_network
from netclaim.errors import RequestError
from netclaim.network.request.into_config.wishes import WISHES, Wishes, with_wishes
from netclaim.network.request.keys import BY_NAME

HOST_LOCAL = {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]}
SETTINGS: dict[str, Any] = {
    "routes": [{"destination": "10.0.0.0/8", "gateway": "10.10.1.1"}],
    "rules": [{"source": "10.10.1.7", "table": 100}],
    "neighbors": [{"destination": "10.10.1.1", "hardwareAddr": "02:00:00:00:00:01"}],
    "ethtool": {"features": {"rx-gro": False}},
    "gsoMaxSize": 40000,
    "groMaxSize": 50000,
    "gsoIPv4MaxSize": 30000,
    "groIPv4MaxSize": 20000,
    "disableEbpfPrograms": True,
}
BASIC = Wishes(ips=("10.10.1.7/24",), mac="02:00:00:00:00:07", mtu=1400)
VRF = {"name": "blue", "table": 700}
ALL = msgspec.structs.replace(BASIC, vf={"vlan": 100}, vfio=True, settings={**SETTINGS, "vrf": VRF})


def made(wishes: Wishes, *plugins: dict[str, Any]) -> list[Mapping[str, Any]]:
    """The plugins of a network with wishes."""
    network = parse_network({"cniVersion": "1.0.0", "name": "n", "plugins": list(plugins)})
    return [p.config for p in with_wishes(network, wishes, {"ips": ("at", "ips")}).plugins]


def test_wishes_reach_the_plugin_that_fulfils_them() -> None:
    """Addresses and MAC come as the runtime's word, the MTU as the plugin's own key."""
    assert made(BASIC, {"type": "macvlan", "ipam": HOST_LOCAL}) == [
        {
            "type": "macvlan",
            "ipam": HOST_LOCAL,
            "mtu": 1400,
            "runtimeConfig": {"ips": ["10.10.1.7/24"], "mac": "02:00:00:00:00:07"},
        }
    ]


def test_a_later_plugin_may_be_the_one() -> None:
    """Vlan takes no MAC; tuning behind it does."""
    wishes = Wishes(mac="02:00:00:00:00:07", mtu=1400)
    assert made(wishes, {"type": "vlan"}, {"type": "tuning"}) == [
        {"type": "vlan", "mtu": 1400},
        {"type": "tuning", "runtimeConfig": {"mac": "02:00:00:00:00:07"}},
    ]


def test_a_function_is_asked_for_by_host_device() -> None:
    """With the MAC that it shall have; in no chain of others."""
    wishes = Wishes(mac="02:00:00:00:00:07", vf={"vlan": 100})
    assert made(wishes, {"type": "host-device"}) == [
        {
            "type": "host-device",
            "vf": {"vlan": 100},
            "runtimeConfig": {"mac": "02:00:00:00:00:07"},
        }
    ]
    with pytest.raises(RequestError, match="no plugin of the network"):
        made(wishes, {"type": "macvlan"})


@pytest.mark.parametrize(
    ("wishes", "plugin"),
    [
        (Wishes(ips=("10.1.1.1",)), {"type": "ovs", "capabilities": {"ips": True}}),
        (Wishes(mac="02:00:00:00:00:07"), {"type": "ovs", "capabilities": {"mac": True}}),
        (
            Wishes(ips=("10.1.1.1",)),
            {"type": "macvlan", "ipam": {"type": "whereabouts"}, "capabilities": {"ips": True}},
        ),
    ],
)
def test_a_program_gets_what_its_network_offers(wishes: Wishes, plugin: dict[str, Any]) -> None:
    """A program has a wish fulfilled if the network's author switched that capability on."""
    (found,) = made(wishes, plugin)
    (capability,) = plugin["capabilities"]
    wished = getattr(wishes, capability)
    assert found["runtimeConfig"] == {
        capability: list(wished) if isinstance(wished, tuple) else wished
    }


def test_no_wish_changes_nothing() -> None:
    """A network without wishes is what it was."""
    plugin = {"type": "macvlan", "ipam": HOST_LOCAL}
    assert made(Wishes(), plugin) == [plugin]


@pytest.mark.parametrize(
    ("wishes", "plugin", "message"),
    [
        (
            Wishes(ips=("10.1.1.1",)),
            {"type": "macvlan"},
            "at.ips: no plugin of the network 'n' (macvlan) supports it; leave it out",
        ),
        (
            Wishes(ips=("10.1.1.1",)),
            {"type": "macvlan", "ipam": {"type": "dhcp"}},
            "at.ips: no plugin of the network 'n' (macvlan) supports it; leave it out",
        ),
        (
            Wishes(ips=("10.1.1.1",)),
            {"type": "macvlan", "capabilities": {"ips": True}},
            "at.ips: no plugin of the network 'n' (macvlan) supports it; leave it out",
        ),
        (
            Wishes(ips=("10.1.1.1",)),
            {"type": "ovs", "capabilities": {"ips": False}},
            "at.ips: no plugin of the network 'n' (ovs) supports it; leave it out",
        ),
        (
            Wishes(mac="02:00:00:00:00:07"),
            {"type": "ipvlan"},
            "mac: no plugin of the network 'n' (ipvlan) supports it; leave it out",
        ),
        (
            Wishes(mtu=1400),
            {"type": "sdn"},
            "mtu: no plugin of the network 'n' (sdn) supports it; leave it out",
        ),
        (
            Wishes(ips=("10.1.1.1",)),
            {"type": "macvlan", "ipam": {"type": "static"}},
            (
                "at.ips: the network's addresses are static and need a prefix length; "
                "for example 10.1.1.1/24"
            ),
        ),
    ],
)
def test_a_wish_that_nobody_fulfils_is_refused(
    wishes: Wishes, plugin: dict[str, Any], message: str
) -> None:
    """A wish is not passed over in silence."""
    with pytest.raises(RequestError) as caught:
        made(wishes, plugin)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("ips", "10.1.1.1", "must be a list of addresses; for example [10.10.1.7/24]"),
        ("ips", [], "must have 1 to 16 addresses"),
        ("ips", ["10.1.1.1"] * 17, "must have 1 to 16 addresses"),
        ("ips", ["10.1.1"], "'10.1.1' is not an IP address"),
        ("ips", ["::ffff:10.1.1.1"], "must be a plain IPv4 or IPv6 address"),
        ("ips", ["fe80::1%eth0"], "'fe80::1%eth0' is not an IP address"),
        ("ips", ["::ffff:a01:101"], "must be a plain IPv4 or IPv6 address"),
        ("ips", ["10.1.1.1/255.0.0.0"], "'10.1.1.1/255.0.0.0' is not an address in CIDR notation"),
        ("mac", 7, "must be a MAC address; for example 02:42:0a:0a:01:07"),
        ("mac", "02-00-00-00-00-07", "must be a MAC address"),
        ("mac", "01:00:5e:00:00:07", "01:00:5e:00:00:07 is a multicast address; choose another"),
        ("mtu", "1400", "must be a number from 68 to 65536"),
        ("mtu", True, "must be a number from 68 to 65536"),
        ("mtu", 10, "must be a number from 68 to 65536"),
        ("vf", 100, "must be an object"),
        ("vf", {"vlan": 4095}, "where.vlan: 4095 is not between 0 and 4094"),
        ("vf", {"vlan": "7"}, "where.vlan: must be a whole number"),
        ("vf", {"vlna": 7}, 'where.vlna: unknown key "vlna"; did you mean "vlan"?'),
        ("vf", {"qos": 3}, "where.qos: belongs to a VLAN: write vlan, too"),
        ("vf", {"vlan": 7, "proto": "802.1X"}, "is not one of 802.1Q, 802.1ad"),
        ("vf", {"minTxRate": 9, "maxTxRate": 5}, "where.minTxRate: is more than maxTxRate"),
        ("vf", {"spoofCheck": "on"}, "where.spoofCheck: must be true or false"),
        ("vfio", "yes", "must be true or false"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(key: str, value: object, message: str) -> None:
    """Each says what is wrong, with the path of the key."""
    with pytest.raises(RequestError) as caught:
        BY_NAME[key].read(value, ("where",))
    assert str(caught.value).startswith("where")
    assert message in str(caught.value)


def test_all_wishes_are_tried() -> None:
    """The example wishes for everything that can be wished for."""
    lacking = [wish.name for wish in WISHES if wish.of(ALL) is None]
    assert not lacking, f"add {lacking} to Wishes, and to ALL"


@pytest.mark.parametrize("wish", [wish.name for wish in WISHES])
def test_no_wish_is_passed_over(wish: str) -> None:
    """Each changes what a plugin that can fulfil it is asked."""
    plugin = {"type": "host-device" if wish in {"vf", "vfio"} else "macvlan", "ipam": HOST_LOCAL}
    (asked,) = (each.of(ALL) for each in WISHES if each.name == wish)
    assert asked is not None, f"add {wish} to Wishes in network/request/into_config/wishes.py"
    alone = Wishes.of({wish: asked})
    assert made(alone, plugin) != [plugin], f"with_wishes makes nothing of {wish}"


def test_parameters_become_plugins_at_the_end() -> None:
    """The VRF comes before the routes, which are entered into its table."""
    first = {"type": "macvlan", "ipam": HOST_LOCAL}
    wishes = Wishes.of({"vrf": VRF, **SETTINGS})
    assert made(wishes, first) == [
        first,
        {"type": "vrf", "vrfname": "blue", "table": 700},
        {"type": "link-settings", **SETTINGS},
    ]


@pytest.mark.parametrize(
    ("wished", "network", "message"),
    [
        (
            {"routes": SETTINGS["routes"]},
            {"type": "macvlan"},
            (
                "needs a network of CNI 0.3.0 or newer, but 'n' is of 0.1.0; "
                "write cniVersion: 1.0.0 into it"
            ),
        ),
        (
            {"vrf": VRF},
            {"cniVersion": "1.0.0", "plugins": [{"type": "macvlan"}, {"type": "vrf"}]},
            "the network 'n' has a vrf; leave it out",
        ),
    ],
)
def test_a_network_that_cannot_be_longer(
    wished: dict[str, Any], network: dict[str, Any], message: str
) -> None:
    """What is wrong with it is said of the parameter."""
    with pytest.raises(RequestError) as caught:
        with_wishes(parse_network({"name": "n"} | network), Wishes.of(wished), {})
    assert str(caught.value) == f"{next(iter(wished))}: {message}"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("routes", None, "has no value; leave it out"),
        ("routes", {}, "must be a list of objects"),
        ("routes", [{}], "[0].destination: destination is missing; for example 10.0.0.0/8"),
        ("routes", [{"dst": "10.0.0.0/8"}], '[0].dst: unknown key "dst"; known keys are destin'),
        ("routes", [{"destination": "10.0.0.0/8", "gatway": "::1"}], 'did you mean "gateway"?'),
        ("routes", [{"destination": "10.1.0.0/8"}], "has bits beyond its prefix; write 10.0.0.0/8"),
        (
            "routes",
            [{"destination": "10.0.0.0/8", "gateway": "fd00::1"}],
            "[0].gateway: fd00::1 is of another address family than 10.0.0.0/8",
        ),
        (
            "routes",
            [{"destination": "10.0.0.0/8", "table": 255}],
            "[0].table: table 255 is the kernel's own",
        ),
        ("routes", [{"destination": "10.0.0.0/8"}] * 65, "has 65 entries; at most 64 are possible"),
        ("rules", [{"source": "10.1.1.1"}], "[0].table: table is missing; for example 100"),
        ("rules", [{"table": 5}], "[0].source: source or destination is missing"),
        (
            "rules",
            [{"source": "10.1.1.1", "destination": "::/0", "table": 5}],
            "[0].destination: ::/0 is of another address family than 10.1.1.1",
        ),
        ("neighbors", [{"destination": "10.1.1.1"}], "[0].hardwareAddr: hardwareAddr is missing"),
        (
            "neighbors",
            [{"destination": "10.1.1.1", "hardwareAddr": "01:00:5e:00:00:07"}],
            "is not the address of one interface",
        ),
        ("ethtool", {"features": {"rx-gro": "on"}}, "features[rx-gro]: must be true or false"),
        ("ethtool", {"feature": {}}, 'feature: unknown key "feature"; did you mean "features"?'),
        ("ethtool", {"features": {f"f{n}": True for n in range(65)}}, "features: has 65 entries"),
        ("gsoMaxSize", 600_000, "600000 is not between 0 and 524280"),
        ("disableEbpfPrograms", "yes", "must be true or false"),
        ("vrf", {}, "name: name is missing; for example blue"),
        ("vrf", {"name": "a/b"}, "'a/b' must not hold"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(key: str, value: object, message: str) -> None:
    """With the path of what is wrong inside of it."""
    with pytest.raises(RequestError) as caught:
        BY_NAME[key].read(value, ("where", key))
    assert str(caught.value).startswith(f"where.{key}")
    assert message in str(caught.value)
