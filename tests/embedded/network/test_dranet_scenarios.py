"""What dranet's own end-to-end tests do to links, on our driver, with parameters in its dialect.

Its suite (tests/e2e.bats, version 1.4) has 21 scenarios. By their order there, and what does each
here; [local] is `tests/embedded/local/test_dranet.py`, with manifests as dranet's and all parts of
a node, [guest] a case of `tests/reference/test_qemu_cards.py`.

 1 static address                    test_a_static_address; [local] static
 2 name that no device can have      test_a_static_address; [local] normalized
 3 ARP settings of the interface     [local] arp
 4 template, the node's addresses    test_what_the_node_has_follows_the_link; [local] kept
 5 routes, one behind the other      test_a_route_behind_another_one; [local] routed
 6 metrics are served on the node    `tests/embedded/framework/test_observability.py`
 7 MTU, MAC, offloads                test_mtu_mac_and_offloads; [local] tuned
 8 large packets (Big TCP)           test_large_packets; [local] large
 9 TC programs as attributes         none, see below
10 TCX programs as attributes        none, see below
11 programs are detached             test_programs_are_detached
12 two links of one request          [local] twins; test_two_links_that_keep_their_names
13 the same claim again              [local] test_a_link_comes_back_again_and_again
14 sockets of a driver that ended    [local] test_a_link_comes_back_again_and_again
15 pod that ends without a driver    [local] test_a_link_comes_back_again_and_again
16 permanent neighbours              test_what_the_node_has_follows_the_link; [local] kept
17 rules, routes of other tables     test_what_the_node_has_follows_the_link; [local] kept
18 an IPv6 network's route, once     [local] kept
19 routing by rules over a router    [local] host-0, host-1, router
20 the same with a VRF               [guest] claims that were written for dranet
21 device unchanged while it is lent [local] test_a_link_comes_back_again_and_again

9 and 10: nobody is told when a program is attached, so a slice would say what was true once, and a
device has no room for more attributes. `disableEbpfPrograms` detaches whatever there is.
Its two other suites are about webhooks that give addresses; AddressPools do that here.
"""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from netclaim.kernel import Netns
from netclaim.model import Attachment, Claim
from netclaim.network.devices.device import device_name
from netclaim.network.driver import LinkDriver
from netclaim.network.policy.levels import LABEL
from tests.support.dhcp_servers import udhcpd
from tests.support.kernel_support import ip, ip_json
from tests.support.link_parameters import (
    RECEIVE,
    SEGMENTATION,
    card_of,
    claim_written,
    neighbours,
    programs_of,
    programs_on,
    routes,
    rules,
    switched,
)
from tests.support.network_support import driver_for, plan_for, pod_of, run_on

pytestmark = pytest.mark.embedded

TRUSTED = {LABEL: "privileged"}  # the node uses the link
FURNISH = (
    "address add 192.0.2.7/24 dev eth1",
    "-6 address add 2001:db8::7/64 dev eth1 nodad",
    "route add 198.51.100.0/24 via 192.0.2.1 dev eth1",
    "route add 203.0.113.0/24 via 192.0.2.1 dev eth1 table 777",
    "rule add from 192.0.2.7 table 777 priority 500",
    "rule add iif eth1 table 777 priority 501",
    "rule add iif eth2 table 777 priority 502",
    "rule add fwmark 7 to 203.0.113.0/24 table 777 priority 503",
    "neigh add 192.0.2.9 lladdr 02:00:00:00:00:99 dev eth1",
)


@pytest.fixture
def driver(tmp_path: Path, cni_plugins: Path) -> LinkDriver:
    """The driver of the node."""
    return driver_for(tmp_path / "state", cni_plugins)


def attached(driver: LinkDriver, node: Netns, pod: Netns, claim: Claim) -> Attachment:
    """Prepare and attach."""

    async def attach() -> Attachment:
        return await driver.attach(await plan_for(driver, claim), pod_of(pod))

    return run_on(node, attach)


def addresses(netns: Netns, link: str) -> list[str]:
    """The addresses of a link that are not of the link alone."""
    (shown,) = ip_json(netns, "address", "show", "dev", link)
    return sorted(each["local"] for each in shown["addr_info"] if each["scope"] == "global")


@pytest.mark.parametrize("link", ["eth1", "mlx5_6"])
def test_a_static_address(node: Netns, pod: Netns, driver: LinkDriver, link: str) -> None:
    """On a link whose name cannot be a device's as well; the status has the address."""
    if link != "eth1":
        ip(node, "link", "add", link, "type", "veth", "peer", "name", "other")
    written = {"interface": {"name": "eth99", "addresses": ["169.254.169.13/24"]}}
    before = card_of(node, link)
    attachment = attached(driver, node, pod, claim_written(written, device=device_name(link)))
    assert addresses(pod, "eth99") == ["169.254.169.13"]
    assert attachment.interface is not None
    assert attachment.interface.ips == ("169.254.169.13/24",)
    run_on(node, partial(driver.detach, attachment))
    assert card_of(node, link) == before


