"""What is done with an RDMA device of software (rxe) on a guest's virtual function.

The kernel's RDMA subsystem, its files and its namespaces are real; the device is not hardware.
"""

import asyncio
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from netclaim.kernel import open_netns, read_facts
from netclaim.kernel.host.hardware.rdma import follows_namespaces, rdma_files, without_link
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import KernelError, Request, u8, u32
from netclaim.kernel.requests.rdma import (
    NOT_MOVED,
    RdmaStaysError,
    list_rdma,
    make_rdma,
    open_rdma,
)
from netclaim.plugins.host_device.rdma import lend_rdma
from tests.reference.site.cni_site import ip, namespace
from tests.reference.site.vf_site import card_names, function_names, loan, wait_until
from tests.support.kernel_support import NETNS_DIRECTORY

DEVICE: Final = "rxe0"
OTHER: Final = "rxe1"
FILES: Final = {"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"}


def found_by_its_link() -> list[str]:
    """The link has the RDMA device, and containers get the files of this one alone."""
    with device_on(_function()) as name, _another() as other, device_on(other, OTHER):
        index = int(Path(f"/sys/class/net/{name}/ifindex").read_text())
        devices = read_facts(name, index).rdma_devices
        files = rdma_files(devices)
        there = {path for path in files if stat.S_ISCHR(Path(path).stat().st_mode)}
        listed = asyncio.run(_listed())
        alone = without_link()
    found = _unless(devices=(devices, (DEVICE,)), files=(there, FILES))
    return found + _unless(listed=(listed, {DEVICE, OTHER}), alone=(alone, ()))


def shown_everywhere() -> list[str]:
    """The device ends when its link goes into a pod, and is there again when the link is."""
    name = _function()
    with device_on(name):
        return _unless(followed=(follows_namespaces(), False)) + _there_and_back(name)


def shown_in_one() -> list[str]:
    """So it does where each device belongs to one namespace."""
    name = _function()
    with follow_namespaces(), device_on(name):
        return _unless(followed=(follows_namespaces(), True)) + _there_and_back(name)


def stays_in_one() -> list[str]:
    """Where each belongs to one namespace, a driver that cannot move its device is refused."""
    with follow_namespaces(), device_on(_function()), namespace() as pod:
        try:
            asyncio.run(_lend(pod))
            said = "it moved"
        except RdmaStaysError as error:
            said = str(error)
        listed = asyncio.run(_listed())
    wanted = f"the RDMA device {DEVICE}: {NOT_MOVED}"
    return _unless(said=(said, wanted), listed=(listed, {DEVICE}))


def _there_and_back(name: str) -> list[str]:
    with TemporaryDirectory() as directory, loan(name, Path(directory)) as lent:
        lent.add()
        away = asyncio.run(_listed())
        lent.delete()
        home = asyncio.run(_listed())
        found = lent.faults("DEL")
        lent.add()
        ip("netns", "del", lent.site.pod)
        lent.forget()
        lent.delete(netns="")
        after = asyncio.run(_listed())
        found += lent.faults("the pod's namespace is gone")
    return found + _unless(away=(away, set()), home=(home, {DEVICE}), after=(after, {DEVICE}))


@contextmanager
def device_on(link: str, device: str = DEVICE) -> Iterator[str]:
    """Have an RDMA device on a link, which goes with it."""
    ip("link", "set", link, "up")
    asyncio.run(_make(link, device))
    try:
        yield link
    finally:
        asyncio.run(_remove(device))


@contextmanager
def follow_namespaces() -> Iterator[None]:
    """Show each RDMA device in one namespace only; the kernel wants no other to be there."""

    def switched(shared: bool) -> bool:
        try:
            asyncio.run(_switch(shared=shared))
        except KernelError:
            return False  # a namespace of an earlier case is about to end
        return True

    wait_until(lambda: switched(shared=False))
    try:
        yield
    finally:
        wait_until(lambda: switched(shared=True))


async def _listed() -> set[str]:
    with open_rdma() as rdma:
        return set(await list_rdma(rdma))


async def _lend(pod: str) -> None:
    with open_netns(NETNS_DIRECTORY / pod) as there:
        await lend_rdma((DEVICE,), there)


async def _make(link: str, device: str) -> None:
    with open_rdma() as rdma:
        await make_rdma(rdma, device, link)


async def _remove(device: str) -> None:
    with open_rdma() as rdma:
        index = (await list_rdma(rdma)).get(device)
    if index is not None:
        payload = u32(uapi.RDMA_NLDEV_ATTR_DEV_INDEX, index)
        await _ask(uapi.RDMA_NLDEV_CMD_DELLINK, payload, f"remove {device}")


async def _switch(*, shared: bool) -> None:
    payload = u8(uapi.RDMA_NLDEV_SYS_ATTR_NETNS_MODE, shared)
    await _ask(uapi.RDMA_NLDEV_CMD_SYS_SET, payload, "choose who sees RDMA devices")


async def _ask(command: int, payload: bytes, about: str) -> None:
    kind = (uapi.RDMA_NL_NLDEV << uapi.RDMA_NL_CLIENT_BITS) + command
    with open_rdma() as rdma:
        await rdma.call(Request(kind, payload, about))


@contextmanager
def _another() -> Iterator[str]:
    """Have one more link, which no card knows."""
    ip("link", "add", "fabric9", "type", "dummy")
    try:
        yield "fabric9"
    finally:
        ip("link", "del", "fabric9")


def _function() -> str:
    """A function that no other case has used last."""
    return function_names(card_names()[1])[0]


def _unless(**compared: tuple[object, object]) -> list[str]:
    different = {what: pair for what, pair in compared.items() if pair[0] != pair[1]}
    return [f"{what}: {now!r}, not {want!r}" for what, (now, want) in different.items()]


WITH_RDMA: Final = {
    "RDMA: found by its link": found_by_its_link,
    "RDMA: shown everywhere": shown_everywhere,
    "RDMA: shown in one namespace": shown_in_one,
    "RDMA: what cannot leave its namespace": stays_in_one,
}
