"""Where ours differ from the reference programs, and why that is better: docs/cni.md lists them.

Each test does the same in both ways and shows both.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netclaim.cni import CniError, PluginMissingError
from tests.reference.site.cni_site import ip
from tests.reference.site.plugin_cases import MAC, POOL, POOL_OF_NONE, STATIC, link
from tests.reference.site.plugin_site import Site, both
from tests.reference.site.plugin_state import namespace_state, store_state

pytestmark = pytest.mark.reference

Both = Callable[[Callable[[Site], Any]], list[Any]]

MACVLAN = {"type": "macvlan", "master": "eth1", "ipam": POOL}
BRIDGE = {"type": "bridge", "bridge": "br0"}
NFT = {"ipMasq": True, "ipMasqBackend": "nftables"}


@pytest.fixture
def ways(cni_plugins: Path, tmp_path: Path) -> Both:
    """Does the same with the reference programs and with ours; returns what each came to."""
    return lambda action: both(cni_plugins, tmp_path, action)


def conf(config: dict[str, Any], version: str = "1.1.0", **more: Any) -> dict[str, Any]:
    """Complete a configuration."""
    return config | {"name": "net", "cniVersion": version} | more


def add(site: Site, config: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """Attach; returns the result."""
    result: dict[str, Any] = json.loads(site.call("ADD", config, **keys))
    return result


def fails(site: Site, command: str, config: dict[str, Any], **keys: Any) -> bool:
    """Whether a call fails."""
    try:
        site.call(command, config, **keys)
    except (CniError, PluginMissingError):
        return True
    return False


def leases(site: Site) -> list[str]:
    """Return the addresses that are taken."""
    names = (Path(name).name for name in store_state(site.directory))
    return sorted(name for name in names if name[0].isdigit())


def pod_links(site: Site) -> set[str]:
    """Return the names of the pod's links, but for its loopback."""
    return set(namespace_state(site.pod)["links"])


def test_an_add_that_fails_leaves_no_link(ways: Both) -> None:
    """The link of a failed ADD is gone at once; the reference leaves it for DEL to remove."""
    seen = []

    def act(site: Site) -> set[str]:
        assert fails(site, "ADD", conf(MACVLAN | {"ipam": POOL_OF_NONE}))
        seen.append(fails(site, "ADD", conf(BRIDGE | {"ipam": POOL_OF_NONE}), ifname="net2"))
        return pod_links(site)

    assert ways(act) == [{"net1", "net2"}, set()]
    assert seen == [True, True]


def test_a_mac_that_is_none_leaves_no_bridge(ways: Both) -> None:
    """What cannot be read is refused before anything is made."""

    def act(site: Site) -> bool:
        assert fails(site, "ADD", conf(BRIDGE), args=(("MAC", "home"),))
        return "br0" in namespace_state(site.host)["links"]

    assert ways(act) == [True, False]


def test_a_del_does_not_ask_for_what_it_does_not_need(ways: Both) -> None:
    """DEL works with the master gone and with keys that make no sense any more."""

    def act(site: Site) -> list[Any]:
        broken: list[dict[str, Any]] = [
            {"type": "vlan", "master": "eth9", "vlanId": 5, "ipam": POOL},
            {"type": "ipvlan", "ipam": POOL},
            BRIDGE | {"vlanTrunk": [{"minID": 9}], "ipam": POOL},
            {"type": "host-device", "ipam": POOL},
            MACVLAN | {"mode": 7},
            BRIDGE | {"mtu": "wide", "ipam": POOL},
            {"type": "ptp", "mtu": "wide", "ipam": POOL},
        ]
        failed = []
        for config in broken:
            add(site, conf({"type": "host-local", "ipam": POOL}))
            failed.append(fails(site, "DEL", conf(config)))
            site.call("DEL", conf({"type": "host-local", "ipam": POOL}))
        return failed

    assert ways(act) == [[True] * 7, [False] * 7]


def test_a_del_removes_the_link_though_the_lease_cannot_be_released(ways: Both) -> None:
    """Each part of a DEL is tried; the error of the other is told all the same."""

    def act(site: Site) -> set[str]:
        add(site, conf({"type": "macvlan", "master": "eth1"}))
        assert fails(site, "DEL", conf(MACVLAN | {"ipam": {"type": "nobody"}}))
        return pod_links(site)

    assert ways(act) == [{"net1"}, set()]


def test_check_works_for_a_bridge_without_addresses(ways: Both) -> None:
    """The reference asks for address management that is not configured."""

    def act(site: Site) -> bool:
        result = add(site, conf(BRIDGE))
        return fails(site, "CHECK", conf(BRIDGE, prevResult=result))

    assert ways(act) == [True, False]


