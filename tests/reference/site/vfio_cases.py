"""What is done with a function that a program drives: bound to vfio-pci behind a guest's IOMMU."""

import asyncio
import fcntl
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, aclosing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from netclaim.cni import CniError
from netclaim.errors import NetclaimError
from netclaim.kernel.host.hardware.vfio import VFIO, group_of
from netclaim.model import PodSandbox
from netclaim.network.build import link_driver
from netclaim.network.driver import LinkDriver
from netclaim.network.policy.levels import LABEL
from netclaim.network.settings import LinkSettings
from tests.reference.site.cni_site import ip, namespace
from tests.reference.site.plugin_state import differences
from tests.reference.site.vf_parameter_cases import EVERYTHING, lent
from tests.reference.site.vf_site import (
    Loan,
    card_names,
    fresh_mac,
    function_names,
    functions_of,
    seen,
)
from tests.support.killed import killed_at
from tests.support.link_parameters import claim_written
from tests.support.network_parts import TYPED

PCI: Final = Path("/sys/bus/pci")
PRIVILEGED: Final = {LABEL: "privileged"}
KEYS: Final[Mapping[str, Any]] = {"vfio": True, "vf": EVERYTHING}
# Of vfio's interface (linux/vfio.h): by these a program takes a function.
SET_IOMMU, GET_STATUS, SET_CONTAINER, GET_DEVICE = 0x3B66, 0x3B67, 0x3B68, 0x3B6A
TYPE1: Final = 1
VIABLE: Final = 1
# Every change of a file counts here; messages about the link itself have a case of their own.
FILE_STEPS: Final = frozenset({"write", "unlink"})
ADD_STEPS_AT_LEAST, DEL_STEPS_AT_LEAST = 4, 5


def there_and_back() -> list[str]:
    """A program opens the function, which does what the card was asked; it comes home as it was."""
    mac = fresh_mac()
    with lent(**KEYS, runtimeConfig={"mac": mac}) as loan:
        loan.add()
        address = _address(loan)
        shown = functions_of(card_names()[0])[0]
        found = differences(
            [mac, [{"vlan": 100, "qos": 3}]], [shown["address"], shown["vlan_list"]]
        )
        (interface,) = loan.result["interfaces"]
        found += differences([mac, address], [interface["mac"], interface["pciID"]])
        found += differences([VFIO, []], [_driver(address), _links(address)])
        with opened(address):
            loan.site.call("CHECK", loan.config | {"prevResult": loan.result})
        loan.delete()
        found += loan.faults("DEL")
        loan.add()
        ip("netns", "del", loan.site.pod)
        loan.forget()
        loan.delete(netns="")
        return found + loan.faults("the pod's namespace is gone")


def refused() -> list[str]:
    """A card with functions is not handed over, nor is anything left of what was refused."""
    card = card_names()[0]
    with lent(**KEYS) as loan:
        loan.name = card
        try:
            loan.add()
        except CniError as error:
            said = "" if "it has virtual functions" in str(error) else str(error)
        else:
            said = "a card with functions was handed over"
        loan.name = function_names(card)[0]
        found = loan.faults("the card was refused")
    return [*found, *filter(None, [said])]


def killed() -> list[str]:
    """A process that is killed before any change of a file leaves nothing behind."""
    found = []
    with lent(**KEYS) as loan:
        for command, least in (("ADD", ADD_STEPS_AT_LEAST), ("DEL", DEL_STEPS_AT_LEAST)):
            steps = 0
            while _killed(loan, command, steps):
                found += loan.faults(f"{command} killed at step {steps}")
                steps += 1
            if steps < least:
                found.append(f"{command} has only {steps} steps")
    return found


def _killed(loan: Loan, command: str, step: int) -> bool:
    if command == "DEL":
        loan.add()
    action = loan.add if command == "ADD" else loan.delete
    was_killed = killed_at(step, action, FILE_STEPS)
    loan.forget()
    loan.delete()
    return was_killed


