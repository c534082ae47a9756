"""How a network's configuration and the allocated link come together."""

import contextlib
import dataclasses
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from netclaim.cni import parse_network
from netclaim.errors import RequestError
from netclaim.network.plan.interface_plan import InterfacePlan
from netclaim.network.request.into_config.link_keys import (
    moves_link,
    mtu_of,
    takes_link,
    with_link,
    without_link,
)
from netclaim.network.request.parameters import InterfaceRequest, read_claim
from tests.support.network_parts import TYPED, WHERE, claim_of, config_of, link_of

ETH1 = link_of("eth1", altnames=("enp3s0f0",))
ETH2 = link_of("eth2", 3)
PLUGIN = f"{WHERE}.config.plugins[0]"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
near_plugins = st.fixed_dictionaries(
    {"type": st.sampled_from(["macvlan", "vlan", "host-device", "bridge"])},
    optional={
        key: st.sampled_from(["eth1", "eth2"]) | json_values
        for key in ("master", "device", "hwaddr", "linkInContainer")
    },
)


def request_of(*plugins: dict[str, Any]) -> InterfaceRequest:
    """A request whose network has these plugins."""
    network = {"cniVersion": "1.0.0", "name": "a-network", "plugins": list(plugins)}
    (request,) = read_claim(claim_of(config_of(TYPED | {"config": network}, "net")))
    return request


def of_share(request: InterfaceRequest, attachments: str = "1") -> InterfaceRequest:
    """The same request with a share of its link that consumes so many of its attachments."""
    consumed = {"attachments": attachments}
    share = msgspec.structs.replace(request.device, share_id="a", consumed_capacity=consumed)
    return dataclasses.replace(request, device=share)


@pytest.mark.parametrize(
    ("plugin", "key"),
    [
        ("macvlan", "master"),
        ("ipvlan", "master"),
        ("vlan", "master"),
        ("host-device", "device"),
    ],
)
@pytest.mark.parametrize("named", [None, "", "eth1", "enp3s0f0"])
def test_the_allocated_link_is_filled_in(plugin: str, key: str, named: str | None) -> None:
    """Left out or named, by whichever of its names, a plugin works with the allocated link."""
    written = {} if named is None else {key: named}
    network = with_link(request_of({"type": plugin, **written}), ETH1)
    assert network.plugins[0].config == {"type": plugin, key: "eth1"}


def test_another_link_than_the_allocated_one_is_refused() -> None:
    """A configuration cannot lead to a link that the scheduler did not give."""
    with pytest.raises(RequestError) as caught:
        with_link(request_of({"type": "macvlan", "master": "eth2"}), ETH1)
    assert str(caught.value) == (
        f"{PLUGIN}.master: names the link 'eth2', but 'eth1' was allocated; "
        f"leave it out, or select 'eth2' in the request"
    )


def test_a_key_without_a_name_hides_no_link() -> None:
    """Only plugins that can look for their link in the pod are asked whether they do."""
    plugin = {"type": "host-device", "device": "eth2", "": True}
    with pytest.raises(RequestError, match=r"names the link 'eth2', but 'eth1' was allocated"):
        with_link(request_of(plugin), ETH1)


def test_a_shared_link_is_not_taken_away() -> None:
    """host-device and passthru need a link of their own; what stands on a link does not."""
    standing = with_link(of_share(request_of({"type": "macvlan"})), ETH1)
    assert standing.plugins[0].config["master"] == "eth1"
    for greedy, name in (
        ({"type": "host-device"}, "host-device"),
        ({"type": "macvlan", "mode": "passthru"}, "macvlan in mode passthru"),
    ):
        with_link(request_of(greedy), ETH1)
        with pytest.raises(RequestError) as caught:
            with_link(of_share(request_of(greedy)), ETH1)
        assert str(caught.value) == (
            f"{PLUGIN}: {name} would take the shared link 'eth1' away from other claims; to have "
            f'it alone, write `capacity: {{requests: {{wholeLink: "1"}}}}` into the request net, '
            f"or use a macvlan in another mode"
        )
        with_link(of_share(request_of(greedy), attachments="32"), ETH1)


@pytest.mark.parametrize("key", ["hwaddr", "kernelpath", "pciBusID"])
def test_a_link_has_no_second_way_to_be_named(key: str) -> None:
    """host-device could find another link by its hardware; with one allocated it need not."""
    with pytest.raises(RequestError) as caught:
        with_link(request_of({"type": "host-device", key: "0000:03:00.0"}), ETH1)
    assert str(caught.value) == f"{PLUGIN}.{key}: leave it out; the allocated link 'eth1' is used"


@pytest.mark.parametrize(
    "plugin",
    [
        {"type": "bridge", "bridge": "br0"},
        {"type": "tuning", "mtu": 1400},
        {"type": "macvlan", "linkInContainer": True, "master": "net0"},
        {"type": "somebody-elses", "master": "eth2"},
    ],
)
def test_plugins_that_use_no_link_of_the_node_are_left_alone(plugin: dict[str, Any]) -> None:
    """Only what the reference plugins mean by their keys is looked at."""
    request = request_of(plugin)
    assert with_link(request, ETH1) == request.network
    assert without_link(request, [ETH1], ETH1, withheld={}) == (request.network, ())


def test_every_plugin_of_a_chain_is_looked_at() -> None:
    """The link is filled in wherever it is missing."""
    network = with_link(request_of({"type": "tuning"}, {"type": "macvlan"}), ETH1)
    assert network.plugins[1].config == {"type": "macvlan", "master": "eth1"}


