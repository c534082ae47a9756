"""Where our chained plugins differ from the reference programs, and why that is better.

Each test does the same in both ways and shows both.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netclaim.cni import CniError
from netclaim.kernel import call_in, open_netns
from netclaim.kernel.host.sysctls.sysctl import read_sysctl
from tests.reference.site.chain_state import link_state, traffic_state
from tests.reference.site.cni_site import ip, run
from tests.reference.site.plugin_cases import MAC, POOL, link
from tests.reference.site.plugin_site import Site, both
from tests.reference.site.plugin_state import store_state

pytestmark = pytest.mark.reference

Ways = Callable[[Callable[[Site], Any]], list[Any]]

PAIR = {"type": "bridge", "bridge": "br0", "ipam": POOL}
TUNING = {"type": "tuning", "dataDir": "DIR/tuning"}
SLOW = {"type": "bandwidth", "ingressRate": 8_000_000, "ingressBurst": 800_000}
BOTH = SLOW | {"egressRate": 8_000_000, "egressBurst": 800_000}
IFB = "bwp73decd76befe"  # of the network "net" and the container "c0ffee", by their hash
FILTER = "net.ipv4.conf.IFNAME.arp_filter"


@pytest.fixture
def ways(cni_plugins: Path, tmp_path: Path) -> Ways:
    """Does the same with the reference programs and with ours; returns what each came to."""
    return lambda action: both(cni_plugins, tmp_path, action)


def conf(config: dict[str, Any], previous: dict[str, Any] | None = None) -> dict[str, Any]:
    """Complete a configuration."""
    before = {"prevResult": previous} if previous else {}
    return config | {"name": "net", "cniVersion": "1.1.0"} | before


def add(site: Site, *chain: dict[str, Any]) -> dict[str, Any]:
    """Attach by a chain; returns its result."""
    result: dict[str, Any] = {}
    for config in chain:
        result = json.loads(site.call("ADD", conf(config, result)))
    return result


def sysctl_in(netns: str, name: str) -> str:
    """Read a setting in a namespace."""
    with open_netns(f"/run/netns/{netns}") as opened:
        return call_in(opened, lambda: read_sysctl(name))


def fails(
    site: Site, command: str, config: dict[str, Any], previous: Any = None, **keys: Any
) -> bool:
    """Whether a call fails."""
    try:
        site.call(command, conf(config, previous), **keys)
    except CniError:
        return True
    return False


def test_a_mac_in_another_form_is_the_same_mac(ways: Ways) -> None:
    """The result has the MAC as the kernel writes it, so that CHECK finds it again."""
    tuning = TUNING | {"mac": MAC.replace(":", "-")}

    def act(site: Site) -> tuple[str, bool]:
        result = add(site, PAIR, tuning)
        told = next(link["mac"] for link in result["interfaces"] if link["name"] == "net1")
        return told, fails(site, "CHECK", tuning, result)

    assert ways(act) == [(MAC.replace(":", "-"), True), (MAC, False)]


def test_several_numbers_in_a_sysctl_are_the_same_numbers(ways: Ways) -> None:
    """The kernel separates the numbers of a setting by tabs, people by spaces."""
    tuning = TUNING | {"sysctl": {"net.ipv4.tcp_rmem": "4096 131072 6291456"}}

    def act(site: Site) -> bool:
        return fails(site, "CHECK", tuning, add(site, PAIR, tuning))

    assert ways(act) == [True, False]


def test_sysctls_may_come_by_argument_alone(ways: Ways) -> None:
    """Settings in `args.cni` do not need others to stand beside; the reference program crashes."""
    tuning = TUNING | {"args": {"cni": {"sysctl": {FILTER: "1"}}}}

    def act(site: Site) -> bool:
        return fails(site, "ADD", tuning, add(site, PAIR))

    assert ways(act) == [True, False]


def test_two_keys_for_one_setting_are_refused(ways: Ways) -> None:
    """Of two values the reference sets both, in an order that is never the same."""
    tuning = TUNING | {"sysctl": {FILTER: "1", "net/ipv4/conf/net1/arp_filter": "0"}}

    def act(site: Site) -> bool:
        return fails(site, "ADD", tuning, add(site, PAIR))

    assert ways(act) == [False, True]


def test_sysctls_are_set_in_the_container_alone(ways: Ways) -> None:
    """The host has a setting of the same name, which stays as it was; in this both are alike."""
    name = "net/ipv4/conf/all/arp_filter"

    def act(site: Site) -> list[str]:
        before = sysctl_in(site.host, name)
        add(site, PAIR, TUNING | {"sysctl": {name: "1"}})
        return [before, sysctl_in(site.host, name), sysctl_in(site.pod, name)]

    assert ways(act) == [["0", "0", "1"]] * 2


def test_a_link_that_refuses_a_setting_has_none_of_them(ways: Ways) -> None:
    """An ADD that fails puts back what it changed, and keeps no file about it."""
    tuning = TUNING | {"mac": MAC, "mtu": 100_000}

    def act(site: Site) -> tuple[bool, bool]:
        assert fails(site, "ADD", tuning, add(site, PAIR))
        changed = link_state(site.pod)["links"]["net1"]["address"] == MAC
        return changed, any("tuning" in name for name in store_state(site.directory))

    assert ways(act) == [(True, True), (False, False)]


def test_a_namespace_that_is_gone_leaves_no_file(ways: Ways) -> None:
    """How a link was is forgotten with the link."""
    tuning = TUNING | {"mtu": 1300}

    def act(site: Site) -> bool:
        add(site, PAIR, tuning)
        site.call("DEL", conf(tuning), netns="")
        return any("tuning" in name for name in store_state(site.directory))

    assert ways(act) == [True, False]


def test_a_del_does_not_ask_for_what_it_does_not_need(ways: Ways) -> None:
    """DEL works with keys that make no sense, and with the namespace gone."""

    def act(site: Site) -> list[bool]:
        return [
            fails(site, "DEL", SLOW | {"ingressBurst": 0}),
            fails(site, "DEL", TUNING | {"sysctl": {FILTER: 1}}),
            fails(site, "DEL", {"type": "sbr"}, netns=""),
        ]

    assert ways(act) == [[True] * 3, [False] * 3]


def test_a_limit_that_is_gone_is_noticed(ways: Ways) -> None:
    """CHECK wants the limits to be there; the reference looks only at those that are."""

    def act(site: Site) -> list[bool]:
        result = add(site, PAIR, BOTH)
        run("tc", "-n", site.host, "qdisc", "del", "dev", IFB, "root")
        one = fails(site, "CHECK", BOTH, result)
        host_end = next(each["name"] for each in result["interfaces"] if "veth" in each["name"])
        run("tc", "-n", site.host, "qdisc", "del", "dev", host_end, "root")
        return [one, fails(site, "CHECK", SLOW, result)]

    assert ways(act) == [[False, False], [True, True]]


def test_a_limit_that_cannot_be_whole_is_none(ways: Ways) -> None:
    """An ADD that fails at what goes out does not leave a limit on what comes in."""

    def act(site: Site) -> bool:
        result = add(site, PAIR)
        ip("-n", site.host, *link(IFB, "bridge").split())
        assert fails(site, "ADD", BOTH, result)
        return any(queue["kind"] == "tbf" for queue in traffic_state(site.host)["queues"])

    assert ways(act) == [True, False]


def test_a_great_burst_is_not_taken_for_a_small_one(ways: Ways) -> None:
    """A burst beyond what the kernel can hold is the most that it can; the reference's wraps."""
    limit = SLOW | {"ingressRate": 80_000, "ingressBurst": 2**31 - 1}

    def act(site: Site) -> int:
        add(site, PAIR, limit)
        queues = traffic_state(site.host)["queues"]
        burst: int = next(each["options"]["burst"] for each in queues if each["kind"] == "tbf")
        return burst

    reference, ours = ways(act)
    assert reference < ours == pytest.approx(10_000 * 2**32 * 64e-9, rel=1e-3)


