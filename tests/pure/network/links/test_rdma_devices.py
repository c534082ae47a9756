"""RDMA devices that have no link are devices, and claims get their files."""

from pathlib import Path
from typing import Any, Final

import pytest

from netclaim.errors import HostError, RequestError
from netclaim.kernel.host.hardware.rdma import without_link
from netclaim.kernel.host.hardware.sysfs import SysfsFacts
from netclaim.model import ContainerEdits, DeviceNode
from netclaim.network.devices.device import PCIE_ROOT, device_of
from netclaim.network.devices.rdma_device import rdma_device_name
from netclaim.network.links.discover import list_devices
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.links.offering.choice import LinkChoice
from netclaim.network.links.offering.offer import LinkOffer
from netclaim.network.links.offering.places import Places
from netclaim.network.links.rdma_devices import edits_of, find_rdma, list_rdma_devices
from netclaim.network.plan.rdma_plan import rdma_plan
from netclaim.network.request.parameters import InterfaceRequest, read_claim
from netclaim.network.settings import LinkSettings, LiveSettings
from netclaim.network.settings.readers import read_link_expression
from tests.support.fake_cards import ROOT, FakeCards
from tests.support.network_parts import TYPED, claim_of, config_of, link_of
from tests.support.network_parts import device_of as allocated

NAME: Final = "mlx5_0"
FILES: Final = ContainerEdits(device_nodes=(DeviceNode("/dev/infiniband/uverbs0"),))


@pytest.fixture
def cards(tmp_path: Path) -> FakeCards:
    """A card of an InfiniBand fabric without a link, and one of Ethernet with a link."""
    cards = FakeCards(tmp_path)
    for card in ("ib0", "ens1f0"):
        cards.add(card, most=None)
    cards.remove_links("ib0")
    cards.add_rdma(NAME, "ib0", rate="100 Gb/sec (4X EDR)", ports="4: ACTIVE")
    cards.add_rdma("mlx5_1", "ens1f0", rate="25 Gb/sec (1X EDR)", ports="1: DOWN", link="ens1f0")
    return cards


def test_described_like_a_link(cards: FakeCards) -> None:
    """With all that links have, so that no selector fails on it, and as no link."""
    (device,) = list_rdma_devices(cards.root)
    bare = device_of(link_of("eth1"), (), SysfsFacts(), default_route=False)
    assert device.attributes.keys() >= bare.attributes.keys() - {"mac"}
    shown = {name: device.attributes[name] for name in ("name", "ifName", "kind", "type", "state")}
    assert shown == {
        "name": NAME,
        "ifName": "",
        "kind": "rdma",
        "type": "infiniband",
        "state": "up",
    }
    assert (device.attributes["rdmaDevice"], device.attributes["rdma"]) == (NAME, True)
    assert (device.attributes[PCIE_ROOT], device.attributes["speed"]) == (ROOT, 100_000)


def test_a_device_leads_back_to_what_it_is(cards: FakeCards) -> None:
    """Its name is that of no link, though there may be one of the same name."""
    (device,) = list_rdma_devices(cards.root)
    assert device.name == rdma_device_name(NAME)
    assert find_rdma(device.name, cards.root) == NAME
    assert find_rdma(rdma_device_name("mlx5_1"), cards.root) == ""
    assert rdma_device_name("ibp1").startswith("rdma-ibp1-")


def test_a_device_whose_link_is_elsewhere_has_one(cards: FakeCards) -> None:
    """The directory of the links is there while one is in a pod; and software stands on a link."""
    cards.add("ens2f0", most=None)
    cards.add_rdma("mlx5_2", "ens2f0", rate="25 Gb/sec (1X EDR)", ports="4: ACTIVE")
    (cards.root / "class/infiniband/rxe0").mkdir()
    (cards.root / "class/infiniband/rxe0/parent").write_text("eth0\n")
    assert without_link(cards.root) == (NAME,)


def test_files_are_of_use_where_all_namespaces_see_the_device(cards: FakeCards) -> None:
    """Elsewhere the claim is refused in words that say what to change on the node."""
    assert edits_of(NAME, cards.root) == FILES
    mode = cards.root / "module/ib_core/parameters/netns_mode"
    mode.parent.mkdir(parents=True)
    mode.write_text("N\n")
    with pytest.raises(HostError, match="rdma system set netns shared"):
        edits_of(NAME, cards.root)


@pytest.mark.parametrize(
    ("expression", "names"),
    [("true", ["eth1", rdma_device_name(NAME)]), ("device.attributes['D'].ifName != ''", ["eth1"])],
)
async def test_offered_after_all_links(cards: FakeCards, expression: str, names: list[str]) -> None:
    """So that a claim which could have a link does not get one; the filter hides them as well."""

    class Node:
        async def snapshot(self) -> Snapshot:
            return Snapshot((link_of("eth1"),), (), (), {}, {})

    settings = LinkSettings(state_dir=Path("/nowhere"))
    filtered = read_link_expression(expression.replace("D", settings.name))
    live = LiveSettings(LinkSettings(state_dir=Path("/nowhere"), link_filter=filtered))
    offer = LinkOffer(live)
    devices = await list_devices(
        Node(),
        tuple,
        LinkChoice(live, offer),
        offer,
        Places(),
        generic=False,
        without_link=list_rdma_devices(cards.root),
    )
    assert [each.name for each in devices] == names


def asked(device: str, *plugins: dict[str, Any], **beside: Any) -> InterfaceRequest:
    """What a claim asks of a device."""
    network = {"cniVersion": "1.1.0", "name": "n", "plugins": list(plugins)}
    config = config_of({**TYPED, "config": network, **beside}, "net")
    (request,) = read_claim(claim_of(config, devices=(allocated("net", device),)))
    return request


async def test_a_claim_gets_files_and_no_interface(cards: FakeCards) -> None:
    """There is nothing to attach. What is a link is planned elsewhere."""
    node, claim = Snapshot((link_of("eth1"),), (), (), {}, {}), claim_of()
    request = asked(rdma_device_name(NAME), {"type": "host-device"})
    plan = await rdma_plan(claim, request, node, cards.root)
    assert plan is not None
    assert (plan.edits, plan.network) == (FILES, None)
    for other in ("eth1", "gone"):
        request = asked(other, {"type": "host-device"})
        assert await rdma_plan(claim, request, node, cards.root) is None


@pytest.mark.parametrize(
    ("plugins", "beside"),
    [
        ([{"type": "macvlan"}], {}),
        ([{"type": "host-device", "ipam": {"type": "static"}}], {}),
        ([{"type": "host-device", "vf": {"vlan": 7}}], {}),
        ([{"type": "host-device"}, {"type": "tuning"}], {}),
        ([{"type": "host-device"}], {"mac": "02:00:00:00:00:07"}),
    ],
)
async def test_what_needs_an_interface_is_refused(
    cards: FakeCards, plugins: list[dict[str, Any]], beside: dict[str, Any]
) -> None:
    """It says that the device has no link, and how to select one that has."""
    request = asked(rdma_device_name(NAME), *plugins, **beside)
    with pytest.raises(RequestError, match=f"{NAME} has no link.* select a device with an ifName"):
        await rdma_plan(claim_of(), request, Snapshot((), (), (), {}, {}), cards.root)
