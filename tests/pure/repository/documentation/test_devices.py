"""docs/devices.md lists what devices have, and its selectors select."""

import msgspec
import pytest

from netclaim.allocator.cel import compile_selector, device_view
from netclaim.kernel import SysfsFacts
from netclaim.kernel.netlink import uapi
from netclaim.model.api.dra.device_json import device_json
from netclaim.model.api.dra.slice import PublishedDevice
from netclaim.model.devices.device import AttributeValue, Device
from netclaim.network import DRIVER_NAME
from netclaim.network.devices.device import ATTRIBUTES, LINK_TYPES
from netclaim.network.links.discover import generic_device
from tests.pure.network.devices.test_device import CARD, ETH1, EVERY_ATTRIBUTE, described
from tests.pure.network.devices.test_device import address as address_of
from tests.support.doc_pages import code, same_names, section, table

PAGE = "devices.md"
TYPES = {bool: "bool", int: "int", str: "string"}
SELECTORS = {
    code(row["Attribute"]): code(row["A selector that is true for the example"])
    for row in table(PAGE, "Selectors")
}


def shown(value: AttributeValue) -> str:
    """A value as the page writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'


def the_example() -> Device:
    """The card that has every attribute."""
    return Device("eth1", EVERY_ATTRIBUTE)


def test_every_attribute_is_listed() -> None:
    """The table has each attribute that a device can have, with its type and an example."""
    listed = {
        code(row["Attribute"]): (row["Type"], code(row["Example"]))
        for row in table(PAGE, "Attributes")
    }
    same_names(listed, EVERY_ATTRIBUTE, place=f'docs/{PAGE}, "Attributes"')
    same_names(ATTRIBUTES, EVERY_ATTRIBUTE, place="ATTRIBUTES in network/devices/device.py")
    assert listed == {
        name: (TYPES[type(value)], shown(value)) for name, value in EVERY_ATTRIBUTE.items()
    }


def test_what_is_always_there() -> None:
    """Marked "always" is exactly what a link without hardware, addresses and kind has."""
    always = {
        code(row["Attribute"]) for row in table(PAGE, "Attributes") if row["Present"] == "always"
    }
    bare = described(msgspec.structs.replace(ETH1, kind=""), facts=SysfsFacts())
    same_names(always, bare.attributes, place=f'those marked "always" in docs/{PAGE}, "Attributes"')


def test_every_attribute_has_a_selector_that_reads_it() -> None:
    """Each attribute has an example selector, which names it."""
    same_names(SELECTORS, EVERY_ATTRIBUTE, place=f'docs/{PAGE}, "Selectors"')
    for name, expression in SELECTORS.items():
        assert name.rpartition("/")[2] in expression


@pytest.mark.parametrize("name", SELECTORS)
def test_selectors_select_the_example(name: str) -> None:
    """Each example selector is true of the example device."""
    view = device_view(DRIVER_NAME, PublishedDevice.read(device_json(the_example())))
    assert compile_selector(SELECTORS[name]).matches(view)


@pytest.mark.parametrize("name", SELECTORS)
def test_selectors_survive_a_bare_link(name: str) -> None:
    """No example selector fails at a device that lacks its attribute."""
    for device in (described(msgspec.structs.replace(ETH1, kind="")), generic_device()):
        view = device_view(DRIVER_NAME, PublishedDevice.read(device_json(device)))
        assert compile_selector(SELECTORS[name]).matches(view) in {True, False}


def test_the_generic_device() -> None:
    """The table of the device `cni` has its attributes and their values."""
    listed = {code(row["Attribute"]): code(row["Value"]) for row in table(PAGE, "The device `cni`")}
    device = generic_device()
    same_names(listed, device.attributes, place=f'docs/{PAGE}, "The device `cni`"')
    assert listed == {name: shown(value) for name, value in device.attributes.items()}
    assert device.allow_multiple_allocations


def test_no_capacities_and_taints() -> None:
    """A card with everything has neither, as the page says."""
    addresses = [address_of("10.0.0.5", 24), address_of("fd00::5", 64)]
    device = described(ETH1, *addresses, facts=CARD)
    assert not device.capacity
    assert not device.taints


def test_types_of_links() -> None:
    """The page names the types of links that are offered."""
    assert set(LINK_TYPES) == {uapi.ARPHRD_ETHER, uapi.ARPHRD_INFINIBAND}
    for name in LINK_TYPES.values():
        assert f"`{name}`" in section(PAGE, "Attributes")
