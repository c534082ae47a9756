"""Where claims and plans stand on the links of a node."""

import socket
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import pytest

from netclaim.errors import PeerError, RequestError
from netclaim.framework import NotBegunError
from netclaim.kernel import Address, Link, Route
from netclaim.kernel.netlink import uapi
from netclaim.model import Plan
from netclaim.model.on_node.node import NodeFacts
from netclaim.network.errors import LinkGoneError, PlanRefusedError, PolicyError
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.links.node_dependencies import carriers, node_networks, node_peers, used
from netclaim.network.plan.guard import Guard
from netclaim.network.plan.interface_plan import Addresses, InterfacePlan, Leased
from netclaim.network.request.parameters import read_claim
from netclaim.network.settings import LinkSettings, LiveSettings
from tests.support.network_parts import TYPED, claim_of, config_of, link_of

ETH0, ETH1, ETH2 = link_of("eth0", 2), link_of("eth1", 3), link_of("eth2", 4)
# Stands on eth2, beside what pods get there.
SHIM: Final = link_of("shim", 5, kind="macvlan", parent_index=4)
GATEWAY, BEHIND_SHIM, FIRST = "10.10.1.1", "10.20.1.1", "172.18.0.1"
API_SERVER: Final = "172.18.0.3"


def route(index: int, to: str, length: int, gateway: str) -> Route:
    """A route of the node over a gateway."""
    table = uapi.RT_TABLE_MAIN
    return Route(socket.AF_INET, to, length, index, gateway, table, 0, uapi.RTN_UNICAST)


def snapshot_of(*links: Link) -> Snapshot:
    """A node that leaves by eth0, and has gateways behind eth1 and beside eth2."""
    addresses = [
        Address(index=index, family=socket.AF_INET, ip=ip, prefix_length=24, scope=0, flags=0)
        for index, ip in ((2, "172.18.0.2"), (3, "10.10.1.11"))
    ]
    routes = [
        route(2, "", 0, FIRST),
        route(3, "10.50.0.0", 16, GATEWAY),
        route(5, "10.60.0.0", 16, BEHIND_SHIM),
    ]
    node = NodeFacts(addresses=("172.18.0.2",), api_addresses=("10.96.0.1", API_SERVER))
    carrying, in_use = carriers(links, addresses, routes, node), used(addresses, routes)
    return Snapshot(
        links=links,
        addresses=tuple(addresses),
        uplinks=(2,),
        withheld={},
        carriers=carrying,
        node_networks=node_networks(carrying, addresses, routes, node),
        node_peers=node_peers({*carrying, *in_use}, routes, node),
        used=in_use,
    )


NODE: Final = snapshot_of(ETH0, ETH1, ETH2, SHIM)


@pytest.fixture
def guard() -> Guard:
    """The policy by default: baseline."""
    return Guard(LiveSettings(LinkSettings(state_dir=Path("/nowhere"))))


def macvlan(ipam: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A claim's network."""
    plugin = {"type": "macvlan", "ipam": ipam, **keys}
    return {"cniVersion": "1.0.0", "name": "mine", "plugins": [plugin]}


def taking(address: str) -> tuple[dict[str, Any], ...]:
    """The ways to take an address: alone, and as the only one of a range."""
    subnet = f"{address.rpartition('.')[0]}.0/24"
    ends = {
        "rangeStart": address,
        "rangeEnd": address,
        "gateway": f"{address.rpartition('.')[0]}.253",
    }
    return (
        {"type": "static", "addresses": [{"address": f"{address}/24"}]},
        {"type": "host-local", "subnet": subnet, **ends},
    )


def check(guard: Guard, config: dict[str, Any], link: Link, **of_class: Any) -> None:
    """Judge a claim's request on a link."""
    configs = [config_of({**TYPED, "config": config}, "net")]
    if of_class:
        base = {key: TYPED[key] for key in ("apiVersion", "kind")}
        wishes = {**base, "ifName": "net1", "ips": of_class.pop("ips")}
        classes = {**base, "config": config, **of_class}
        configs = [config_of(wishes, "net"), config_of(classes, "net", source="FromClass")]
    claim = claim_of(*configs)
    (request,) = read_claim(claim)
    guard.check(claim, request, [link], NODE)


@pytest.mark.parametrize(
    ("link", "address"),
    [(ETH0, FIRST), (ETH1, GATEWAY), (ETH2, BEHIND_SHIM), (ETH0, API_SERVER)],
    ids=["carries the node", "used", "used by a link beside it", "API server"],
)
def test_whom_the_node_talks_to_is_nobody_else_wherever_that_is(
    guard: Guard, link: Link, address: str
) -> None:
    """On a link that the node uses, its gateway's address is refused, of a class's claims too.

    So is an API server's own, where the driver itself knows it by its service's.
    """
    for ipam in taking(address):
        with pytest.raises(RequestError, match=f"{address} is the address of a gateway"):
            check(guard, macvlan(ipam), link)
    allowing = {"allow": ["ips"], "ips": [f"{address}/24"]}
    with pytest.raises(PolicyError, match=f"{address} is the address of a gateway"):
        check(guard, macvlan({"type": "static"}), link, **allowing)


def test_a_gateway_is_free_where_the_node_has_nothing(guard: Guard) -> None:
    """A link that the node does not use has networks of its own."""
    free = link_of("eth9", 9)
    for address in (GATEWAY, FIRST, "169.254.169.254"):
        for ipam in taking(address):
            check(guard, macvlan(ipam), free)


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "fd20:ce::254"])
@pytest.mark.parametrize("link", [ETH0, ETH1], ids=["carries the node", "used"])
def test_no_class_vouches_for_a_clouds_metadata_service(
    guard: Guard, link: Link, address: str
) -> None:
    """A pod that had its address there would give the node its credentials."""
    allowing = {"allow": ["ips"], "ips": [address]}
    with pytest.raises(PolicyError, match="the address of a cloud's metadata service"):
        check(guard, macvlan({"type": "static"}), link, **allowing)


