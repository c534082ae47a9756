"""Parameters beside a network: on real links, in a pod's namespace, and gone again."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from netclaim.cni import CniError
from netclaim.errors import RequestError
from netclaim.kernel import Netns, Rtnl
from netclaim.kernel.host.syscalls import CLONE_NEWNET, setns
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import attributes, number
from netclaim.kernel.requests.links import IFINFOMSG, get_link
from netclaim.model import Attachment, Claim, Plan
from netclaim.network.driver import LinkDriver
from netclaim.network.policy.levels import LABEL
from tests.support.kernel_support import ip
from tests.support.killed import killed_at
from tests.support.link_parameters import (
    RECEIVE,
    SEGMENTATION,
    card_of,
    claim_with,
    neighbours,
    programs_of,
    programs_on,
    routes,
    rules,
    static,
    switched,
)
from tests.support.network_support import driver_for, host_local, plan_for, pod_of, run_on

pytestmark = pytest.mark.embedded

SIZES = (
    uapi.IFLA_GSO_MAX_SIZE,
    uapi.IFLA_GRO_MAX_SIZE,
    uapi.IFLA_GSO_IPV4_MAX_SIZE,
    uapi.IFLA_GRO_IPV4_MAX_SIZE,
)
STEPS_AT_LEAST = 12  # fewer would mean that most are not seen
FURNISH = (
    "address add 192.0.2.7/24 dev eth1",
    "route add 198.51.100.0/24 via 192.0.2.1 dev eth1",
)
TRUSTED = {LABEL: "privileged"}  # the node has addresses on the link
EVERYTHING: dict[str, Any] = {
    "routes": [
        {"destination": "10.20.0.0/16", "gateway": "10.10.1.1"},
        {"destination": "10.30.0.0/16", "gateway": "172.30.0.1", "table": 200},
        {"destination": "172.30.0.1/32", "scope": 253, "table": 200},
        {"destination": "10.40.0.0/16", "source": "10.10.1.7"},
    ],
    "rules": [
        {"source": "10.10.1.7/32", "table": 200, "priority": 100},
        {"source": "10.10.1.0/24", "destination": "10.50.0.0/16", "table": 200},
    ],
    "neighbors": [{"destination": "10.10.1.9", "hardwareAddr": "02:00:00:00:00:09"}],
    "ethtool": {"features": {"tcp-segmentation-offload": False, "rx-gro": True}},
    "gsoMaxSize": 40000,
    "groMaxSize": 50000,
    "gsoIPv4MaxSize": 30000,
    "groIPv4MaxSize": 20000,
}


@pytest.fixture
def start(tmp_path: Path, cni_plugins: Path) -> Callable[[], LinkDriver]:
    """Starts a driver, as after each of its ends."""
    return lambda: driver_for(tmp_path / "state", cni_plugins)


@pytest.fixture
def driver(start: Callable[[], LinkDriver]) -> LinkDriver:
    """The driver of the node."""
    return start()


def attached(driver: LinkDriver, node: Netns, pod: Netns, claim: Claim) -> Attachment:
    """Prepare and attach."""

    async def attach() -> Attachment:
        return await driver.attach(await plan_for(driver, claim), pod_of(pod))

    return run_on(node, attach)


def sizes(netns: Netns, link: str) -> list[int]:
    """Of segments that are sent and received, for all and for IPv4."""

    async def read() -> list[int]:
        with Rtnl.open(netns) as rtnl:
            (message,) = await rtnl.call(get_link(link))
            found = dict(attributes(message.payload, IFINFOMSG.size))
            return [number(found[kind]) for kind in SIZES]

    return asyncio.run(read())


def attach_here(start: Callable[[], LinkDriver], node: Netns, plan: Plan, pod: Netns) -> None:
    """Attach by the only thread of a process, which stays in the node."""
    setns(node.fd, CLONE_NEWNET)
    asyncio.run(start().attach(plan, pod_of(pod)))


def test_a_whole_link_gets_everything_and_returns_as_it_was(
    node: Netns, pod: Netns, driver: LinkDriver
) -> None:
    """Routes in any order, rules, neighbours, offloads and sizes; home, nothing is different."""
    for command in FURNISH:
        ip(node, *command.split())
    before = card_of(node, "eth1")
    attachment = attached(
        driver, node, pod, claim_with(EVERYTHING, static("10.10.1.7/24"), labels=TRUSTED)
    )
    assert routes(pod, "-4") == [
        ("10.20.0.0/16", "10.10.1.1"),
        ("10.30.0.0/16", "172.30.0.1"),
        ("10.40.0.0/16", ""),
        ("172.30.0.1", ""),
    ]
    first, second = sorted(rules(pod), key=lambda rule: "dst" not in rule)
    assert (first["src"], first["srclen"], first["dst"]) == ("10.10.1.0", 24, "10.50.0.0")
    assert (second["src"], second["table"], second["priority"]) == ("10.10.1.7", "200", 100)
    assert neighbours(pod) == [("10.10.1.9", "02:00:00:00:00:09")]
    assert sizes(pod, "net1") == [40000, 50000, 30000, 20000]
    assert not switched(pod, "net1", SEGMENTATION)
    assert switched(pod, "net1", RECEIVE)
    run_on(node, lambda: driver.check(attachment))
    shown = attachment.data or {}
    assert {"dst": "10.20.0.0/16", "gw": "10.10.1.1"} in shown["routes"]

    run_on(node, lambda: driver.detach(attachment))
    assert card_of(node, "eth1") == before
    assert rules(pod) == []
    run_on(node, lambda: driver.detach(attachment))
    assert card_of(node, "eth1") == before


def test_a_driver_that_is_killed_at_any_step_leaves_nothing(
    node: Netns, pod: Netns, start: Callable[[], LinkDriver]
) -> None:
    """The next one's detach returns the link as it was, and the pod keeps no rule."""
    for command in FURNISH:
        ip(node, *command.split())
    before, step = card_of(node, "eth1"), 0
    claim = claim_with(EVERYTHING, static("10.10.1.7/24"), labels=TRUSTED)
    while True:
        plan = run_on(node, lambda: plan_for(start(), claim))
        killed = killed_at(step, partial(attach_here, start, node, plan, pod))
        left = Attachment(plan=plan, pod=pod_of(pod))
        run_on(node, partial(start().detach, left))
        assert card_of(node, "eth1") == before, f"killed at step {step}"
        assert (rules(pod), neighbours(pod)) == ([], []), f"killed at step {step}"
        if not killed:
            break
        step += 1
    assert step > STEPS_AT_LEAST


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (
            {"routes": [{"destination": "10.9.0.0/16", "gateway": "10.77.0.1"}]},
            "route to 10.9.0.0/16: add route to 10.9.0.0/16: ",
        ),
        ({"ethtool": {"features": {"tx-warp": True}}}, "the link has no feature 'tx-warp'"),
        ({"ethtool": {"features": {"rx-lro": True}}}, "cannot switch the feature rx-lro on"),
    ],
)
def test_what_is_refused_half_way_undoes_the_attach(
    node: Netns, pod: Netns, driver: LinkDriver, parameters: dict[str, Any], said: str
) -> None:
    """The link is home at once, with everything that had been set before the refusal put back."""
    before = card_of(node, "eth1")
    both = {**EVERYTHING, **parameters}
    with pytest.raises(CniError) as caught:
        attached(driver, node, pod, claim_with(both, static("10.10.1.7/24")))
    assert said in str(caught.value)
    assert card_of(node, "eth1") == before
    assert (rules(pod), neighbours(pod)) == ([], [])


