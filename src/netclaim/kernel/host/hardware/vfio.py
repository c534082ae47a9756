"""PCI functions in the hands of programs: bound to the kernel driver vfio-pci, and given back.

A program drives such a function by files below /dev/vfio: a virtual machine, or DPDK. The kernel
hands functions out by IOMMU group: what cannot be kept apart from each other is in one.

Promise: reading never fails; what is missing or odd is not there. Each step can be repeated, from
wherever an earlier attempt ended. Limit: it blocks; to take a function away from vfio-pci, the
kernel waits for the program that has it open.
"""

from pathlib import Path
from typing import Final

import msgspec

from netclaim.kernel.host.hardware.sriov import NUMBER
from netclaim.kernel.host.hardware.sysfs import (
    PCI_ADDRESS,
    SYS,
    children_of,
    number_at,
    resolved,
    text_at,
)

VFIO: Final = "vfio-pci"
CONTAINER: Final = "/dev/vfio/vfio"  # by which a program says how it reaches memory
DIRECTORY: Final = "/dev/vfio"
BRIDGE: Final = "0x06"  # how the class of a bridge begins; a group has those on the way to it
IDLE: Final = frozenset({"", "pci-stub"})  # drivers that leave a device alone; empty: none
NO_OVERRIDE: Final = "(null)"  # what the kernel prints where no driver was named


class Binding(msgspec.Struct, frozen=True):
    """A PCI function, the kernel driver that it has, and the one that was named for it."""

    address: str
    driver: str  # empty: none
    override: str = ""


def read_binding(link: str, root: Path = SYS) -> Binding | None:
    """Return what a link is made of; None if that is no PCI function by itself."""
    device = resolved(root / "class/net" / link / "device")
    if device is None or not PCI_ADDRESS.fullmatch(device.name):
        return None
    override = text_at(device / "driver_override")
    return Binding(device.name, _driver(device), "" if override == NO_OVERRIDE else override)


def has_vfio(address: str, root: Path = SYS) -> bool:
    """Whether a function is a program's."""
    return _driver(_function(address, root)) == VFIO


def group_of(address: str, root: Path = SYS) -> str:
    """Return the number of a function's IOMMU group; empty if it has none."""
    group = resolved(_function(address, root) / "iommu_group")
    return group.name if group is not None else ""


def vfio_files(address: str, root: Path = SYS) -> tuple[str, ...]:
    """Return the paths of the files by which a program drives a function."""
    group = group_of(address, root)
    return (CONTAINER, f"{DIRECTORY}/{group}") if group else ()


def obstacle(link: str, root: Path = SYS) -> str:
    """Say why a link's hardware cannot be given to a program, in words; empty if it can."""
    binding = read_binding(link, root)
    if binding is None:
        return "it is no PCI function by itself; select a device with pciAddress"
    function = _function(binding.address, root)
    if number_at(function / NUMBER):
        return "it has virtual functions, which are others'; select one of these"
    if others := [each for each in children_of(function / "net") if each != link]:
        return f"its PCI function has other links too: {', '.join(others)}"
    if not (root / "bus/pci/drivers" / VFIO).exists():
        return f"the kernel of the node has not loaded {VFIO}; run `modprobe {VFIO}` on the node"
    return _obstacle_beside(function)


def _obstacle_beside(function: Path) -> str:
    """Say what a program would reach with a function, in words; empty if that is nothing."""
    group = resolved(function / "iommu_group")
    if group is None:
        return (
            "the node has no IOMMU that keeps devices apart; switch it on in the firmware and on "
            "the kernel's command line (intel_iommu=on or amd_iommu=on)"
        )
    devices = (resolved(group / "devices" / name) for name in children_of(group / "devices"))
    in_use = [
        f"{each.name} ({_driver(each)})"
        for each in devices
        if each is not None and each.name != function.name and _is_used(each)
    ]
    if not in_use:
        return ""
    return (
        f"its IOMMU group {group.name} has other devices that are in use: {', '.join(in_use)}; "
        "select a device that is alone in its group"
    )


def give_to_programs(address: str, root: Path = SYS) -> None:
    """Bind a function to vfio-pci; OSError if the kernel does not. May be repeated."""
    _bind(address, VFIO, root)


def take_from_programs(before: Binding, root: Path = SYS) -> None:
    """Give a function back to the driver that it had; OSError if the kernel does not.

    A driver that the kernel no longer has is not waited for. May be repeated.
    """
    function = _function(before.address, root)
    if not function.exists():
        return
    known = (root / "bus/pci/drivers" / before.driver).exists()
    if before.driver and known:
        _bind(before.address, before.driver, root)
    elif _driver(function) == VFIO:
        _unbind(function)
    _name(function, before.override)


def _bind(address: str, driver: str, root: Path) -> None:
    """Have one driver and no other take a function."""
    function = _function(address, root)
    if _driver(function) == driver:
        return
    _name(function, driver)
    _unbind(function)
    (root / "bus/pci/drivers_probe").write_text(f"{address}\n", encoding="ascii")
    if (now := _driver(function)) != driver:
        raise OSError(f"{driver} did not take {address}, which has {now or 'no driver'} now")


def _name(function: Path, driver: str) -> None:
    """Say which driver a function is for; empty: the kernel finds out."""
    (function / "driver_override").write_text(f"{driver}\n", encoding="ascii")


def _unbind(function: Path) -> None:
    if _driver(function):
        (function / "driver/unbind").write_text(f"{function.name}\n", encoding="ascii")


def _is_used(device: Path) -> bool:
    return not text_at(device / "class").startswith(BRIDGE) and _driver(device) not in IDLE


def _driver(device: Path) -> str:
    found = resolved(device / "driver")
    return found.name if found is not None else ""


def _function(address: str, root: Path) -> Path:
    return root / "bus/pci/devices" / address
