"""Addresses, a MAC and an MTU for a network that somebody else wrote."""

from collections.abc import Mapping
from typing import Any

import pytest

from netclaim.cni import parse_network
from netclaim.errors import RequestError
from netclaim.network.request.keys import BY_NAME
from netclaim.network.request.wishes import WISHES, Wishes, with_wishes

HOST_LOCAL = {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]}
ALL = Wishes(ips=("10.10.1.7/24",), mac="02:00:00:00:00:07", mtu=1400)


def made(wishes: Wishes, *plugins: dict[str, Any]) -> list[Mapping[str, Any]]:
    """The plugins of a network with wishes."""
    network = parse_network({"cniVersion": "1.0.0", "name": "n", "plugins": list(plugins)})
    return [p.config for p in with_wishes(network, wishes, {"ips": ("at", "ips")}).plugins]


def test_wishes_reach_the_plugin_that_fulfils_them() -> None:
    """Addresses and MAC come as the runtime's word, the MTU as the plugin's own key."""
    assert made(ALL, {"type": "macvlan", "ipam": HOST_LOCAL}) == [
        {
            "type": "macvlan",
            "ipam": HOST_LOCAL,
            "mtu": 1400,
            "runtimeConfig": {"ips": ["10.10.1.7/24"], "mac": "02:00:00:00:00:07"},
        }
    ]


def test_a_later_plugin_may_be_the_one() -> None:
    """host-device takes neither MAC nor MTU; tuning behind it does."""
    wishes = Wishes(mac="02:00:00:00:00:07", mtu=1400)
    assert made(wishes, {"type": "host-device"}, {"type": "tuning"}) == [
        {"type": "host-device"},
        {"type": "tuning", "mtu": 1400, "runtimeConfig": {"mac": "02:00:00:00:00:07"}},
    ]


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
    plugin = {"type": "macvlan", "ipam": HOST_LOCAL}
    assert hasattr(ALL, wish), f"add {wish} to Wishes in network/request/wishes.py"
    alone = Wishes(**{wish: getattr(ALL, wish)})
    assert made(alone, plugin) != [plugin], f"with_wishes makes nothing of {wish}"
