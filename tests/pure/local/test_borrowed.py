"""Which cards a machine can do without while a cluster has them."""

import pytest

from netclaim.kernel import Address, Link
from netclaim.local.machine.borrowed import use_of

CARD = Link(index=3, name="ens1", arphrd=1, flags=0)
OTHER = Link(index=4, name="ens2", arphrd=1, flags=0)


def test_a_card_without_a_use() -> None:
    """Links on other cards, peers in other namespaces and link-local addresses are none."""
    elsewhere = Link(index=5, name="v0", arphrd=1, flags=0, parent_index=3, parent_nsid=1)
    vlan = Link(index=6, name="ens2.7", arphrd=1, flags=0, kind="vlan", parent_index=4)
    own = Address(index=3, family=10, ip="fe80::1", prefix_length=64, scope=253, flags=0)
    assert use_of(CARD, (CARD, OTHER, elsewhere, vlan), (own,)) == ""


@pytest.mark.parametrize("kind", ["vlan", "macvlan"])
def test_a_card_with_links_on_it(kind: str) -> None:
    """They would go down with the card."""
    link = Link(index=7, name="upper", arphrd=1, flags=0, kind=kind, parent_index=3)
    assert use_of(CARD, (CARD, link), ()) == "upper on it"


def test_a_card_with_a_master_or_an_address() -> None:
    """The machine's traffic goes through it."""
    port = Link(index=3, name="ens1", arphrd=1, flags=0, master_index=9)
    assert use_of(port, (port,), ()) == "a master"
    address = Address(index=3, family=2, ip="192.0.2.1", prefix_length=24, scope=0, flags=0)
    assert use_of(CARD, (CARD,), (address,)) == "the address 192.0.2.1"
