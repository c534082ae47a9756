"""How many functions a guest's cards have, by the driver's setting and the kernel's own drivers."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Final

from structlog.testing import capture_logs
from structlog.typing import EventDict

from netclaim.network.build import link_driver
from netclaim.network.settings import LinkSettings
from netclaim.network.settings.per_link import read_functions
from tests.reference.site.card_cases import VFS
from tests.reference.site.cni_site import ip, namespace
from tests.reference.site.vf_site import card_names, function_names, wait_until

PCI: Final = Path("/sys/bus/pci")
OTHER: Final = 5  # functions, of seven that a card can have


def give_numbers(*vfs: str) -> list[EventDict]:
    """Have a driver with this setting look at the guest's links; returns what it logs of cards."""

    async def first_look(directory: Path) -> None:
        settings = LinkSettings(state_dir=directory, vfs=read_functions(vfs))
        async with aclosing(link_driver(settings).discover()) as devices:
            await anext(devices)

    with tempfile.TemporaryDirectory() as directory, capture_logs() as logs:
        asyncio.run(first_look(Path(directory)))
    return [each for each in logs if each["event"].startswith("discover.vfs_")]


def made() -> list[str]:
    """Every card gets its functions, of which the kernel makes links."""
    logs = give_numbers(*(f"{card}={VFS}" for card in card_names()))
    wanted = [("discover.vfs_changed", card) for card in card_names()]
    found = [(each["event"], each["link"]) for each in logs]
    return [] if found == wanted else [f"{logs}"]


def made_again() -> list[str]:
    """A card with free functions has another number of them, and the old one again."""
    card = card_names()[0]
    found = []
    for number in (OTHER, 0, VFS):
        give_numbers(f"{card}={number}")
        if (seen := len(function_names(card))) != number:
            found.append(f"{seen} functions instead of {number}")
    give_numbers(f"{card}={VFS}")
    return found


def kept() -> list[str]:
    """A card keeps its functions while one is elsewhere, of a program, or used by the node."""
    card = card_names()[0]
    found = []
    for said, used in USES.items():
        name = function_names(card)[0]
        with used(name):
            logs = give_numbers(f"{card}={OTHER}")
            if len(logs) != 1 or said not in logs[0].get("error", ""):
                found.append(f"not said: {said}, but {logs}")
        there = (Path("/sys/class/net") / card / "device/sriov_numvfs").read_text()
        if int(there) != VFS:
            found.append(f"{there} functions after: {said}")
        wait_until(lambda: len(function_names(card)) == VFS)
    return found


@contextmanager
def _elsewhere(name: str) -> Iterator[None]:
    with namespace() as pod:
        ip("link", "set", name, "netns", pod)
        yield
        ip("-n", pod, "link", "set", name, "netns", "1")


@contextmanager
def _of_a_program(name: str) -> Iterator[None]:
    device = (PCI.parent.parent / f"class/net/{name}/device").resolve()
    try:
        _bind(device, "pci-stub")
        yield
    finally:
        _bind(device, "")


def _bind(device: Path, driver: str) -> None:
    """Give a device the driver of that name; empty: the one that is for it."""
    (device / "driver/unbind").write_text(device.name)
    (device / "driver_override").write_text(f"{driver}\n")
    (PCI / "drivers_probe").write_text(device.name)


@contextmanager
def _with_an_address(name: str) -> Iterator[None]:
    ip("address", "add", "192.0.2.7/24", "dev", name)
    yield
    ip("address", "del", "192.0.2.7/24", "dev", name)


USES: Final = {
    "its link is in another network namespace": _elsewhere,
    "it is bound to pci-stub": _of_a_program,
    "the node has the address 192.0.2.7 on it": _with_an_address,
}
MADE: Final = "functions by the setting"
NUMBERS: Final = {
    "another number of functions": made_again,
    "functions that are in use stay": kept,
}
