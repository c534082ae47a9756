"""What the node had on a link that it lent: routes, neighbours, queue, sysctls, card settings."""

import asyncio
import ctypes
import json
import os
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from netclaim.kernel import Rtnl, find_link, open_netns
from netclaim.kernel.host.sysctls.sysctl import write_sysctl
from netclaim.kernel.state.card.card_settings import CardSettings, read_card, write_card
from netclaim.kernel.state.xdp import GENERIC, set_program
from netclaim.plugins.registry import in_process_plugins
from tests.reference.site.cni_site import ip, run
from tests.reference.site.link_state import card, in_netns, seen_on
from tests.reference.site.plugin_site import Site, site_of
from tests.support.killed import killed_at

pytestmark = pytest.mark.reference

CONFIG = {"cniVersion": "1.1.0", "name": "n", "type": "host-device", "device": "eth1"}
FURNISH = (
    "link set eth1 up",
    "address add 192.0.2.7/24 dev eth1",
    "address add 2001:db8::7/64 dev eth1 nodad",
    "route add 198.51.100.0/24 via 192.0.2.1 dev eth1 metric 50 mtu 1300",
    "route add 203.0.113.0/24 dev eth1 src 192.0.2.7",
    "route add 203.0.113.128/25 via 203.0.113.1 dev eth1 table 777 proto static",
    "route add unreachable 10.99.0.0/16",
    "-6 route add 2001:db8:5::/48 via 2001:db8::1 dev eth1 proto 99",
    "-6 route add 2001:db8:6::/48 dev eth1 table 777",
    "link add other type veth peer name other-peer",
    "link set other up",
    "link set other-peer up",
    "address add 10.88.0.1/24 dev other",
    "address add 2001:db8:88::1/64 dev other nodad",
    (
        "route add 192.88.0.0/16 nexthop via 192.0.2.1 dev eth1 weight 3 "
        "nexthop via 10.88.0.9 dev other"
    ),
    (
        "-6 route add 2001:db8:7::/48 nexthop via 2001:db8::1 dev eth1 "
        "nexthop via 2001:db8:88::9 dev other"
    ),
    "neigh add 192.0.2.9 lladdr 02:00:00:00:00:99 dev eth1",
    "-6 neigh add 2001:db8::9 lladdr 02:00:00:00:00:98 dev eth1 router",
    "neigh add proxy 192.0.2.10 dev eth1",
    "link property add dev eth1 altname uplink-of-the-rack",
)
QUEUE = "qdisc replace dev eth1 root handle 7: tbf rate 9mbit burst 10k limit 9k"
SYSCTLS = {
    "net/ipv4/conf/eth1/rp_filter": "2",
    "net/ipv4/conf/eth1/arp_ignore": "1",
    "net/ipv6/conf/eth1/accept_ra": "0",
    "net/ipv4/neigh/eth1/gc_stale_time": "77",
}
PASS_ALL = struct.pack("=BBhiBBhi", 0xB7, 0, 0, 2, 0x95, 0, 0, 0)  # return XDP_PASS
SYS_BPF, BPF_PROG_LOAD, BPF_PROG_TYPE_XDP = 321, 5, 6
STEPS_AT_LEAST = 12  # fewer would mean that most are not seen
FOREVER = 0xFFFF_FFFF  # of an address
SEGMENTATION = 1 << 16  # NETIF_F_TSO, in the first block


@pytest.fixture
def site(cni_plugins: Path, tmp_path: Path) -> Iterator[Site]:
    """A host that uses its eth1 in every way; ours serves."""
    with site_of("ours", cni_plugins, tmp_path / "ours") as site:
        for command in FURNISH:
            ip("-n", site.host, *command.split())
        run("tc", "-n", site.host, *QUEUE.split())
        for name, value in SYSCTLS.items():
            in_netns(site.host, partial(write_sysctl, name, value))
        yield site


def seen(site: Site) -> dict[str, Any]:
    """All that the host has on eth1."""
    return seen_on(site.host, "eth1")


