"""What is published of a link."""

import ast
import inspect
import socket

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netclaim.kernel import Address, Link, SysfsFacts
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import text_of
from netclaim.model.devices.device import AttributeValue, Device, is_dns_label
from netclaim.network.devices import device as device_module
from netclaim.network.devices.device import device_name, device_of
from tests.support.doc_pages import same_names

ETH1 = Link(
    index=3,
    name="eth1",
    arphrd=uapi.ARPHRD_ETHER,
    flags=uapi.IFF_UP,
    mac="02:00:00:00:00:01",
    mtu=1500,
    oper_state="up",
    kind="veth",
)
NO_FACTS = SysfsFacts()
CARD = SysfsFacts(
    driver="mlx5_core",
    speed_mbps=100_000,
    numa_node=0,
    pci_address="0000:3b:00.0",
    pcie_root="pci0000:3a",
    pci_vendor="0x15b3",
    pci_device="0x101d",
    sriov_total_vfs=8,
    sriov_num_vfs=2,
    is_vf=True,
    pf_name="ens1",
    vf_index=3,
    rdma_devices=("mlx5_0", "mlx5_1"),
)
EVERY_ATTRIBUTE: dict[str, AttributeValue] = {
    "name": "eth1",
    "ifName": "eth1",
    "mac": "02:00:00:00:00:01",
    "mtu": 1500,
    "state": "up",
    "kind": "device",
    "type": "ethernet",
    "speed": 100_000,
    "virtual": False,
    "defaultRoute": True,
    "sriov": True,
    "sriovVfs": 2,
    "isSriovVf": True,
    "rdma": True,
    "preflight": False,
    "driver": "mlx5_core",
    "alias": "rack a",
    "ipv4": "10.0.0.5/24",
    "ipv6": "fd00::5/64",
    "numaNode": 0,
    "pciAddress": "0000:3b:00.0",
    "pciVendor": "0x15b3",
    "pciDevice": "0x101d",
    "pfName": "ens1",
    "vfIndex": 3,
    "rdmaDevice": "mlx5_0",
    "resource.kubernetes.io/pcieRoot": "pci0000:3a",
    "resource.kubernetes.io/pciBusID": "0000:3b:00.0",
    "resource.kubernetes.io/numaNode": 0,
    "multinetwork.networking.k8s.io/podNetwork": "",
}


