"""A network's device has a name that says which network and which link."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.model import Device
from netclaim.model.api.dra.slice import POD_NETWORK
from netclaim.model.devices.device_name import is_dns_label
from netclaim.model.devices.link_name import link_of
from netclaim.network.devices.device import NUMA_NODE, device_name
from netclaim.network.devices.network_device import (
    is_device_of,
    network_device,
    network_device_name,
)

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
LINKS = st.text(min_size=1, max_size=15).map(device_name)


@given(network=LABELS, link=LINKS)
def test_the_name_says_both(network: str, link: str) -> None:
    """Any network on any link, also as one of its slots; the API takes the name."""
    name = network_device_name(network, link)
    assert is_dns_label(f"{name}-slot-127")
    for each in (name, f"{name}-slot-127"):
        assert link_of(each) == link
        assert is_device_of(network, each)


@given(one=LABELS, other=LABELS, link=LINKS)
def test_two_networks_are_two_devices(one: str, other: str, link: str) -> None:
    """However long their names are."""
    assert (one == other) == is_device_of(one, network_device_name(other, link))


@pytest.mark.parametrize("link", ["eth1", "media-net-on-eth1", "-on-", "a-on-b"])
def test_no_link_is_taken_for_a_network(link: str) -> None:
    """A link that is called like a network's device is one of another name."""
    assert not is_device_of("media-net", device_name(link))
    assert link_of(device_name(link)) == device_name(link)


def test_who_selects_a_link_gets_none() -> None:
    """What devices are aligned by is the link's; nothing else that a selector could find is."""
    link = Device("eth1", {"name": "eth1", "speed": 25000, NUMA_NODE: 1})
    attributes = network_device("media-net", link).attributes
    assert (attributes["name"], attributes["ifName"], attributes["kind"], attributes["speed"]) == (
        "media-net-on-eth1",
        "",
        "network",
        0,
    )
    assert (attributes[POD_NETWORK], attributes[NUMA_NODE]) == ("media-net", 1)
