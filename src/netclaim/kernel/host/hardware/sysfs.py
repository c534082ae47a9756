"""A link's hardware according to sysfs, as a frozen value.

Promise: this never fails; a file that is missing, unreadable or odd leaves its fact empty. Facts
are only taken from an entry that has the link's own index: sysfs shows the namespace it was mounted
in, where another link may have the same name.
Limit: it reads files and blocks, about a dozen for a card and two for a virtual link.
"""

import re
from pathlib import Path
from typing import Final

import msgspec

from netclaim.kernel.host.hardware.port_names import stands_for_function

SYS: Final = Path("/sys")
PCI_ADDRESS: Final = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
PCI_ROOT: Final = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
RATE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) Gb/sec")  # of an RDMA device's port
VIRTFN: Final = "virtfn"  # and a number: a card's links to its virtual functions
SPEED_UNKNOWN: Final = 0xFFFF_FFFF  # some drivers print -1 as an unsigned number


class SysfsFacts(msgspec.Struct, frozen=True):
    """Facts of a link's device; None or empty if there is none, or sysfs does not say."""

    virtual: bool = False
    driver: str = ""
    speed_mbps: int | None = None
    numa_node: int | None = None
    pci_address: str = ""
    pcie_root: str = ""
    pci_vendor: str = ""
    pci_device: str = ""
    sriov_total_vfs: int = 0
    sriov_num_vfs: int = 0
    is_vf: bool = False
    pf_name: str = ""
    vf_index: int | None = None
    rdma_devices: tuple[str, ...] = ()


def read_facts(name: str, index: int, root: Path = SYS) -> SysfsFacts:
    """Read the facts of one link of the namespace that `root` was mounted in."""
    entry = root / "class" / "net" / name
    if number_at(entry / "ifindex") != index:
        return SysfsFacts()
    device = resolved(entry / "device")
    if device is None:
        return SysfsFacts(
            virtual=_is_virtual(entry),
            speed_mbps=_speed(entry),
            rdma_devices=_rdma_over(name, root),
        )
    function = _pci_function(device)
    facts = SysfsFacts(
        driver=_name_behind(device / "driver"),
        speed_mbps=_speed(entry),
        rdma_devices=_rdma_on(device, name, root) or _rdma_over(name, root),
    )
    return facts if function is None else _with_pci(facts, function)


def read_rdma_facts(name: str, root: Path = SYS) -> SysfsFacts:
    """Read the facts of an RDMA device by itself, as fast as its fastest port."""
    entry = root / "class" / "infiniband" / name
    device = resolved(entry / "device")
    if device is None:
        return SysfsFacts()
    rates = (RATE.match(text_at(entry / "ports" / each / "rate")) for each in _ports(entry))
    speeds = [int(float(rate[1]) * 1000) for rate in rates if rate is not None]
    facts = SysfsFacts(
        driver=_name_behind(device / "driver"),
        speed_mbps=max(speeds, default=None),
        rdma_devices=(name,),
    )
    function = _pci_function(device)
    return facts if function is None else _with_pci(facts, function)


def _ports(rdma: Path) -> tuple[str, ...]:
    return children_of(rdma / "ports")


def vf_count(name: str, root: Path = SYS) -> int:
    """Count the virtual functions of a card that are in use; 0 for anything else."""
    return _at_least_0(root / "class" / "net" / name / "device" / "sriov_numvfs") or 0


def _with_pci(facts: SysfsFacts, function: Path) -> SysfsFacts:
    physical = resolved(function / "physfn")
    return msgspec.structs.replace(
        facts,
        numa_node=_at_least_0(function / "numa_node"),
        pci_address=function.name,
        pcie_root=next((part for part in function.parts if PCI_ROOT.fullmatch(part)), ""),
        pci_vendor=text_at(function / "vendor"),
        pci_device=text_at(function / "device"),
        sriov_total_vfs=_at_least_0(function / "sriov_totalvfs") or 0,
        sriov_num_vfs=_at_least_0(function / "sriov_numvfs") or 0,
        is_vf=physical is not None,
        pf_name=_own_link(physical / "net") if physical else "",
        vf_index=_number_of(function.name, physical) if physical else None,
    )


