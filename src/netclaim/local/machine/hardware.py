"""Links that look like ports of cards: a directory mounted over each link's own in sysfs.

This is for trying out the alignment of devices on a machine without the cards. The driver is the
real one and does not know: it reads sysfs as anywhere. Limit: a link that was moved into a pod and
came back is a plain link again, because the kernel drops a mount together with its directory.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from netclaim.kernel.host.syscalls import MS_BIND, mount
from netclaim.local.topology import Hardware, Link

LINKS: Final = Path("/sys/class/net")
ROOT: Final = "pci0000:00"  # for cards that name none; every machine has it


def show_cards(links: Iterable[Link], directory: Path) -> None:
    """Make the links of a node look as the topology says; the files go into a directory.

    To be called in the node's own namespaces, with its sysfs mounted. May be called twice.
    """
    for number, link in enumerate(links, start=1):
        if link.hardware is not None:
            entry = LINKS / link.name
            made = _make_entry(directory, link, link.hardware, number, entry)
            mount(str(made), entry.resolve(), flags=MS_BIND)


def _make_entry(directory: Path, link: Link, hardware: Hardware, number: int, entry: Path) -> Path:
    """Make the directory that replaces a link's own in sysfs, with the files that are read."""
    made = directory / "net" / link.name
    made.mkdir(parents=True, exist_ok=True)
    for name in ("ifindex", "address", "mtu", "type"):
        (made / name).write_text((entry / name).read_text())
    if hardware.speed_mbps is not None:
        (made / "speed").write_text(f"{hardware.speed_mbps}\n")
    device = made / "device"
    if hardware.is_card and not device.is_symlink():
        device.symlink_to(_make_card(directory, hardware, number))
    return made


def _make_card(directory: Path, hardware: Hardware, number: int) -> Path:
    """Make a PCI function below its root; the number makes its address unique."""
    root = hardware.pcie_root or ROOT
    card = directory / "devices" / root / f"{root.removeprefix('pci')}:{number:02x}.0"
    card.mkdir(parents=True, exist_ok=True)
    if hardware.numa_node is not None:
        (card / "numa_node").write_text(f"{hardware.numa_node}\n")
    if hardware.rdma_device:
        (card / "infiniband" / hardware.rdma_device).mkdir(parents=True, exist_ok=True)
    return card
