"""What may be given to a program, read from a tree like that of a real machine."""

from collections.abc import Callable
from pathlib import Path

import pytest

from netclaim.kernel.host.hardware.vfio import (
    VFIO,
    Binding,
    has_vfio,
    obstacle,
    read_binding,
    vfio_files,
)
from tests.support.fake_cards import FakeCards

FUNCTION = "ens1f0v0"
ADDRESS = "0000:3b:10.0"


@pytest.fixture
def cards(tmp_path: Path) -> FakeCards:
    """A card with two functions, each in a group of its own, and a kernel that has vfio-pci."""
    cards = FakeCards(tmp_path)
    cards.add("ens1f0", functions=2)
    cards.load(VFIO)
    for number in range(2):
        cards.put_together(f"{17 + number}", cards.function("ens1f0", number))
    return cards


def test_a_function_has_a_driver_and_the_files_of_its_group(cards: FakeCards) -> None:
    """What was named for it is known too, so that it can be named again."""
    assert obstacle(FUNCTION, cards.root) == ""
    assert read_binding(FUNCTION, cards.root) == Binding(ADDRESS, "igbvf")
    assert vfio_files(ADDRESS, cards.root) == ("/dev/vfio/vfio", "/dev/vfio/17")
    override = cards.function("ens1f0", 0) / "driver_override"
    for said, known in (("(null)", ""), ("igbvf", "igbvf")):
        override.write_text(f"{said}\n")
        assert read_binding(FUNCTION, cards.root) == Binding(ADDRESS, "igbvf", known)
    assert not has_vfio(ADDRESS, cards.root)
    cards.bind("ens1f0", 0, VFIO)
    assert has_vfio(ADDRESS, cards.root)


def no_module(cards: FakeCards) -> None:
    """A kernel without vfio-pci."""
    (cards.root / "bus/pci/drivers" / VFIO).rmdir()


def no_iommu(cards: FakeCards) -> None:
    """A machine that keeps nothing apart."""
    (cards.function("ens1f0", 0) / "iommu_group").unlink()


def second_link(cards: FakeCards) -> None:
    """A function with two ports."""
    (cards.function("ens1f0", 0) / "net/other").mkdir()


def not_alone(cards: FakeCards) -> None:
    """A group with another function that the node uses."""
    no_iommu(cards)
    (cards.function("ens1f0", 1) / "iommu_group").unlink()
    cards.put_together("20", cards.function("ens1f0", 0), cards.function("ens1f0", 1))


def of_virtio(cards: FakeCards) -> None:
    """A link whose device is on another bus, which hangs on a PCI function."""
    device = cards.function("ens1f0", 0) / "virtio7"
    (device / "net").mkdir(parents=True)
    entry = cards.root / "class/net" / FUNCTION / "device"
    entry.unlink()
    entry.symlink_to(device)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (no_module, "run `modprobe vfio-pci` on the node"),
        (no_iommu, "the node has no IOMMU that keeps devices apart"),
        (second_link, "its PCI function has other links too: other"),
        (not_alone, "its IOMMU group 20 has other devices that are in use: 0000:3b:10.1 (igbvf)"),
        (of_virtio, "it is no PCI function by itself"),
    ],
)
def test_what_keeps_a_function_from_a_program(
    cards: FakeCards, spoil: Callable[[FakeCards], None], said: str
) -> None:
    """Each says what it is, and what to do about it."""
    spoil(cards)
    assert said in obstacle(FUNCTION, cards.root)


def test_bridges_and_what_nobody_uses_do_not_count(cards: FakeCards) -> None:
    """A group has the bridges on the way to its devices; nobody can reach the rest by it."""
    not_alone(cards)
    for driver in ("", "pci-stub"):
        cards.bind("ens1f0", 1, driver)
        assert obstacle(FUNCTION, cards.root) == ""
    cards.bind("ens1f0", 1, VFIO)  # a program that has the group has this, too
    assert "0000:3b:10.1 (vfio-pci)" in obstacle(FUNCTION, cards.root)
    (cards.function("ens1f0", 1) / "class").write_text("0x060400\n")
    assert obstacle(FUNCTION, cards.root) == ""


def test_a_card_with_functions_is_not_given_away(cards: FakeCards) -> None:
    """Its functions would go with it. One without any is like any other device."""
    cards.put_together("30", cards.device("ens1f0"))
    assert "it has virtual functions" in obstacle("ens1f0", cards.root)
    cards.add("ens2f0")
    cards.put_together("31", cards.device("ens2f0"))
    assert obstacle("ens2f0", cards.root) == ""
