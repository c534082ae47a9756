"""Hardware facts, read from trees built like those of real machines."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.kernel.host.hardware.port_names import stands_for_function
from netclaim.kernel.host.hardware.sysfs import SysfsFacts, read_facts, vf_place


class Sysfs:
    """A tree under construction, with the links between its parts as the kernel lays them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._next_index = 1

    def device(self, path: str, *, driver: str = "", bus: str = "pci", **files: str) -> Path:
        """Add a device under devices/ with its files and its driver."""
        directory = self.root / "devices" / path
        directory.mkdir(parents=True)
        for name, content in files.items():
            (directory / name).write_text(f"{content}\n")
        if driver:
            target = self.root / "bus" / bus / "drivers" / driver
            target.mkdir(parents=True, exist_ok=True)
            (directory / "driver").symlink_to(os.path.relpath(target, directory))
        return directory

    def link(self, name: str, device: Path | None, **files: str) -> int:
        """Add a network link on a device, or a virtual one; returns its index."""
        index = self._next_index
        self._next_index += 1
        parent = device or self.root / "devices" / "virtual"
        entry = parent / "net" / name
        entry.mkdir(parents=True)
        for file, content in {"ifindex": str(index), **files}.items():
            (entry / file).write_text(f"{content}\n")
        if device is not None:
            (entry / "device").symlink_to(f"../../../{device.name}")
        in_class = self.root / "class" / "net" / name
        in_class.parent.mkdir(parents=True, exist_ok=True)
        in_class.symlink_to(os.path.relpath(entry, in_class.parent))
        return index

    def facts(self, name: str, index: int) -> SysfsFacts:
        """Read what the tree says of a link."""
        return read_facts(name, index, self.root)


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    """An empty tree."""
    return Sysfs(tmp_path / "sys")


def card(sysfs: Sysfs, path: str, **files: str) -> Path:
    """A PCI function of a fast card."""
    return sysfs.device(
        path, driver="mlx5_core", vendor="0x15b3", device="0x101d", numa_node="1", **files
    )


def test_a_physical_card_with_vfs(sysfs: Sysfs) -> None:
    """A PF has its address, its root, its node, its speed, its RDMA device and its VFs."""
    pf = card(sysfs, "pci0000:3a/0000:3a:00.0/0000:3b:00.0", sriov_totalvfs="8", sriov_numvfs="2")
    (pf / "infiniband" / "mlx5_0").mkdir(parents=True)
    index = sysfs.link("ens1f0", pf, speed="100000")
    assert sysfs.facts("ens1f0", index) == SysfsFacts(
        driver="mlx5_core",
        speed_mbps=100_000,
        numa_node=1,
        pci_address="0000:3b:00.0",
        pcie_root="pci0000:3a",
        pci_vendor="0x15b3",
        pci_device="0x101d",
        sriov_total_vfs=8,
        sriov_num_vfs=2,
        rdma_devices=("mlx5_0",),
    )


def test_a_vf_names_its_pf(sysfs: Sysfs) -> None:
    """A VF knows that it is one, and which link is its PF."""
    pf = card(sysfs, "pci0000:3a/0000:3a:00.0/0000:3b:00.0", sriov_totalvfs="8", sriov_numvfs="1")
    sysfs.link("ens1f0", pf)
    vf = card(sysfs, "pci0000:3a/0000:3a:00.0/0000:3b:00.2")
    (vf / "physfn").symlink_to("../0000:3b:00.0")
    (pf / "virtfn0").symlink_to("../0000:3b:00.1")
    (pf / "virtfn1").symlink_to("../0000:3b:00.2")
    facts = sysfs.facts("ens1f0v0", sysfs.link("ens1f0v0", vf))
    assert (facts.is_vf, facts.pf_name, facts.pci_address) == (True, "ens1f0", "0000:3b:00.2")
    assert (facts.sriov_total_vfs, facts.sriov_num_vfs, facts.vf_index) == (0, 0, 1)
    assert vf_place(str(vf)) == ("0000:3b:00.0", 1)
    assert (vf_place(str(pf)), vf_place("")) == (None, None)


