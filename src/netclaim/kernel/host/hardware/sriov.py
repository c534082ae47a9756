"""A card's virtual functions according to sysfs, and their number, which can be changed.

Promise: reading never fails; what is missing or odd is left out. Changing the number takes all
functions away first, since the kernel goes from one number to another in no other way.
Limit: it blocks; a card can take seconds to make its functions.
"""

from pathlib import Path
from typing import Final

import msgspec

from netclaim.kernel.host.hardware.port_names import stands_for_function
from netclaim.kernel.host.hardware.sysfs import (
    SYS,
    VIRTFN,
    children_of,
    number_at,
    resolved,
    text_at,
)

NUMBER: Final = "sriov_numvfs"


class Function(msgspec.Struct, frozen=True):
    """A virtual function: its address on the bus, and who has it."""

    address: str
    driver: str = ""  # of the kernel; empty: none
    links: tuple[str, ...] = ()  # in the namespace that sysfs was mounted in


class CardFunctions(msgspec.Struct, frozen=True):
    """A card by its address on the bus, its virtual functions, and how many it can have."""

    address: str
    there: tuple[Function, ...]
    number: int
    most: int


def read_functions(card: str, root: Path = SYS) -> CardFunctions | None:
    """Read what a card has; None if the link is none that can have virtual functions.

    A representor is none, though it shares the hardware of the card's own link.
    """
    device = _device(card, root)
    if stands_for_function(text_at(device.parent / "phys_port_name")):
        return None
    number, most = number_at(device / NUMBER), number_at(device / "sriov_totalvfs")
    if number is None or not most:
        return None
    there = resolved(device)
    address = there.name if there is not None else ""
    return CardFunctions(address, tuple(map(_function, _addressed(device))), number, most)


def set_number(card: str, number: int, root: Path = SYS) -> None:
    """Have a card make this many functions, in place of those that it has; OSError if it fails."""
    file = _device(card, root) / NUMBER
    for each in (0, number) if number else (0,):
        file.write_text(f"{each}\n", encoding="ascii")


def _device(card: str, root: Path) -> Path:
    return root / "class" / "net" / card / "device"


def _addressed(device: Path) -> list[Path]:
    """The directories of a card's functions, in the order of their numbers."""
    names = [name for name in children_of(device) if name.startswith(VIRTFN)]
    names.sort(key=lambda name: (len(name), name))  # virtfn10 after virtfn9
    found = (resolved(device / name) for name in names)
    return [path for path in found if path is not None]


def _function(directory: Path) -> Function:
    driver = resolved(directory / "driver")
    name = driver.name if driver is not None else ""
    return Function(directory.name, name, children_of(directory / "net"))