def _own_link(links: Path) -> str:
    """Name a card's own link, which may have representors of its functions beside it."""
    names = children_of(links)
    ports = {name: text_at(links / name / "phys_port_name") for name in names}
    return next((name for name in names if not stands_for_function(ports[name])), "")


def vf_place(device: str) -> tuple[str, int] | None:
    """Return where a virtual function belongs: its card's PCI address, and its number there.

    `device` is the path of a link's device below /sys; None if that is no virtual function.
    """
    function = _pci_function(Path(device)) if device else None
    physical = resolved(function / "physfn") if function is not None else None
    if function is None or physical is None:
        return None
    number = _number_of(function.name, physical)
    return None if number is None else (physical.name, number)


def _number_of(function: str, physical: Path) -> int | None:
    """Find the number by which a card knows its virtual function."""
    for name in children_of(physical):
        number = name.removeprefix(VIRTFN)
        if number != name and number.isdecimal() and _target(physical / name) == function:
            return int(number)
    return None


def _target(link: Path) -> str:
    try:
        return link.readlink().name
    except OSError:
        return ""


def _pci_function(device: Path) -> Path | None:
    """Find the PCI function: the device itself, or its parent (for a virtio device)."""
    for path in (device, *device.parents):
        if PCI_ADDRESS.fullmatch(path.name):
            return path
    return None


def rdma_ports(device: str, root: Path = SYS) -> tuple[str, ...]:
    """Return the link that each port of an RDMA device uses; empty where the kernel does not say.

    It does for Ethernet, in whichever namespace the link is.
    """
    ports = root / "class" / "infiniband" / device / "ports"
    return tuple(text_at(ports / each / "gid_attrs/ndevs/0") for each in children_of(ports))


def _rdma_on(device: Path, name: str, root: Path) -> tuple[str, ...]:
    """Find the RDMA devices of a link's hardware that do not use other links alone."""

    def is_used(rdma: str) -> bool:
        ports = rdma_ports(rdma, root)
        return not ports or name in ports or "" in ports

    return tuple(filter(is_used, children_of(device / "infiniband")))


def _rdma_over(name: str, root: Path) -> tuple[str, ...]:
    """Find RDMA devices by the link that their ports use, as those made in software do."""
    pattern = "*/ports/*/gid_attrs/ndevs/0"
    found = (root / "class" / "infiniband").glob(pattern)
    return tuple(sorted({path.parents[4].name for path in found if text_at(path) == name}))


def _is_virtual(entry: Path) -> bool:
    target = resolved(entry)
    return target is not None and target.parts[-3:-1] == ("virtual", "net")


def _speed(entry: Path) -> int | None:
    speed = number_at(entry / "speed")  # a link that is down answers EINVAL
    return speed if speed is not None and 0 < speed < SPEED_UNKNOWN else None


def _at_least_0(path: Path) -> int | None:
    value = number_at(path)
    return value if value is not None and value >= 0 else None


def number_at(path: Path) -> int | None:
    """Return the whole number that a file says; None if it says none."""
    try:
        return int(text_at(path))
    except ValueError:
        return None


def text_at(path: Path) -> str:
    """Return what a file says, without the end of its line."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except (OSError, ValueError):  # ValueError: a name with a NUL in it
        return ""


def _name_behind(link: Path) -> str:
    target = resolved(link)
    return target.name if target is not None else ""


def resolved(link: Path) -> Path | None:
    """Return where a path leads; None if that is not there."""
    try:
        return link.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links that lead in a circle
        return None


def children_of(directory: Path) -> tuple[str, ...]:
    """Return the names in a directory, sorted."""
    try:
        return tuple(sorted(path.name for path in directory.iterdir()))
    except OSError:
        return ()