def test_check_finds_routes_in_their_own_table(ways: Both) -> None:
    """The reference looks for every route in the main table."""
    ipam = STATIC | {"routes": [{"dst": "203.0.113.0/24", "gw": "192.0.2.9", "table": 77}]}
    config = conf(MACVLAN | {"ipam": ipam})

    def act(site: Site) -> bool:
        result = add(site, config)
        return fails(site, "CHECK", config | {"prevResult": result})

    assert ways(act) == [True, False]


def test_check_knows_that_a_single_address_has_no_route(ways: Both) -> None:
    """An IPv4 address with the prefix 32 comes without a route to its network."""
    ipam = {"type": "static", "addresses": [{"address": "192.0.2.5/32"}]}
    config = conf(MACVLAN | {"ipam": ipam})

    def act(site: Site) -> bool:
        result = add(site, config)
        return fails(site, "CHECK", config | {"prevResult": result})

    assert ways(act) == [True, False]


def test_check_finds_several_routes_to_one_network(ways: Both) -> None:
    """The reference does not know IPv6 routes again that the kernel has put together."""
    routes = [{"dst": "2001:db8:1::/48", "gw": f"2001:db8::{number}"} for number in (8, 9)]
    config = conf(MACVLAN | {"ipam": STATIC | {"routes": routes}})

    def act(site: Site) -> bool:
        result = add(site, config)
        return fails(site, "CHECK", config | {"prevResult": result})

    assert ways(act) == [True, False]


@pytest.mark.parametrize(
    "wish", [{"table": 1 << 32}, {"priority": 1 << 32}, {"scope": 300}], ids=str
)
def test_a_number_that_the_kernel_has_no_room_for_is_refused(
    ways: Both, wish: dict[str, int]
) -> None:
    """The reference cuts it, and so the route has another one than was asked for."""
    ipam = STATIC | {"routes": [{"dst": "203.0.113.0/24", "gw": "192.0.2.9"} | wish]}
    assert ways(lambda site: fails(site, "ADD", conf(MACVLAN | {"ipam": ipam}))) == [False, True]


def test_a_bridge_is_not_made_by_another_name(ways: Both) -> None:
    """Of a name with %d the kernel makes another; the reference leaves that bridge behind."""

    def act(site: Site) -> bool:
        assert fails(site, "ADD", conf(BRIDGE | {"bridge": "br%d"}))
        return "br0" in namespace_state(site.host)["links"]

    assert ways(act) == [True, False]


def test_a_tap_does_not_take_the_place_of_a_link(ways: Both) -> None:
    """The reference answers with the link that has the name, and leaves a tap of another name."""

    def act(site: Site) -> tuple[bool, int]:
        ip("-n", site.pod, *link("net1", "bridge").split())
        return fails(site, "ADD", conf({"type": "tap"})), len(pod_links(site))

    assert ways(act) == [(False, 2), (True, 1)]


def test_the_broadcast_address_is_nobodys(ways: Both) -> None:
    """A range that starts where its subnet ends is refused; the reference leases that address."""
    ipam = POOL | {"ranges": [[{"subnet": "10.9.0.0/24", "rangeStart": "10.9.0.255"}]]}
    config = conf({"type": "host-local", "ipam": ipam})
    assert ways(lambda site: fails(site, "ADD", config)) == [False, True]


def test_a_route_has_its_mtu(ways: Both) -> None:
    """CNI 1.1.0 has mtu and advmss for routes; the reference hands them on, but sets neither."""
    ipam = STATIC | {"routes": [{"dst": "203.0.113.0/24", "mtu": 1400, "advmss": 1300}]}

    def act(site: Site) -> Any:
        add(site, conf(MACVLAN | {"ipam": ipam}))
        routes = [json.loads(route) for route in namespace_state(site.pod)["routes"]]
        return next(one for one in routes if one["dst"] == "203.0.113.0/24").get("metrics")

    assert ways(act) == [None, [{"mtu": 1400, "advmss": 1300}]]


def test_a_tap_of_an_owner_and_a_group_has_its_mac_and_mtu(ways: Both) -> None:
    """The reference forgets both where owner and group are given."""
    config = conf({"type": "tap", "owner": 0, "group": 0, "mac": MAC, "mtu": 1300})

    def act(site: Site) -> tuple[bool, int]:
        add(site, config)
        made = namespace_state(site.pod)["links"]["net1"]
        return made["address"] == MAC, made["mtu"]

    assert ways(act) == [(False, 1500), (True, 1300)]


@pytest.mark.parametrize("config", [BRIDGE | NFT | {"macspoofchk": True}, NFT | {"type": "ptp"}])
def test_rules_go_though_the_namespace_is_gone(ways: Both, config: dict[str, Any]) -> None:
    """The reference leaves a container's packet rules behind when its namespace ended first."""
    config = conf(config | {"ipam": POOL})

    def act(site: Site) -> list[str]:
        add(site, config)
        ip("netns", "del", site.pod)
        site.call("DEL", config, netns="")
        rules = namespace_state(site.host)["rules"]
        assert leases(site) == []
        return [rule["rule"]["comment"] for rule in rules if "comment" in rule.get("rule", {})]

    reference, ours = ways(act)
    assert reference
    assert ours == []