def by_a_driver() -> list[str]:
    """A claim gets the files of the function, which stays a device and is not said to be a link.

    As long as a program has it open, it is not given back; a new driver gives it back.
    """
    name = function_names(card_names()[0])[0]
    ip("link", "set", name, "up")
    before = seen(name)
    with TemporaryDirectory() as directory, namespace() as pod:
        found = asyncio.run(_claimed(name, Path(directory), pod))
    found += differences(before, seen(name))
    ip("link", "set", name, "down")
    return found


async def _claimed(name: str, directory: Path, pod: str) -> list[str]:
    address = _address_of(name)
    driver = _driver_in(directory)
    network = {"cniVersion": "1.1.0", "name": "vm", "type": "host-device"}
    parameters = TYPED | {"config": network, "vfio": True}
    claim = claim_written(parameters, device=name, labels=PRIVILEGED)
    published = await _published(driver)
    prepared = await driver.prepare(claim)
    (plan,) = prepared.plans
    sandbox = PodSandbox("5b7c0846", "uid-of-vm", "default", "vm", f"/run/netns/{pod}")
    attachment = await driver.attach(plan, sandbox)
    files = [each.path for each in plan.edits.device_nodes] if plan.edits else []
    found = differences(["/dev/vfio/vfio", f"/dev/vfio/{group_of(address)}"], files)
    found += [f"{path} is not there" for path in files if not _is_device(path)]
    found += differences(published, await _published(driver))
    interface = attachment.interface
    found += differences(
        ["", address, True],
        [
            interface.name if interface else None,
            attachment.data.get("pciAddress"),
            await driver.is_attached(attachment),
        ],
    )
    driver = _driver_in(directory)
    with opened(address):
        try:
            await driver.detach(attachment)
            found.append("it was taken from a program that had it open")
        except NetclaimError as error:
            if "a program still has" not in str(error):
                found.append(str(error))
    await driver.detach(attachment)
    await driver.unprepare(prepared)
    return found + differences(published, await _published(driver))


def _driver_in(directory: Path) -> LinkDriver:
    """The driver of a node whose owner lets programs have hardware, as it starts."""
    return link_driver(LinkSettings(state_dir=directory, lease_dir=directory / "leases", vfio=True))


async def _published(driver: LinkDriver) -> dict[str, Mapping[str, Any]]:
    """The attributes of the functions that a driver offers, by device."""
    async with aclosing(driver.discover()) as lists:
        devices = await anext(lists)
    return {each.name: each.attributes for each in devices if each.attributes["isSriovVf"]}


@contextmanager
def opened(address: str) -> Iterator[None]:
    """Be a program that has a function, as a virtual machine opens it."""
    with ExitStack() as files:

        def at(descriptor: int) -> int:
            files.callback(os.close, descriptor)
            return descriptor

        group = at(os.open(f"/dev/vfio/{group_of(address)}", os.O_RDWR))
        container = at(os.open("/dev/vfio/vfio", os.O_RDWR))
        status = bytearray(struct.pack("II", 8, 0))
        fcntl.ioctl(group, GET_STATUS, status)
        if not struct.unpack("II", status)[1] & VIABLE:
            raise AssertionError("the kernel does not let a program have the group")
        fcntl.ioctl(group, SET_CONTAINER, struct.pack("i", container))
        fcntl.ioctl(container, SET_IOMMU, TYPE1)
        at(fcntl.ioctl(group, GET_DEVICE, bytearray(address.encode() + b"\0")))
        yield


def _address(loan: Loan) -> str:
    pci_address: str = loan.result["interfaces"][0]["pciID"]
    return pci_address


def _is_device(path: str) -> bool:
    return Path(path).is_char_device()


def _address_of(link: str) -> str:
    return Path(f"/sys/class/net/{link}/device").resolve().name


def _driver(address: str) -> str:
    return (PCI / "devices" / address / "driver").resolve().name


def _links(address: str) -> list[str]:
    return [path.name for path in (PCI / "devices" / address).glob("net/*")]


WITH_PROGRAMS: Final = {
    "vfio: a program's function": there_and_back,
    "vfio: a card with functions": refused,
    "vfio: killed at every step": killed,
    "vfio: by a driver": by_a_driver,
}