@pytest.mark.parametrize("named", ["eth1", "enp3s0f0", "", None])
def test_without_an_allocated_link_any_may_be_named(named: str | None) -> None:
    """A request for no particular link gets the master it names, or the default route's link."""
    request = request_of({"type": "macvlan"} | ({} if named is None else {"master": named}))
    network, used = without_link(request, [ETH1, ETH2], ETH2, withheld={})
    expected = ETH1 if named else ETH2
    assert network.plugins[0].config["master"] == expected.name
    assert used == (expected,)


def test_a_link_that_is_not_offered_cannot_be_named() -> None:
    """Naming a link shows no more of the node than what is offered."""
    with pytest.raises(RequestError) as caught:
        without_link(
            request_of({"type": "macvlan", "master": "eth2"}),
            [ETH1, ETH2],
            ETH1,
            withheld={ETH2.index: "it leads into a pod"},
        )
    assert str(caught.value) == (
        f"{PLUGIN}.master: the link 'eth2' cannot be named here: it leads into a pod"
    )


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (
            {"type": "macvlan", "master": "eth7"},
            f"{PLUGIN}.master: there is no link 'eth7' on the node",
        ),
        (
            {"type": "vlan", "vlanId": 7},
            f"{PLUGIN}.master: master is missing; name a link, or select one in the request net",
        ),
        (
            {"type": "host-device", "device": "eth1"},
            (
                f"{PLUGIN}: host-device takes a link away from the node, so the link must be "
                f"allocated; select one in the request net"
            ),
        ),
        (
            {"type": "host-device", "device": "eth1", "linkInContainer": True},
            (
                f"{PLUGIN}: host-device takes a link away from the node, so the link must be "
                f"allocated; select one in the request net"
            ),
        ),
        (
            {"type": "macvlan", "master": "eth1", "mode": "passthru"},
            (
                f"{PLUGIN}: macvlan in mode passthru takes a link away from the node, so the link "
                f"must be allocated; select one in the request net"
            ),
        ),
        ({"type": "macvlan", "master": ["eth1"]}, f"{PLUGIN}.master: must be a string"),
    ],
)
def test_without_an_allocated_link_some_things_cannot_be(
    plugin: dict[str, Any], message: str
) -> None:
    """A link that is not there cannot be used, and one that was not allocated cannot be taken."""
    with pytest.raises(RequestError) as caught:
        without_link(request_of(plugin), [ETH1, ETH2], ETH1, withheld={})
    assert str(caught.value) == message


def test_only_host_device_moves_the_link_itself() -> None:
    """Every other reference plugin makes something new on the link, and passthru takes it whole."""
    moved = request_of({"type": "tuning"}, {"type": "host-device"}).network
    whole = request_of({"type": "macvlan", "mode": "passthru"}).network
    shared = request_of({"type": "macvlan"}).network
    assert [moves_link(each) for each in (moved, whole, shared)] == [True, False, False]
    assert [takes_link(each) for each in (moved, whole, shared)] == [True, True, False]


@given(near_plugins)
@example({"type": "macvlan", "master": {"Y": None, "y": None}})
def test_a_link_is_used_as_allocated_or_refused(plugin: dict[str, Any]) -> None:
    """Whatever JSON stands beside a plugin's type: the allocated link, or the user's mistake."""
    try:
        request = request_of(plugin)
    except RequestError:  # such as two keys that are the same to a plugin
        return
    with contextlib.suppress(RequestError):
        (used,) = with_link(request, ETH1).plugins
        named = used.config.get("device" if used.type == "host-device" else "master")
        assert named == "eth1" or plugin["type"] == "bridge" or plugin["linkInContainer"] is True
    with contextlib.suppress(RequestError):
        network, links = without_link(request, [ETH1], ETH1, withheld={})
        assert links == (ETH1,) or network == request.network


@pytest.mark.parametrize(
    ("plugins", "mtu"),
    [
        ([{"type": "macvlan", "master": "eth1"}], 9000),
        ([{"type": "host-device", "device": "eth1"}], 9000),
        ([{"type": "macvlan", "master": "eth1", "mtu": 1400}], 1400),
        ([{"type": "macvlan", "master": "eth1"}, {"type": "tuning", "mtu": 1300}], 1300),
        ([{"type": "bridge", "mtu": 1400}], 1400),
        ([{"type": "bridge"}], 0),
        ([{"type": "ovs", "mtu": "auto"}], 0),
        ([{"type": "ovs", "mtu": True}, {"type": "ovs", "mtu": -1}], 0),
    ],
)
def test_the_mtu_is_the_links_unless_a_plugin_is_told(
    plugins: list[dict[str, Any]], mtu: int
) -> None:
    """What a program makes of a key of its own, nobody knows; nor what a bridge has by itself."""
    network = parse_network({"cniVersion": "1.0.0", "name": "n", "plugins": plugins})
    assert mtu_of(network, 9000) == mtu


def test_a_plan_has_what_programs_ask_for() -> None:
    """It is the same after the driver has read it again; the policy judges what was written."""
    config = {
        "cniVersion": "1.0.0",
        "name": "n",
        "plugins": [{"type": "ovs", "capabilities": {"deviceID": True, "bandwidth": True}}],
    }
    plan = InterfacePlan("net1", config, pci_address="0000:3b:00.1", bandwidth=1_000_000)
    again = msgspec.convert(plan.to_json(), InterfacePlan)
    (plugin,) = again.network.plugins
    assert plugin.config["runtimeConfig"]["deviceID"] == "0000:3b:00.1"
    assert plugin.config["runtimeConfig"]["bandwidth"]["egressRate"] == 1_000_000
    assert "runtimeConfig" not in again.judged.plugins[0].config