def test_a_number_that_the_kernel_has_no_room_for_is_refused(ways: Ways) -> None:
    """The reference cuts it: the table is another, and the queue is of four thousand million."""

    def act(site: Site) -> list[bool]:
        result = add(site, PAIR)
        return [
            fails(site, "ADD", {"type": "sbr", "table": 1 << 32}, result),
            fails(site, "ADD", TUNING | {"txQLen": -1}, result),
        ]

    assert ways(act) == [[False, False], [True, True]]


def test_a_rule_that_is_gone_is_noticed(ways: Ways) -> None:
    """CHECK wants a rule for each address; the reference looks at nothing."""

    def act(site: Site) -> bool:
        result = add(site, PAIR, {"type": "sbr"})
        ip("-n", site.pod, "rule", "del", "from", "10.9.0.2")
        return fails(site, "CHECK", {"type": "sbr"}, result)

    assert ways(act) == [False, True]


def test_a_table_that_has_routes_is_not_taken(ways: Ways) -> None:
    """Routes that others put into a table stay the only ones in it."""

    def act(site: Site) -> str:
        ip("-n", site.pod, "route", "add", "192.0.2.0/24", "dev", "lo", "table", "100")
        add(site, PAIR, {"type": "sbr"})
        rules = traffic_state(site.pod)["rules"][0]
        (table,) = [rule["table"] for rule in rules if rule["src"] == "10.9.0.2"]
        return str(table)

    assert ways(act) == ["100", "101"]