def address(
    ip: str, prefix_length: int, *, index: int = 3, scope: int = 0, flags: int = 0
) -> Address:
    """An address as the kernel lists it."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    return Address(index, family, ip, prefix_length, scope, flags)


def described(link: Link = ETH1, *addresses: Address, facts: SysfsFacts = NO_FACTS) -> Device:
    """Describe a link that the default route does not use."""
    return device_of(link, addresses, facts, default_route=False)


def names_in_source() -> set[str]:
    """The attributes that `device_of` writes down, whether a link has them or not."""
    tree = ast.parse(inspect.getsource(device_of))
    tables = [node for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    keys = [key for table in tables for key in table.keys if key is not None]
    return {str(eval(ast.unparse(key), vars(device_module))) for key in keys}


def test_the_example_has_every_attribute() -> None:
    """What the documentation is compared with leaves out nothing that a link could have."""
    place = "EVERY_ATTRIBUTE of test_network_device.py, and to CARD what it is read from"
    same_names(EVERY_ATTRIBUTE, names_in_source(), place=place)


def test_a_card_with_everything() -> None:
    """Every attribute there is, under the names that claims select by."""
    link = msgspec.structs.replace(ETH1, kind="", alias="rack a")
    addresses = [address("10.0.0.5", 24), address("fd00::5", 64)]
    device = device_of(link, addresses, CARD, default_route=True)
    everything = {name: EVERY_ATTRIBUTE[name] for name in EVERY_ATTRIBUTE if name != "vfIndex"}
    assert device == Device("eth1", everything, making=ETH1.index)


def test_a_function_has_its_number() -> None:
    """Unless it has everything else, and there is no room for the capacities."""
    device = described(msgspec.structs.replace(ETH1, kind=""), facts=CARD)
    assert device.attributes["vfIndex"] == 3


def test_what_every_link_has_is_always_there() -> None:
    """A veth of no hardware has all that a selector may rely on, and no guesses."""
    device = described(facts=SysfsFacts(virtual=True))
    assert device.attributes == {
        "name": "eth1",
        "ifName": "eth1",
        "mac": "02:00:00:00:00:01",
        "mtu": 1500,
        "state": "up",
        "kind": "veth",
        "type": "ethernet",
        "driver": "veth",
        "speed": 0,
        "virtual": True,
        "defaultRoute": False,
        "sriov": False,
        "sriovVfs": 0,
        "isSriovVf": False,
        "rdma": False,
        "preflight": False,
        "multinetwork.networking.k8s.io/podNetwork": "",
    }


def test_an_infiniband_link() -> None:
    """Its address of 20 bytes fits."""
    link = msgspec.structs.replace(ETH1, arphrd=uapi.ARPHRD_INFINIBAND, mac=bytes(20).hex(":"))
    attributes = described(link).attributes
    assert (attributes["type"], attributes["mac"]) == ("infiniband", bytes(20).hex(":"))


def test_the_address_is_the_first_that_others_can_use() -> None:
    """Addresses of other links, of the link's own scope and secondary ones are passed over."""
    device = described(
        ETH1,
        address("10.1.1.1", 24, index=4),
        address("169.254.0.5", 16, scope=uapi.RT_SCOPE_LINK),
        address("10.2.2.9", 24, flags=uapi.IFA_F_SECONDARY),
        address("10.2.2.2", 24),
        address("10.3.3.3", 24),
        address("fe80::1", 64, scope=uapi.RT_SCOPE_LINK),
    )
    assert device.attributes["ipv4"] == "10.2.2.2/24"
    assert "ipv6" not in device.attributes


@pytest.mark.parametrize(("length", "published"), [(64, True), (65, False)])
def test_a_value_too_long_is_left_out(length: int, published: bool) -> None:
    """The API takes strings of 64 bytes; a longer alias is not cut but left out."""
    device = described(msgspec.structs.replace(ETH1, alias="x" * length))
    assert ("alias" in device.attributes) is published


def test_numa_node_zero_is_a_node() -> None:
    """Zero is a fact, not the lack of one."""
    assert described(facts=SysfsFacts(numa_node=0)).attributes["numaNode"] == 0


@pytest.mark.parametrize("ifname", ["eth0", "ens1f0np0", "wlp2s0", "br-lan", "0"])
def test_a_plain_name_is_the_devices(ifname: str) -> None:
    """A link name that is a DNS label is kept."""
    assert device_name(ifname) == ifname


@pytest.mark.parametrize(
    ("ifname", "name"),
    [
        ("eth0.100", "eth0-100-959ba6d7"),
        ("Uplink", "uplink-e9413f86"),
        ("a_-_b", "a-b-0d932fc9"),
        ("-", "link-3973e022"),
    ],
)
def test_an_odd_name_is_made_a_label_that_stays(ifname: str, name: str) -> None:
    """The name of an odd link is the same in every version, or claims in use would lose it."""
    assert device_name(ifname) == name
    device = described(msgspec.structs.replace(ETH1, name=ifname))
    assert (device.name, device.attributes["ifName"]) == (name, ifname)


def test_names_that_look_alike_stay_apart() -> None:
    """Two links whose names normalise to the same text are two devices."""
    assert len({device_name(name) for name in ("eth0.1", "eth0-1", "eth0_1", "ETH0.1")}) == 4


@settings(deadline=None)
@given(st.text(min_size=1, max_size=15) | st.binary(min_size=1, max_size=15).map(text_of))
@example(text_of(b"\xff" * 15))
def test_any_name_gives_a_device(ifname: str) -> None:
    """Whatever a link is called, its device can be published."""
    device = described(msgspec.structs.replace(ETH1, name=ifname.encode(errors="replace").decode()))
    assert is_dns_label(device.name)


def test_there_is_room_for_more() -> None:
    """A device with every attribute is below the API's limit of 32."""
    assert len(EVERY_ATTRIBUTE) < 32
