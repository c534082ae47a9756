"""A virtual function that lost its kernel driver keeps its device, tainted until it is well."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from netclaim.kernel import Link
from netclaim.model import Device
from netclaim.network.links.function_drivers import LOOK_S, FunctionDrivers
from tests.support.fake_cards import FakeCards
from tests.support.network_parts import DRIVER, link_of

CARD, NAME = "ens1f0", "ens1f0v1"


class Node:
    """A node with a card and two functions, of which the second one has its adventures."""

    def __init__(self, directory: Path) -> None:
        self.cards = FakeCards(directory)
        self.cards.add(CARD, functions=2)
        self.probed: list[tuple[str, bool]] = []
        self.fault = ""
        self.drivers = FunctionDrivers(DRIVER, self.probe, self.cards.root)
        self.links = {name: link_of(name, 3 + number) for number, name in enumerate(self.names)}
        self.devices = {name: self.device(link) for name, link in self.links.items()}
        self.lent: tuple[Device, ...] = ()

    names = (CARD, "ens1f0v0", NAME)

    def device(self, link: Link) -> Device:
        """The link as a device."""
        path = self.cards.root / "class/net" / link.name / "device"
        attributes: dict[str, Any] = {
            "pciAddress": path.resolve().name,
            "isSriovVf": link.name != CARD,
            "driver": "igb" if link.name == CARD else "igbvf",
        }
        return Device(link.name, attributes, making=link.index)

    async def probe(self, link: Link, up: bool) -> str:
        """Noted."""
        self.probed.append((link.name, up))
        return self.fault

    async def look(self) -> dict[str, Device]:
        """All devices, by name."""
        there = tuple((link, self.devices[name]) for name, link in self.links.items())
        here, away = await self.drivers.judged(there, self.lent)
        found = {device.name: device for device in away}
        return found | {device.name: device for _, device in here}

    async def taints(self) -> list[str]:
        """Those of the second function's device; it has to be there."""
        found = (await self.look())[NAME].taints
        assert all(taint.effect == "NoSchedule" for taint in found)
        return [taint.key.removeprefix(f"{DRIVER}/") for taint in found]

    def take(self) -> None:
        """Have a pod take the function."""
        self.lent = (self.devices[NAME],)
        del self.links[NAME]

    def unbind(self, driver: str = "") -> None:
        """Have the function lose its driver, to another one perhaps."""
        self.cards.bind(CARD, 1, driver)
        self.links.pop(NAME, None)

    def bind(self) -> None:
        """Have the function get it again, with a link on the node that has another index."""
        self.cards.give_back(CARD, 1)
        self.links[NAME] = link_of(NAME, 9)
        self.devices[NAME] = replace(self.devices[NAME], making=9)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node whose functions are well."""
    return Node(tmp_path)


async def test_a_free_function_keeps_its_device(node: Node) -> None:
    """With a taint while it has no driver, and the same as before once it was probed."""
    before = await node.look()
    with capture_logs() as logs:
        node.unbind()
        lost = await node.look()
        assert lost.keys() == before.keys()
        assert await node.taints() == ["no-driver"]
        assert lost[NAME].attributes == before[NAME].attributes
        assert lost[NAME].making != before[NAME].making
        node.bind()
        assert await node.taints() == []
        assert await node.taints() == []
    assert node.probed == [(NAME, True)]
    assert [each["event"] for each in logs] == ["discover.driver_lost", "discover.driver_back"]


async def test_it_is_off_afterwards_if_it_was_off(node: Node) -> None:
    """As it was before its driver went."""
    node.links[NAME] = replace(node.links[NAME], flags=0)
    await node.look()
    node.unbind()
    await node.look()
    node.bind()
    await node.look()
    assert node.probed == [(NAME, False)]


async def test_one_that_fails_its_probe_is_not_given(node: Node) -> None:
    """It is probed again at each look, and the log says once what is wrong."""
    await node.look()
    node.unbind()
    await node.look()
    node.bind()
    node.fault = "it did not come up"
    with capture_logs() as logs:
        assert await node.taints() == ["probe-failed"]
        assert await node.taints() == ["probe-failed"]
        assert node.drivers.due_in_s == LOOK_S
        node.fault = ""
        assert await node.taints() == []
    assert [each["event"] for each in logs] == ["discover.probe_failed", "discover.driver_back"]
    assert node.drivers.due_in_s is None


async def test_one_whose_link_is_not_on_the_node_yet_is_still_to_be_probed(node: Node) -> None:
    """A node that is a container has its links from elsewhere."""
    await node.look()
    node.unbind()
    await node.look()
    node.bind()
    link = node.links.pop(NAME)
    assert await node.taints() == ["no-driver"]
    node.links[NAME] = link
    assert await node.taints() == []
    assert node.probed == [(NAME, True)]


async def test_it_is_withheld_where_there_are_no_taints(node: Node) -> None:
    """While it has no driver, and until it passes its probe; a claim's own stays a device."""
    node.drivers.learn_dropped({"taints"})
    await node.look()
    node.unbind()
    assert NAME not in await node.look()
    node.bind()
    node.fault = "it did not come up"
    assert NAME not in await node.look()
    node.fault = ""
    assert await node.taints() == []
    node.take()
    node.unbind()
    assert await node.taints() == ["no-driver"]


async def test_one_that_a_pod_has_is_looked_at(node: Node) -> None:
    """Nobody announces that it has lost its driver; it goes back into the pod unprobed."""
    await node.look()
    node.take()
    assert await node.taints() == []
    assert node.drivers.due_in_s == LOOK_S
    node.unbind()
    assert await node.taints() == ["no-driver"]
    node.bind()
    assert await node.taints() == ["no-driver"]
    assert (await node.look())[NAME].making == 9
    del node.links[NAME]
    assert await node.taints() == []
    assert node.probed == []


async def test_one_that_its_claim_gave_back_is_probed(node: Node) -> None:
    """Before another claim gets it."""
    await node.look()
    node.take()
    node.unbind()
    await node.look()
    node.bind()
    await node.look()
    assert node.probed == []
    node.lent = ()
    assert await node.taints() == []
    assert node.probed == [(NAME, True)]


async def test_one_that_a_claim_has_is_known_after_a_restart(node: Node) -> None:
    """A free one without a driver is no device then."""
    node.unbind()
    assert NAME not in await node.look()
    node.lent = (node.devices[NAME],)
    assert await node.taints() == ["no-driver"]


@pytest.mark.parametrize("driver", ["vfio-pci", "pci-stub"])
async def test_one_of_another_driver_is_left_alone(node: Node, driver: str) -> None:
    """Somebody gave it that, and it is no device for links any more."""
    await node.look()
    node.unbind(driver)
    assert NAME not in await node.look()
    assert node.drivers.due_in_s is None


async def test_one_on_its_way_to_another_driver_is_left_alone(node: Node) -> None:
    """A claim's, say, that goes to a program; one that is on its way back is not."""
    await node.look()
    node.take()
    node.unbind()
    override = node.cards.function(CARD, 1) / "driver_override"
    override.write_text("vfio-pci\n")
    assert await node.taints() == []
    for own in ("igbvf\n", "(null)\n"):
        override.write_text(own)
        assert await node.taints() == ["no-driver"]


async def test_what_is_unplugged_is_no_device(node: Node) -> None:
    """A function that its card no longer has, and links that are no functions."""
    await node.look()
    node.cards.remove(CARD, 1)
    node.links.pop(NAME)
    node.links.pop(CARD)
    assert (await node.look()).keys() == {"ens1f0v0"}
