"""Cards get the number of virtual functions that the settings say, unless one of them is in use."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from netclaim.errors import RequestError
from netclaim.network.links.card_functions import FunctionNumbers
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.settings import LinkSettings, LiveSettings
from netclaim.network.settings.per_link import PerLink, read_functions
from tests.support.fake_cards import FakeCards
from tests.support.network_parts import link_of

CARD = link_of("ens1f0", 2)
VFS = tuple(link_of(f"ens1f0v{number}", 3 + number) for number in range(4))


class Node:
    """A node with a card, and what its driver does about it."""

    def __init__(self, directory: Path) -> None:
        self.cards = FakeCards(directory)
        self.claimed: Collection[str] = ()
        self.live = LiveSettings(LinkSettings(state_dir=directory))
        self.numbers = FunctionNumbers(self.live, lambda: self.claimed, self.cards.root)

    def claim(self, *what: str) -> None:
        """Have claims take what has these names and addresses."""
        self.claimed = what

    def lose(self, *what: str) -> None:
        """Have the second function leave the node, for claims or for somebody else."""
        self.claimed = what
        self.cards.take_away("ens1f0", 1)

    def bind(self, driver: str) -> None:
        """Give the second function another driver."""
        self.cards.bind("ens1f0", 1, driver)

    def want(self, *vfs: str) -> None:
        """Change the setting."""
        self.live.now = LinkSettings(state_dir=Path("/nowhere"), vfs=read_functions(vfs))

    async def apply(self, *links: Any, **facts: Any) -> list[EventDict]:
        """Apply the setting; returns what was logged."""
        given: dict[str, Any] = {"addresses": (), "uplinks": (), "withheld": {}, "carriers": {}}
        with capture_logs() as logs:
            await self.numbers.apply(Snapshot(links=(CARD, *links), **(given | facts)))
        return logs


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node whose card has four functions, of which eight are wanted."""
    node = Node(tmp_path)
    node.cards.add("ens1f0", most=16, functions=4)
    node.want("ens*=8")
    return node


async def test_a_card_gets_its_number(node: Node) -> None:
    """The change is logged, and a second look does nothing."""
    assert await node.apply(*VFS) == [
        {
            "event": "discover.vfs_changed",
            "log_level": "info",
            "link": "ens1f0",
            "number": 8,
            "before": 4,
        }
    ]
    assert node.cards.number("ens1f0") == 8
    node.claimed = {"ens1f0v1"}
    assert await node.apply(*VFS) == []


async def test_cards_without_a_number_stay_as_they_are(node: Node) -> None:
    """Those that no pattern fits, links that are no cards, and all of them by default."""
    for vfs in ((), ("eth*=2",), ("ens1f0v*=2",)):
        node.want(*vfs)
        assert await node.apply(*VFS) == []
    assert node.cards.number("ens1f0") == 4


async def test_functions_can_be_taken_away(node: Node) -> None:
    """Zero is a number too."""
    node.want("ens1f0=0")
    await node.apply(*VFS)
    assert node.cards.number("ens1f0") == 0


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda n: n.lose(), "0000:3b:10.1: its link is in another network namespace"),
        (lambda n: n.bind("vfio-pci"), "0000:3b:10.1: it is bound to vfio-pci"),
        (lambda n: n.bind("mlx5_vfio_pci"), "0000:3b:10.1: it is bound to mlx5_vfio_pci"),
        (lambda n: n.claim("ens1f0v1"), "ens1f0v1: a claim has it"),
        (lambda n: n.lose("ens1f0v1", "0000:3b:10.1"), "0000:3b:10.1: a claim has it"),
        (lambda n: n.claim("ens1f0", "0000:3b:00.0"), "ens1f0: a claim has it"),
    ],
)
async def test_what_is_in_use_is_in_the_way(
    use: Callable[[Node], None], said: str, node: Node
) -> None:
    """The warning says what it is, once, and the number is changed when it is gone."""
    use(node)
    (warning,) = await node.apply(*VFS)
    assert (warning["event"], warning["log_level"]) == ("discover.vfs_refused", "warning")
    kept = "ens1f0 keeps its 4 virtual functions until all are free"
    assert warning["error"] == f"{kept}: {said}"
    assert await node.apply(*VFS) == []
    assert node.cards.number("ens1f0") == 4
    node.claimed = ()
    node.bind("")
    assert [each["event"] for each in await node.apply(*VFS)] == ["discover.vfs_changed"]


async def test_what_the_node_uses_is_in_the_way(node: Node) -> None:
    """An address on a function, a bond that it is a port of, a link that stands on it."""
    bond, vlan = link_of("bond0", 20, kind="bond"), link_of("vlan7", 21, kind="vlan")
    first, second, third, last = VFS
    links = (
        first,
        link_of(second.name, second.index, master_index=bond.index),
        third,
        last,
        bond,
        link_of(vlan.name, vlan.index, kind="vlan", parent_index=third.index),
    )
    uses = {first.index: "the node has the address 192.0.2.1 on it"}
    (warning,) = await node.apply(*links, used=uses)
    assert warning["error"].partition(": ")[2].split("; ") == [
        "ens1f0v0: the node has the address 192.0.2.1 on it",
        "ens1f0v1: it is a port of bond0",
        "ens1f0v2: vlan7 stands on it",
    ]


async def test_a_claim_on_the_card_itself_is_not(node: Node) -> None:
    """A macvlan on the card needs none of its functions."""
    node.claimed = {"ens1f0"}
    assert [each["event"] for each in await node.apply(*VFS)] == ["discover.vfs_changed"]


async def test_more_than_a_card_can_have(node: Node) -> None:
    """It keeps what it has, although all of them are free."""
    node.want("ens1f0=17")
    (warning,) = await node.apply(*VFS)
    assert warning["error"] == "ens1f0 can have 16 virtual functions at most"
    assert node.cards.number("ens1f0") == 4


async def test_a_number_that_the_kernel_refuses(node: Node) -> None:
    """The error has the kernel's word for it, and asks who can know more."""
    node.cards.freeze("ens1f0")
    node.want("ens1f0=2")
    (warning,) = await node.apply()
    assert warning["error"].startswith("ens1f0 did not take the number: Permission denied; ")


async def test_a_refusal_is_logged_again_after_a_change(node: Node) -> None:
    """Another obstacle is another line; so is the same one after the setting was gone."""
    for claimed, count in (("ens1f0v1", 1), ("ens1f0v1", 0), ("ens1f0v2", 1)):
        node.claimed = {claimed}
        assert len(await node.apply(*VFS)) == count
    node.want()
    assert await node.apply(*VFS) == []
    node.want("ens1f0=8")
    assert len(await node.apply(*VFS)) == 1


def test_the_setting_is_for_cards_by_their_names() -> None:
    """A number for all cards is refused, as is one that no card has."""
    assert read_functions(["ens1f0=8", "ens2*=0"]) == PerLink((("ens1f0", 8), ("ens2*", 0)))
    for text in ("8", "ens1f0=-1", "ens1f0=65536", "ens1f0=many", "=8", "a b=8"):
        with pytest.raises(RequestError, match=r"for example ens1f0=8"):
            read_functions([text])