def test_a_route_behind_another_one(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """A gateway outside of the address's network is reached by a route on the link."""
    written = {
        "interface": {"name": "eth99", "addresses": ["169.254.169.13/32"]},
        "routes": [
            {"destination": "169.254.169.0/24", "gateway": "169.254.169.1"},
            {"destination": "169.254.169.1/32", "scope": 253},
        ],
    }
    attached(driver, node, pod, claim_written(written))
    assert routes(pod, "-4") == [("169.254.169.0/24", "169.254.169.1"), ("169.254.169.1", "")]


def test_mtu_mac_and_offloads(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """All are the link's own again when it is home."""
    before = card_of(node, "eth1")
    written = {
        "interface": {
            "name": "fast0",
            "addresses": ["169.254.169.14/24"],
            "mtu": 4321,
            "hardwareAddr": "00:11:22:33:44:55",
        },
        "ethtool": {
            "features": {
                "tcp-segmentation-offload": False,
                "generic-receive-offload": False,
                "large-receive-offload": False,
            }
        },
    }
    attachment = attached(driver, node, pod, claim_written(written))
    (link,) = ip_json(pod, "link", "show", "fast0")
    assert (link["mtu"], link["address"]) == (4321, "00:11:22:33:44:55")
    assert not switched(pod, "fast0", SEGMENTATION)
    assert not switched(pod, "fast0", RECEIVE)
    assert attachment.interface is not None
    assert attachment.interface.hardware_address == "00:11:22:33:44:55"
    run_on(node, partial(driver.detach, attachment))
    assert card_of(node, "eth1") == before


def test_large_packets(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """Sizes, offloads and an MTU at once."""
    written = {
        "interface": {
            "name": "fast1",
            "mtu": 8896,
            "gsoMaxSize": 65536,
            "groMaxSize": 65536,
            "gsoIPv4MaxSize": 65536,
            "groIPv4MaxSize": 65536,
        },
        "ethtool": {"features": {"tcp-segmentation-offload": True, "rx-gro": True}},
    }
    attached(driver, node, pod, claim_written(written))
    (link,) = ip_json(pod, "link", "show", "fast1")
    assert (link["mtu"], link["gso_max_size"], link["gro_max_size"]) == (8896, 65536, 65536)
    assert switched(pod, "fast1", SEGMENTATION)
    assert switched(pod, "fast1", RECEIVE)


def test_what_the_node_has_follows_the_link(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """Without addresses of its own; rules that name another link stay, and all of it is home."""
    for command in FURNISH:
        ip(node, *command.split())
    before = card_of(node, "eth1"), rules(node), neighbours(node)
    written: dict[str, Any] = {"interface": {"name": "fast0"}}
    attachment = attached(driver, node, pod, claim_written(written, labels=TRUSTED))
    assert addresses(pod, "fast0") == ["192.0.2.7", "2001:db8::7"]
    assert attachment.interface is not None
    assert attachment.interface.ips == ("192.0.2.7/24", "2001:db8::7/64")
    assert routes(pod, "-4") == [("198.51.100.0/24", "192.0.2.1"), ("203.0.113.0/24", "192.0.2.1")]
    assert neighbours(pod) == [("192.0.2.9", "02:00:00:00:00:99")]
    found = rules(pod)
    assert [rule["priority"] for rule in found] == [500, 501, 503]
    assert found[1]["iif"] == "fast0"
    assert found[2]["fwmark"] == "0x7"
    run_on(node, partial(driver.detach, attachment))
    assert (card_of(node, "eth1"), rules(node), neighbours(node)) == before
    assert rules(pod) == []


def test_programs_are_detached(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """Those that saw the link's packets on the node do not in the pod."""
    written = {"interface": {"name": "fast0", "disableEbpfPrograms": True}}
    with programs_on(node, "eth1"):
        attached(driver, node, pod, claim_written(written, labels=TRUSTED))
        assert programs_of(pod, "fast0") == []


def test_rules_and_neighbours(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """Packets from the address are routed by a table of their own."""
    written = {
        "interface": {"name": "fast0", "addresses": ["10.1.0.7/24"]},
        "routes": [{"destination": "0.0.0.0/0", "gateway": "10.1.0.1", "table": 100}],
        "rules": [{"source": "10.1.0.7/32", "table": 100, "priority": 1000}],
        "neighbors": [{"destination": "10.1.0.1", "hardwareAddr": "02:00:00:00:00:01"}],
    }
    attached(driver, node, pod, claim_written(written))
    (way,) = ip_json(pod, "route", "get", "192.0.2.1", "from", "10.1.0.7")
    assert (way["dev"], way["gateway"], way["table"]) == ("fast0", "10.1.0.1", "100")
    assert neighbours(pod) == [("10.1.0.1", "02:00:00:00:00:01")]


def test_two_links_that_keep_their_names(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """Without a name, each is called in the pod as on the node."""
    for link in ("eth1", "eth2"):
        written = {"interface": {"mtu": 1400}}
        attached(driver, node, pod, claim_written(written, device=link, uid=link))
    assert {link["ifname"] for link in ip_json(pod, "link")} == {"lo", "eth1", "eth2"}


def test_a_server_gives_the_address(
    node: Netns, pod: Netns, driver: LinkDriver, tmp_path: Path
) -> None:
    """By DHCP, and what the node has on the link stays there."""
    ip(node, "address", "add", "192.0.2.7/24", "dev", "eth1")
    written = {"interface": {"name": "fast0", "dhcp": True}}
    with udhcpd(node, "eth1-peer", tmp_path / "server") as server:
        attachment = attached(driver, node, pod, claim_written(written, labels=TRUSTED))
        (address,) = addresses(pod, "fast0")
        assert [each.address for each in server.leases()] == [address]
        run_on(node, partial(driver.detach, attachment))
        assert server.wait_released()
        assert addresses(node, "eth1") == ["192.0.2.7"]
