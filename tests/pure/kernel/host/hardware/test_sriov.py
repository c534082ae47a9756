"""A card's functions, read from a tree like that of a real machine, and their number changed."""

from pathlib import Path

import pytest

from netclaim.kernel.host.hardware.sriov import CardFunctions, Function, read_functions, set_number
from tests.support.fake_cards import FakeCards


@pytest.fixture
def cards(tmp_path: Path) -> FakeCards:
    """No cards yet."""
    return FakeCards(tmp_path)


def test_functions_have_an_address_a_driver_and_a_link(cards: FakeCards) -> None:
    """In the order of their numbers, also where there are more than ten."""
    cards.add("ens1f0", most=63, functions=12)
    cards.take_away("ens1f0", 1)
    cards.bind("ens1f0", 2, "vfio-pci")
    cards.bind("ens1f0", 3, "")
    found = read_functions("ens1f0", cards.root)
    assert found is not None
    assert (found.address, found.number, found.most) == ("0000:3b:00.0", 12, 63)
    assert found.there[:4] == (
        Function("0000:3b:10.0", "igbvf", ("ens1f0v0",)),
        Function("0000:3b:10.1", "igbvf"),
        Function("0000:3b:10.2", "vfio-pci"),
        Function("0000:3b:10.3"),
    )
    assert [each.links for each in found.there[9:]] == [
        ("ens1f0v9",),
        ("ens1f0v10",),
        ("ens1f0v11",),
    ]


def test_most_links_have_no_functions(cards: FakeCards) -> None:
    """Neither a card without SR-IOV, nor a function, nor a link that is not there."""
    cards.add("ens1f0", most=8, functions=1)
    cards.add("eth0", most=None)
    assert read_functions("eth0", cards.root) is None
    assert read_functions("ens1f0v0", cards.root) is None
    assert read_functions("lo", cards.root) is None


def test_a_representor_is_not_its_card(cards: FakeCards) -> None:
    """It shares the card's hardware; a number meant for it would be the card's."""
    cards.add("ens1f0", most=8, functions=1)
    cards.name_port("ens1f0", "p0")
    assert read_functions("ens1f0", cards.root) is not None
    cards.name_port("ens1f0", "pf0vf0")
    assert read_functions("ens1f0", cards.root) is None


def test_a_number_is_written(cards: FakeCards) -> None:
    """What a card has afterwards is the number that was asked for."""
    cards.add("ens1f0", most=8)
    set_number("ens1f0", 8, cards.root)
    found = read_functions("ens1f0", cards.root)
    assert found == CardFunctions("0000:3b:00.0", (), 8, 8)
    set_number("ens1f0", 0, cards.root)
    assert read_functions("ens1f0", cards.root) == CardFunctions("0000:3b:00.0", (), 0, 8)
