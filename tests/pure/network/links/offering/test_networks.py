"""Which networks a node offers, on which of its links, and for how many claims."""

from pathlib import Path
from typing import Any

import msgspec
from structlog.testing import capture_logs

from netclaim.model import Device, Quantity
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.devices.device import Taint
from netclaim.model.on_node.node import NodeFacts
from netclaim.network.links.discover import generic_device
from netclaim.network.links.offering.networks import OfferedNetworks
from netclaim.network.links.offering.offer import SHARES, LinkOffer
from netclaim.network.settings import LinkSettings, LiveSettings
from tests.support.networks import class_for, known, network

GENERIC = generic_device()
LINK: dict[str, Any] = {"kind": "device", "type": "ethernet", "speed": 10000}


def link(name: str, **attributes: Any) -> Device:
    """A link of 10G that claims share."""
    return Device(name, {"name": name, **LINK, **attributes})


ETH1, ETH2, VF = link("eth1"), link("eth2", speed=1000), link("eth3", isSriovVf=True)


def offered(*networks: PodNetwork, mistake: str = "", devices: bool = True) -> OfferedNetworks:
    """A driver that knows these networks."""
    live = LiveSettings(LinkSettings(state_dir=Path("/nowhere"), network_devices=devices))
    return OfferedNetworks(known(*networks), LinkOffer(live), live, lambda _: mistake)


def names(found: OfferedNetworks, *links: Device) -> list[str]:
    """The devices of the networks on these links."""
    return [each.name for each in found.on(links, GENERIC)]


def test_a_network_is_on_its_parent() -> None:
    """By name, by a selector on each link that matches, or on no link at all."""
    fast = 'device.attributes["cni.dra.networking.x-k8s.io"].speed >= 10000'
    found = offered(
        network("by-name"),
        network("fast", parent={"selector": fast}),
        PodNetwork.read({"metadata": {"name": "br"}, "spec": {"type": "bridge"}}),
    )
    assert names(found, ETH1, ETH2, VF) == [
        "br-on-cni",
        "by-name-on-eth1",
        "fast-on-eth1",
        "fast-on-eth3",
    ]
    assert names(found, ETH2) == ["br-on-cni"]


def test_labels_of_the_node_choose_the_link() -> None:
    """The first override that selects the node; the others have the usual link, if there is one."""
    overrides = [
        {"nodeSelector": {"matchLabels": {"rack": "r7"}}, "name": "eth2"},
        {"nodeSelector": {}, "selector": "false"},
    ]
    found = offered(network(parent={"name": "eth1", "overrides": overrides[:1]}))
    assert names(found, ETH1, ETH2) == ["media-net-on-eth1"]
    found.learn_node(NodeFacts(labels={"rack": "r7"}))
    assert names(found, ETH1, ETH2) == ["media-net-on-eth2"]
    only = offered(network(parent={"overrides": overrides}))
    assert names(only, ETH1, ETH2) == []
    assert only.known.reads_labels


def test_for_how_many_claims() -> None:
    """As many as the link is for; one, if the network takes the link or the link is for one."""
    (shared,) = offered(network(sharing={"bandwidth": "2G"})).on([ETH1], None)
    assert shared.allow_multiple_allocations
    policy = shared.capacity["bandwidth"].policy
    assert policy is not None
    assert policy.default == Quantity.parse("2G")
    attachments = shared.capacity["attachments"].policy
    assert attachments is not None
    assert attachments.valid_values == (Quantity.parse("1"),)
    (alone,) = offered(network(sharing={"alone": True})).on([ETH1], None)
    (function,) = offered(network(parent={"name": "eth3"})).on([VF], None)
    assert not alone.allow_multiple_allocations
    assert not function.allow_multiple_allocations


def test_without_shares_there_are_slots() -> None:
    """On an API server that drops them."""
    live = LiveSettings(LinkSettings(state_dir=Path("/nowhere"), network_devices=True))
    offer = LinkOffer(live)
    offer.learn_dropped({SHARES})
    found = OfferedNetworks(known(network()), offer, live, lambda _: "")
    slots = offer.of_networks(found.on([ETH1], None))
    assert [each.name for each in slots[:2]] == [
        "media-net-on-eth1-slot-0",
        "media-net-on-eth1-slot-1",
    ]


def test_what_cannot_work_is_not_offered() -> None:
    """The log says why once; a driver that is not to offer networks offers none."""
    broken = network(parent={"selector": 'device.attributes["x"].y == 1'})
    with capture_logs() as logs:
        for found in (offered(network(), mistake="no such plugin"), offered(broken)):
            assert names(found, ETH1) == names(found, ETH1) == []
    assert [log["error"].partition(":")[0] for log in logs] == [
        "no such plugin",
        "parent.selector cannot be evaluated",
    ]
    assert names(offered(network(), devices=False), ETH1) == []


def test_what_is_wrong_with_a_link_is_wrong_with_its_networks() -> None:
    """A taint of the link, for example because its carrier is lost."""
    taints = (Taint("example.com/lost", effect="NoSchedule"),)
    (device,) = offered(network()).on([msgspec.structs.replace(ETH1, taints=taints)], None)
    assert device.taints == taints


def test_nothing_is_made_again_while_nothing_changes() -> None:
    """Also if another network comes."""
    found = offered(network())
    (before,) = found.on([ETH1], None)
    found.known.learn([class_for(network()), class_for(network("other", parent={"name": "eth9"}))])
    assert found.on([ETH1], None)[0] is before