def test_what_the_node_had_on_it_comes_back(site: Site) -> None:
    """Whatever the container did to the link meanwhile, nothing is different afterwards."""
    before = seen(site)
    site.call("ADD", CONFIG)
    with open_netns(f"/run/netns/{site.pod}") as pod, Rtnl.open(pod) as rtnl:
        first, *others = read_card(rtnl, "net1").features
        assert write_card(rtnl, "net1", CardSettings({}, (first ^ SEGMENTATION, *others))) == []
    assert card(site.pod, "net1") != before["features"]
    run("tc", "-n", site.pod, *["qdisc", "replace", "dev", "net1", "root", "pfifo", "limit", "3"])
    site.call("DEL", CONFIG)
    assert seen(site) == before


@pytest.mark.parametrize("command", ["ADD", "DEL"])
def test_it_comes_back_after_a_crash_at_any_step(site: Site, command: str) -> None:
    """A DEL by a new process, which knows what is on the disk, leaves nothing different."""
    before, step = seen(site), 0
    while True:
        if command == "DEL":
            site.call("ADD", CONFIG)
        killed = killed_at(step, lambda: site.call(command, CONFIG))
        own = in_process_plugins(site.plugins, state_dir=site.directory.parent / "lent")
        site.plugins = own["host-device"]
        site.call("DEL", CONFIG)
        assert seen(site) == before, f"killed at step {step}"
        if not killed:
            break
        step += 1
    assert step > STEPS_AT_LEAST


def test_a_lease_goes_on_for_as_long_as_it_would_have(site: Site) -> None:
    """An address that ends by itself is back with what is left of its life."""
    life = ["valid_lft", "3600", "preferred_lft", "1800"]
    ip("-n", site.host, "address", "add", "192.0.2.20/24", "dev", "eth1", *life)
    site.call("ADD", CONFIG)
    site.call("DEL", CONFIG)
    (shown,) = json.loads(run("ip", "-n", site.host, "-j", "-4", "address", "show", "dev", "eth1"))
    lives = {
        each["local"]: (each["preferred_life_time"], each["valid_life_time"])
        for each in shown["addr_info"]
    }
    assert lives["192.0.2.7"] == (FOREVER, FOREVER)
    preferred, valid = lives["192.0.2.20"]
    assert 0 < preferred <= 1800 < valid <= 3600


def test_a_route_that_somebody_else_entered_meanwhile_is_left_alone(site: Site) -> None:
    """The node's own word of today counts more than what is remembered."""
    site.call("ADD", CONFIG)
    ip("-n", site.host, *["route", "add", "blackhole", "198.51.100.0/24", "metric", "50"])
    site.call("DEL", CONFIG)
    routes = run("ip", "-n", site.host, "route", "show", "198.51.100.0/24").splitlines()
    assert len(routes) == 1
    assert "blackhole" in routes[0]


def load_program() -> int:
    """Load an XDP program that lets everything pass; returns its file descriptor."""
    code, terms = ctypes.create_string_buffer(PASS_ALL), ctypes.create_string_buffer(b"GPL")
    where = ctypes.addressof(code), ctypes.addressof(terms)
    asked = struct.pack("=IIQQIIQII", BPF_PROG_TYPE_XDP, 2, *where, 0, 0, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(SYS_BPF, BPF_PROG_LOAD, ctypes.create_string_buffer(asked), len(asked))
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return int(fd)


def test_a_program_that_the_container_put_on_it_does_not_come_along(site: Site) -> None:
    """It would see what the node and the next pods receive."""

    async def attach_program() -> None:
        with open_netns(f"/run/netns/{site.pod}") as pod, Rtnl.open(pod) as rtnl:
            link = await find_link(rtnl, "net1")
            assert link is not None
            await rtnl.call(set_program(link.index, program, GENERIC))

    site.call("ADD", CONFIG)
    program = load_program()
    try:
        asyncio.run(attach_program())
    finally:
        os.close(program)
    assert "xdp" in run("ip", "-n", site.pod, "link", "show", "dev", "net1")
    site.call("DEL", CONFIG)
    assert "xdp" not in run("ip", "-n", site.host, "link", "show", "dev", "eth1")