def test_the_representors_of_functions_are_not_their_pf(sysfs: Sysfs) -> None:
    """A card that switches by itself has them on its own PCI function, perhaps named before it."""
    pf = card(sysfs, "pci0000:3a/0000:3b:00.0")
    for name, port in (("eth0", "pf0vf0"), ("eth1", "c1pf0sf88"), ("ens1f0np0", "p0")):
        sysfs.link(name, pf, phys_port_name=port)
    vf = card(sysfs, "pci0000:3a/0000:3b:00.2")
    (vf / "physfn").symlink_to("../0000:3b:00.0")
    facts = sysfs.facts("eth5", sysfs.link("eth5", vf))
    assert (facts.is_vf, facts.pf_name) == (True, "ens1f0np0")


@pytest.mark.parametrize(
    ("port", "stands"),
    [
        *((each, True) for each in ("pf0vf0", "pf1vf12", "pf0sf88", "c1pf0vf3", "pf0", "pf0hpf")),
        *((each, True) for each in ("p0pf0vf1", "c0pf1")),
        *((each, False) for each in ("", "p0", "p0s1", "n1", "pf", "pfvf0", "eth0", "0")),
    ],
)
def test_the_names_of_ports(port: str, stands: bool) -> None:
    """A port to the outside is the card's own; the other names are of its functions."""
    assert stands_for_function(port) is stands


def test_a_vf_whose_pf_is_elsewhere(sysfs: Sysfs) -> None:
    """A VF is one also when its PF has no link in this namespace."""
    card(sysfs, "pci0000:3a/0000:3b:00.0")
    vf = card(sysfs, "pci0000:3a/0000:3b:00.2")
    (vf / "physfn").symlink_to("../0000:3b:00.0")
    facts = sysfs.facts("eth5", sysfs.link("eth5", vf))
    assert (facts.is_vf, facts.pf_name, facts.vf_index) == (True, "", None)
    assert vf_place(str(vf)) is None


def test_virtio_is_on_the_pci_function_above_it(sysfs: Sysfs) -> None:
    """A virtio link has its own driver and the PCI address of what carries it."""
    sysfs.device("pci0000:00/0000:00:03.0", vendor="0x1af4", device="0x1041", numa_node="-1")
    virtio = sysfs.device("pci0000:00/0000:00:03.0/virtio0", driver="virtio_net", bus="virtio")
    facts = sysfs.facts("eth0", sysfs.link("eth0", virtio, speed="-1"))
    assert facts == SysfsFacts(
        driver="virtio_net",
        pci_address="0000:00:03.0",
        pcie_root="pci0000:00",
        pci_vendor="0x1af4",
        pci_device="0x1041",
    )


def test_a_device_that_is_not_on_pci(sysfs: Sysfs) -> None:
    """A platform device has a driver and no PCI facts; it is not virtual."""
    platform = sysfs.device("platform/fe300000.ethernet", driver="stmmac", bus="platform")
    facts = sysfs.facts("eth0", sysfs.link("eth0", platform, speed="1000"))
    assert facts == SysfsFacts(driver="stmmac", speed_mbps=1000)


def test_a_pci_root_behind_a_platform_bridge(sysfs: Sysfs) -> None:
    """The root is found where it is not at the beginning of the path; its domain may be long."""
    device = card(sysfs, "platform/3f000000.pcie/pci10000:00/10000:00:01.0")
    facts = sysfs.facts("eth0", sysfs.link("eth0", device))
    assert (facts.pcie_root, facts.pci_address) == ("pci10000:00", "10000:00:01.0")


def test_a_veth_is_virtual(sysfs: Sysfs) -> None:
    """A link without a device under devices/virtual is virtual and little more."""
    facts = sysfs.facts("veth0", sysfs.link("veth0", None, speed="10000"))
    assert facts == SysfsFacts(virtual=True, speed_mbps=10_000)


def test_infiniband_with_two_rdma_devices(sysfs: Sysfs) -> None:
    """Every RDMA device of the function is named, in order."""
    device = card(sysfs, "pci0000:80/0000:81:00.0")
    for rdma in ("mlx5_3", "mlx5_2"):
        (device / "infiniband" / rdma).mkdir(parents=True)
    facts = sysfs.facts("ib0", sysfs.link("ib0", device))
    assert facts.rdma_devices == ("mlx5_2", "mlx5_3")