def test_routes_that_are_listed_by_the_network_may_be_in_any_order(
    node: Netns, pod: Netns, driver: LinkDriver
) -> None:
    """A gateway that is reached by a route after its own is no mistake."""
    ipam = {
        "type": "static",
        "addresses": [{"address": "10.10.1.7/32"}],
        "routes": [
            {"dst": "10.20.0.0/16", "gw": "169.254.1.1"},
            {"dst": "169.254.1.1/32", "scope": 253},
        ],
    }
    attached(driver, node, pod, claim_with({}, {"type": "macvlan", "ipam": ipam}))
    assert routes(pod, "-4") == [("10.20.0.0/16", "169.254.1.1"), ("169.254.1.1", "")]


OWN_ADDRESS = "10.10.1.7"
BY_ITSELF: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a route's": ({}, {"routes": [{"dst": "10.20.0.0/16", "gw": OWN_ADDRESS}]}),
    "its address'": ({}, {"addresses": [{"address": "10.10.1.7/24", "gateway": OWN_ADDRESS}]}),
    "a parameter's": ({"routes": [{"destination": "10.20.0.0/16", "gateway": OWN_ADDRESS}]}, {}),
}


@pytest.mark.parametrize(("parameters", "keys"), BY_ITSELF.values(), ids=BY_ITSELF)
def test_the_interface_is_no_gateway_of_its_own(
    node: Netns,
    pod: Netns,
    driver: LinkDriver,
    parameters: dict[str, Any],
    keys: dict[str, Any],
) -> None:
    """The kernel would make it a route on the link itself, which a policy may have refused."""
    ipam = {"type": "static", "addresses": [{"address": "10.10.1.7/24"}], **keys}
    claim = claim_with(parameters, {"type": "macvlan", "ipam": ipam})
    with pytest.raises(CniError, match=r"the gateway 10\.10\.1\.7 is the interface's own address"):
        attached(driver, node, pod, claim)


