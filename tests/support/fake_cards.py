"""Cards with virtual functions as sysfs shows them, in a directory; nothing happens by itself."""

import os
import shutil
from pathlib import Path

ROOT = "pci0000:3a"
READ_ONLY = "/proc/sys/kernel/ngroups_max"  # says a number


class FakeCards:
    """A tree that has cards added to it."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "sys"
        self._cards: dict[str, Path] = {}

    def add(self, name: str, *, most: int | None = 8, functions: int = 0) -> None:
        """Add a card, and functions named after it; `most` is None for one without SR-IOV."""
        bus = f"0000:{0x3B + len(self._cards):02x}"
        card = self.root / "devices" / ROOT / f"{bus}:00.0"
        card.mkdir(parents=True)
        self._cards[name] = card
        self._link(name, card)
        if most is None:
            return
        (card / "sriov_totalvfs").write_text(f"{most}\n")
        (card / "sriov_numvfs").write_text(f"{functions}\n")
        for number in range(functions):
            function = self.root / "devices" / ROOT / f"{bus}:10.{number:x}"
            function.mkdir()
            (function / "physfn").symlink_to(f"../{card.name}")
            (card / f"virtfn{number}").symlink_to(f"../{function.name}")
            self.bind(name, number, "igbvf")
            self._link(f"{name}v{number}", function)

    def add_rdma(self, name: str, card: str, *, rate: str, ports: str, link: str = "") -> None:
        """Add an RDMA device to a card; `link` is what its port uses, if that is Ethernet."""
        entry = self.root / "class" / "infiniband" / name
        port = entry / "ports" / "1"
        (port / "gid_attrs" / "ndevs").mkdir(parents=True)
        (port / "rate").write_text(f"{rate}\n")
        (port / "link_layer").write_text(f"{'Ethernet' if link else 'InfiniBand'}\n")
        (port / "state").write_text(f"{ports}\n")
        if link:
            (port / "gid_attrs" / "ndevs" / "0").write_text(f"{link}\n")
        (entry / "device").symlink_to(os.path.relpath(self._cards[card], entry))
        number = len(list((self.root / "class" / "infiniband").iterdir())) - 1
        verbs = self.root / "class" / "infiniband_verbs" / f"uverbs{number}"
        verbs.mkdir(parents=True)
        (verbs / "ibdev").write_text(f"{name}\n")

    def remove_links(self, card: str) -> None:
        """Have a card's kernel driver make no link of it."""
        for link in (self._cards[card] / "net").iterdir():
            (self.root / "class" / "net" / link.name).unlink()
        shutil.rmtree(self._cards[card] / "net")

    def load(self, driver: str) -> None:
        """Have the kernel know a driver."""
        (self.root / "bus" / "pci" / "drivers" / driver).mkdir(parents=True, exist_ok=True)

    def put_together(self, group: str, *devices: Path) -> None:
        """Have the IOMMU keep these devices apart from all others, not from each other."""
        members = self.root / "kernel" / "iommu_groups" / group / "devices"
        members.mkdir(parents=True)
        for device in devices:
            (members / device.name).symlink_to(os.path.relpath(device, members))
            (device / "iommu_group").symlink_to(os.path.relpath(members.parent, device))

    def function(self, name: str, number: int) -> Path:
        """The directory of a card's function."""
        return (self._cards[name] / f"virtfn{number}").resolve()

    def device(self, name: str) -> Path:
        """The directory of a card."""
        return self._cards[name]

    def number(self, name: str) -> int:
        """How many functions a card was last told to have."""
        return int((self._cards[name] / "sriov_numvfs").read_text())

    def bind(self, name: str, number: int, driver: str) -> None:
        """Give a function another driver, or none; it has a link only by that of its kind."""
        function = self.function(name, number)
        (function / "driver").unlink(missing_ok=True)
        if driver:
            target = self.root / "bus" / "pci" / "drivers" / driver
            target.mkdir(parents=True, exist_ok=True)
            (function / "driver").symlink_to(os.path.relpath(target, function))
        if driver != "igbvf":
            self.take_away(name, number, gone=True)

    def take_away(self, name: str, number: int, *, gone: bool = False) -> None:
        """Have a function's link leave the namespace, or be `gone` from all of them."""
        function = self.function(name, number)
        link = function / "net" / f"{name}v{number}"
        if link.exists():
            (self.root / "class" / "net" / link.name).unlink()
            (link / "device").unlink()
            link.rmdir()
            if gone:
                link.parent.rmdir()

    def give_back(self, name: str, number: int) -> None:
        """Have a function get the driver of its kind again, and so a link in some namespace."""
        self.bind(name, number, "igbvf")
        self._link(f"{name}v{number}", self.function(name, number))

    def remove(self, name: str, number: int) -> None:
        """Have a card lose a function, and what it was bound to."""
        function = self.function(name, number)
        self.take_away(name, number)
        (self.root / "bus" / "pci" / "devices" / function.name).unlink()

    def name_port(self, name: str, port: str) -> None:
        """Have the card's link say which port of the card it is."""
        (self._cards[name] / "net" / name / "phys_port_name").write_text(f"{port}\n")

    def freeze(self, name: str) -> None:
        """Have a card take no number: its file can be read and, by root too, not be written."""
        file = self._cards[name] / "sriov_numvfs"
        file.unlink()
        file.symlink_to(READ_ONLY)

    def _link(self, name: str, device: Path) -> None:
        entry = device / "net" / name
        entry.mkdir(parents=True)
        (entry / "device").symlink_to(f"../../../{device.name}")
        in_class = self.root / "class" / "net" / name
        in_class.parent.mkdir(parents=True, exist_ok=True)
        in_class.symlink_to(os.path.relpath(entry, in_class.parent))
        on_bus = self.root / "bus" / "pci" / "devices" / device.name
        on_bus.parent.mkdir(parents=True, exist_ok=True)
        if not on_bus.exists():
            on_bus.symlink_to(os.path.relpath(device, on_bus.parent))
