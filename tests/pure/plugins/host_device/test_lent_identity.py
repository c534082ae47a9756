"""Which link is the lent one, when a container has done to it what a container can."""

from typing import Any

import pytest
from msgspec.structs import replace

from netclaim.kernel import Link
from netclaim.plugins.host_device.lent_identity import find_lent, is_lent
from netclaim.plugins.host_device.lent_links import LentLink

MADE_WITH = "0c:00:00:00:00:01"
MAC = "02:00:00:00:00:01"


def lent(**keys: Any) -> LentLink:
    """Describe a card as it was remembered."""
    known: dict[str, Any] = {"kind": "", "perm_mac": MADE_WITH} | keys
    return LentLink("net", "c0ffee", "/ns", "net1", "eth1", MAC, 1500, True, True, **known)


def link(**keys: Any) -> Link:
    """Describe the card as it is in the container, unless told otherwise."""
    told: dict[str, Any] = {"name": "net1", "alias": "eth1", "mac": MAC, "perm_mac": MADE_WITH}
    return Link(index=7, arphrd=1, flags=0, **told | keys)


@pytest.mark.parametrize(
    "changed",
    [{}, {"mac": "02:00:00:00:00:09"}, {"alias": "x"}, {"alias": "x", "mac": "02:00:00:00:00:09"}],
)
def test_hardware_is_known_whatever_its_container_changed(changed: dict[str, Any]) -> None:
    """By the address that it was made with."""
    assert is_lent(link(**changed), lent())
    assert find_lent([link(name="lo", perm_mac="", mac=""), link(**changed)], lent()) is not None


@pytest.mark.parametrize("imitation", [{"kind": "veth"}, {"perm_mac": "0c:00:00:00:00:02"}])
def test_a_link_that_only_looks_like_it_is_not_it(imitation: dict[str, Any]) -> None:
    """Name, alias and MAC are right, and it is another card, or none at all."""
    fake = link(**imitation)
    assert not is_lent(fake, lent())
    assert find_lent([fake], lent()) is None
    assert find_lent([fake, link(name="hidden", alias="x")], lent()) == link(
        name="hidden", alias="x"
    )


def test_two_cards_that_were_made_alike_are_told_apart_by_alias() -> None:
    """Without that, neither is taken."""
    one, other = link(name="a", alias="x"), link(name="b", alias="y")
    assert find_lent([one, other], lent()) is None
    assert find_lent([one, link(name="b")], lent()) == link(name="b")


@pytest.mark.parametrize("kind", ["veth", None])
def test_others_are_known_by_alias_or_mac(kind: str | None) -> None:
    """Virtual links have no address of their own, and old records do not have it."""
    record = lent(kind=kind, perm_mac="")
    like: dict[str, Any] = {"kind": kind or "", "perm_mac": "" if kind else MADE_WITH}
    for known in ({"alias": "eth1", "mac": "x"}, {"alias": "x"}):
        assert is_lent(link(**like, **known), record)
    stranger = link(**like, alias="x", mac="x")
    assert not is_lent(stranger, record)
    assert find_lent([stranger], record) is None
    assert find_lent([stranger, link(**like)], record) == link(**like)


def test_hardware_without_an_address_of_its_own_is_not_taken_for_one_that_has_it() -> None:
    """Whatever alias the container of the other gave it."""
    assert find_lent([link()], lent(perm_mac="")) is None
    assert not is_lent(link(), lent(perm_mac=""))


def test_a_card_is_known_by_its_place_in_the_machine() -> None:
    """Also if its own address is another: drivers such as igbvf change that with the MAC."""
    record = lent(device="/sys/devices/pci0000:20/0000:21:10.0")
    changed = link(alias="x", mac="02:00:00:00:00:09", perm_mac="02:00:00:00:00:09")
    here = replace(changed, device="0000:21:10.0")
    assert is_lent(here, record)
    assert find_lent([replace(link(), device="0000:21:10.2"), here], record) == here
    assert not is_lent(replace(link(), device="0000:21:10.2"), record)


def test_the_links_of_one_device_are_told_apart_by_their_own_addresses() -> None:
    """A card with two ports can be one device."""
    record = lent(device="/sys/devices/pci0000:20/0000:21:00.0")
    one = link(alias="x", device="0000:21:00.0")
    other = link(alias="x", device="0000:21:00.0", perm_mac="0c:00:00:00:00:02")
    assert find_lent([other, one], record) == one