def test_a_link_on_another_one_has_them_too(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """A macvlan's routes and rules are the pod's, and its parent keeps its own sizes."""
    before = card_of(node, "eth1")["card"], sizes(node, "eth1")
    chosen = {key: EVERYTHING[key] for key in ("routes", "rules", "gsoMaxSize")}
    plugin = {"type": "macvlan", "ipam": host_local()}
    chosen["routes"] = chosen["routes"][:1]
    attachment = attached(driver, node, pod, claim_with(chosen, plugin))
    assert routes(pod, "-4") == [("10.20.0.0/16", "10.10.1.1")]
    assert len(rules(pod)) == 2
    assert sizes(pod, "net1")[0] == EVERYTHING["gsoMaxSize"]
    assert (card_of(node, "eth1")["card"], sizes(node, "eth1")) == before
    run_on(node, lambda: driver.detach(attachment))
    assert rules(pod) == []


def test_programs_that_see_packets_are_detached(
    node: Netns, pod: Netns, driver: LinkDriver
) -> None:
    """XDP and TCX programs go, held by a BPF link or not; without it they stay, and come home."""
    with programs_on(node, "eth1"), programs_on(node, "eth2", held=True):
        for number, link in enumerate(("eth1", "eth2")):
            kept = claim_with({}, device=link, uid=f"kept-{link}", ifname=f"net{number}")
            attachment = attached(driver, node, pod, kept)
            assert programs_of(pod, f"net{number}") == ["xdp", "tcx"]
            run_on(node, partial(driver.detach, attachment))
            assert programs_of(node, link) == ["xdp", "tcx"]
            chosen = claim_with(
                {"disableEbpfPrograms": True},
                device=link,
                uid=link,
                ifname=f"net{number}",
                labels=TRUSTED,
            )
            attachment = attached(driver, node, pod, chosen)
            assert programs_of(pod, f"net{number}") == []
            run_on(node, partial(driver.detach, attachment))
            assert programs_of(node, link) == []


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"disableEbpfPrograms": True}, "disableEbpfPrograms: needs the policy level privileged"),
        (
            {"ethtool": {"privateFlags": {"legacy-rx": True}}},
            "ethtool.privateFlags: needs the policy level privileged",
        ),
        ({"vrf": {"name": "net1"}}, "vrf.name: the pod has an interface of this name"),
        ({"rules": [{"table": 5}]}, "rules[0].source: source or destination is missing"),
        ({"routes": [{"destination": "10.0.0.1/8"}]}, "write 10.0.0.0/8"),
        ({"routes": [{"dst": "10.0.0.0/8"}]}, 'routes[0].dst: unknown key "dst"'),
        ({"gsoMaxSize": 600000}, "gsoMaxSize: 600000 is not between 0 and 524280"),
    ],
)
def test_a_mistake_is_found_before_the_pod_starts(
    node: Netns, driver: LinkDriver, parameters: dict[str, Any], said: str
) -> None:
    """With the path of what to change."""
    with pytest.raises(RequestError) as caught:
        run_on(node, lambda: plan_for(driver, claim_with(parameters)))
    assert said in str(caught.value)


def test_restricted_claims_set_nothing(node: Netns, driver: LinkDriver) -> None:
    """At the level restricted each needs the class's `allow`."""
    claim = claim_with({"routes": EVERYTHING["routes"]}, labels={LABEL: "restricted"})
    with pytest.raises(RequestError) as caught:
        run_on(node, lambda: plan_for(driver, claim))
    assert "routes: needs the policy level baseline" in str(caught.value)
