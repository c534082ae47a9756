"""Whom to ask about a virtual function."""

from netclaim.plugins.host_device.lent_function import own_link
from tests.support.network_parts import link_of

CARD = "0000:3b:00.0"


def test_a_cards_own_link_is_none_of_its_representors() -> None:
    """They have its PCI address and may have a lower index, but they know no functions."""
    first = link_of("eth0", 2, device=CARD, port_name="pf0vf0")
    own = link_of("ens1f0np0", 3, device=CARD, port_name="p0")
    plain = link_of("ens2f0", 4, device="0000:5e:00.0")
    links = (first, own, plain)
    assert own_link(links, CARD) == own
    assert own_link(links, plain.device) == plain
    assert own_link((first,), CARD) is None
