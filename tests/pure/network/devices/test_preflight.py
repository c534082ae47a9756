"""Which links are published with binding conditions, and by what a class chooses them."""

import pytest

from netclaim.kernel import SysfsFacts
from netclaim.model import Device
from netclaim.network.devices.device import ATTRIBUTES, device_of
from netclaim.network.devices.preflight import FAILED, PASSED, with_conditions
from netclaim.network.links.discover import generic_device
from tests.support.network_parts import link_of

ETH1 = device_of(link_of("eth1"), (), SysfsFacts(), default_route=False)


@pytest.mark.parametrize(
    ("device", "patterns", "checked"),
    [
        (ETH1, (), False),
        (ETH1, ("eth1",), True),
        (ETH1, ("ens*", "eth*"), True),
        (ETH1, ("ens*",), False),
        (generic_device(), ("eth*",), False),
        (generic_device(), ("cni",), True),
        (Device("eth1-slot-0", attributes={"name": "eth1"}), ("eth1",), True),
    ],
)
def test_conditions_by_the_links_name(
    device: Device, patterns: tuple[str, ...], checked: bool
) -> None:
    """A link that a pattern fits has them; the attribute says so, on every device."""
    made = with_conditions(device, patterns)
    assert made.attributes["preflight"] is checked
    assert made.binding_conditions == ((PASSED,) if checked else ())
    assert made.binding_failure_conditions == ((FAILED,) if checked else ())
    assert not made.binds_to_node


def test_a_link_with_every_attribute_fits_into_the_api() -> None:
    """32 attributes and capacities in all; a shared link has two of the latter."""
    assert len(ATTRIBUTES) + 2 <= 32