def test_two_links_of_a_function_have_the_rdma_devices_whose_ports_use_them(sysfs: Sysfs) -> None:
    """By port, where the kernel says which link a port uses."""
    device = card(sysfs, "pci0000:3a/0000:3b:00.0")
    for rdma, ports in (("mlx4_0", ("eth1", "eth2")), ("mlx4_1", ("eth2",))):
        (device / "infiniband" / rdma).mkdir(parents=True)
        for number, link in enumerate(ports, start=1):
            users = sysfs.root / f"class/infiniband/{rdma}/ports/{number}/gid_attrs/ndevs"
            users.mkdir(parents=True)
            (users / "0").write_text(f"{link}\n")
    assert sysfs.facts("eth1", sysfs.link("eth1", device)).rdma_devices == ("mlx4_0",)
    assert sysfs.facts("eth2", sysfs.link("eth2", device)).rdma_devices == ("mlx4_0", "mlx4_1")


def test_rdma_in_software_is_found_by_its_link(sysfs: Sysfs) -> None:
    """An RDMA device over a virtual link is found through the port that uses the link."""
    for rdma, over in (("rxe0", "veth0"), ("rxe1", "veth1")):
        users = sysfs.root / "class" / "infiniband" / rdma / "ports" / "1" / "gid_attrs" / "ndevs"
        users.mkdir(parents=True)
        (users / "0").write_text(f"{over}\n")
    facts = sysfs.facts("veth1", sysfs.link("veth1", None))
    assert facts.rdma_devices == ("rxe1",)


@pytest.mark.parametrize("speed", ["-1", "0", "4294967295", "", "fast", "\0"])
def test_a_speed_that_is_none(sysfs: Sysfs, speed: str) -> None:
    """Unknown in any of the drivers' ways to say so is None."""
    index = sysfs.link("veth0", None, speed=speed)
    assert sysfs.facts("veth0", index).speed_mbps is None


def test_a_speed_that_cannot_be_read(sysfs: Sysfs) -> None:
    """A read error, such as EINVAL for a link that is down, is None."""
    index = sysfs.link("veth0", None)
    (sysfs.root / "class" / "net" / "veth0" / "speed").mkdir()  # reading it fails: EISDIR
    assert sysfs.facts("veth0", index).speed_mbps is None


def test_a_namesake_in_another_namespace_is_not_taken(sysfs: Sysfs) -> None:
    """Facts of an entry with another index are not this link's."""
    index = sysfs.link("eth0", card(sysfs, "pci0000:00/0000:00:04.0"))
    assert sysfs.facts("eth0", index + 1) == SysfsFacts()


def test_a_link_that_is_not_there(sysfs: Sysfs) -> None:
    """A link that has just gone, or no sysfs at all, gives no facts."""
    assert sysfs.facts("eth0", 1) == SysfsFacts()


def test_links_that_lead_in_a_circle(sysfs: Sysfs) -> None:
    """A damaged tree gives no facts rather than an error."""
    index = sysfs.link("veth0", None)
    entry = sysfs.root / "class" / "net" / "veth0"
    (entry / "device").symlink_to("device")
    assert sysfs.facts("veth0", index).driver == ""


@settings(deadline=None)
@given(content=st.binary(max_size=30))
def test_any_content_gives_facts(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Whatever a file holds, reading does not fail."""
    sysfs = Sysfs(tmp_path_factory.mktemp("sys"))
    device = card(sysfs, "pci0000:00/0000:00:04.0", sriov_totalvfs="1", sriov_numvfs="1")
    index = sysfs.link("eth0", device, speed="1")
    for name in (
        "vendor",
        "device",
        "numa_node",
        "sriov_totalvfs",
        "sriov_numvfs",
        "net/eth0/speed",
    ):
        (device / name).write_bytes(content)
    facts = sysfs.facts("eth0", index)
    assert facts.pci_address == "0000:00:04.0"
    assert facts.sriov_num_vfs >= 0


def test_the_real_tree_of_this_machine() -> None:
    """The loopback link, which every namespace has under index 1, is virtual."""
    assert read_facts("lo", 1).virtual