def plan_of(config: dict[str, Any], **facts: Any) -> tuple[Plan, InterfacePlan]:
    """A plan as the journal has it."""
    claim = claim_of(config_of({**TYPED, "config": config}, "net"))
    interface = InterfacePlan(if_name="net1", config=config, **facts)
    return Plan(claim.ref, claim.devices[0], network=interface.to_json()), interface


@pytest.mark.parametrize("level", ["baseline", "privileged"])
def test_a_link_that_is_gone_is_not_judged_as_the_claims_own(guard: Guard, level: str) -> None:
    """What it carried, and for whom, cannot be known; it may come back, so nothing is refused."""
    ipam = {"type": "static", "addresses": [{"address": f"{FIRST}/24"}]}
    plan, interface = plan_of(macvlan(ipam, master="eth0"), link="eth0", level=level)
    with pytest.raises(LinkGoneError, match="eth0") as caught:
        guard.check_plan(plan, interface, snapshot_of(ETH1))
    assert isinstance(caught.value, PeerError)
    assert isinstance(caught.value, NotBegunError)


def test_a_link_in_the_pod_is_not_looked_for_on_the_node(guard: Guard) -> None:
    """A plugin that finds its link in the pod is judged by the link that was allocated."""
    ipam = {"type": "static", "addresses": [{"address": "10.9.0.5/24"}]}
    config = macvlan(ipam, master="inside", linkInContainer=True)
    plan, interface = plan_of(config, link="eth1", level="privileged")
    guard.check_plan(plan, interface, NODE)
    plan, interface = plan_of(config, link="eth1", level="baseline")
    with pytest.raises(PlanRefusedError, match="linkInContainer"):
        guard.check_plan(plan, interface, NODE)


@pytest.mark.parametrize("trusted", [False, True])
def test_a_pool_does_not_give_a_claims_own_network_a_gateways_address(
    guard: Guard, *, trusted: bool
) -> None:
    """Of a network that an admin wrote, the admin knows what is in the pool."""
    leases = (Leased("media.x", "u1", "1", f"{FIRST}/24"),)
    plan, interface = plan_of(
        macvlan({"type": "netclaim", "pool": "media"}, master="eth0"),
        link="eth0",
        level="baseline",
        trusted=trusted,
        addresses=Addresses("media", leases),
    )
    withheld = guard.withheld(plan, NODE)
    if trusted:
        guard.check_plan(plan, interface, NODE)
        assert withheld == frozenset()
        return
    with pytest.raises(PlanRefusedError, match="the address of a gateway"):
        guard.check_plan(plan, interface, NODE)
    assert {ip_address(FIRST), ip_address("172.18.0.2"), ip_address(API_SERVER)} <= withheld


@pytest.mark.parametrize("gateway", ["", "10.99.0.1"])
def test_a_default_route_over_a_pools_addresses_takes_the_pools_gateway(
    guard: Guard, gateway: str
) -> None:
    """Where the pool has none, it would lead to the node's network on the link itself."""
    leases = (Leased("media.x", "u1", "1", "10.99.0.5/24", gateway),)
    plan, interface = plan_of(
        macvlan(
            {"type": "netclaim", "pool": "media", "routes": [{"dst": "0.0.0.0/0"}]}, master="eth0"
        ),
        link="eth0",
        level="baseline",
        addresses=Addresses("media", leases, routes=({"dst": "0.0.0.0/0", "table": 7},)),
    )
    if gateway:
        guard.check_plan(plan, interface, NODE)
        return
    with pytest.raises(PlanRefusedError, match=r"0\.0\.0\.0/0 overlaps"):
        guard.check_plan(plan, interface, NODE)