def test_the_host_itself_is_refused_before_anything_is_done(ways: Both) -> None:
    """The reference attaches the host, prints a result, and then an error that nobody can read."""

    def act(site: Site) -> list[Any]:
        with pytest.raises(CniError) as caught:
            site.call("ADD", conf(MACVLAN), netns=f"/run/netns/{site.host}")
        return [caught.value.code, leases(site)]

    assert ways(act) == [[0, ["10.9.0.2"]], [8, []]]


def test_garbage_collection_releases_what_nobody_has(ways: Both) -> None:
    """GC takes back leases and rules of attachments that are not valid; the reference's nothing."""
    config = conf(BRIDGE | {"ipam": POOL} | NFT)
    other = config | {"name": "other"}
    valid = {"cni.dev/valid-attachments": [{"containerID": "c0ffee", "ifname": "net1"}]}

    def act(site: Site) -> list[Any]:
        add(site, config)
        add(site, config, ifname="net2", container_id="dead")
        add(site, other, ifname="net3", container_id="dead")
        site.call("GC", config | valid)
        rules = namespace_state(site.host)["rules"]
        comments = [rule["rule"]["comment"] for rule in rules if "comment" in rule.get("rule", {})]
        return [leases(site), len(comments)]

    reference, ours = ways(act)
    assert reference == [["10.9.0.2", "10.9.0.2", "10.9.0.3"], 3]
    assert ours == [["10.9.0.2", "10.9.0.2"], 2]


def test_a_lease_that_a_crash_left_empty_is_free(ways: Both) -> None:
    """A file without content is nobody's: the reference never hands its address out again."""
    config = conf({"type": "host-local", "ipam": POOL})

    def act(site: Site) -> str:
        store = site.directory / "net"
        store.mkdir(parents=True)
        (store / "10.9.0.2").touch()
        address: str = add(site, config)["ips"][0]["address"]
        return address

    assert ways(act) == ["10.9.0.3/24", "10.9.0.2/24"]


def test_a_failed_add_keeps_what_the_attachment_had(ways: Both) -> None:
    """Of an ADD that fails only its own leases are released, not those of one before it."""
    net, net6 = [{"subnet": "10.9.0.0/24"}], [{"subnet": "2001:db8::/64"}]
    first = conf({"type": "host-local", "ipam": POOL | {"ranges": [net]}})
    second = conf(
        {"type": "host-local", "ipam": POOL | {"ranges": [net, net6]}},
        runtimeConfig={"ips": ["10.9.0.9", "2001:db8::1"]},  # the latter is the gateway's
    )

    def act(site: Site) -> list[str]:
        add(site, first)
        assert fails(site, "ADD", second)
        return leases(site)

    assert ways(act) == [[], ["10.9.0.2"]]


@pytest.mark.parametrize("second", ["MTU", "mtU"])
def test_two_spellings_of_a_key_are_refused(ways: Both, second: str) -> None:
    """The reference takes the one that comes last; a reader may have looked at the other."""

    def act(site: Site) -> int:
        config = conf(MACVLAN, mtu=1400) | {second: 1300}
        if fails(site, "ADD", config):
            return 0
        mtu: int = namespace_state(site.pod)["links"]["net1"]["mtu"]
        return mtu

    assert ways(act) == [1300, 0]


def test_a_network_of_leases_is_no_symbolic_link(ways: Both) -> None:
    """The reference keeps its leases wherever the link leads."""
    config = conf({"type": "host-local", "ipam": POOL})

    def act(site: Site) -> list[str]:
        elsewhere = site.directory.parent / f"elsewhere-{site.way}"
        elsewhere.mkdir()
        site.directory.mkdir(parents=True, exist_ok=True)
        (site.directory / "net").symlink_to(elsewhere)
        fails(site, "ADD", config)
        return sorted(path.name for path in elsewhere.iterdir())

    assert ways(act) == [["10.9.0.2", "last_reserved_ip.0", "lock"], []]


def test_a_lease_that_is_a_symbolic_link_is_nobodys(ways: Both) -> None:
    """The reference takes what the link leads to for a lease, and so the file's words for an id."""
    config = conf({"type": "host-local", "ipam": POOL})

    def act(site: Site) -> bool:
        outside = site.directory.parent / f"outside-{site.way}"
        outside.write_text("c0ffee\r\nnet1")
        (site.directory / "net").mkdir(parents=True)
        (site.directory / "net" / "10.9.0.2").symlink_to(outside)
        return fails(site, "CHECK", config | {"prevResult": {"cniVersion": "1.1.0"}})

    assert ways(act) == [False, True]
