"""A link's hardware handed over to a program in the pod, and taken back: `vfio: true`.

    link on the host  →  vfio-pci  →  settings by its card  →  the driver it had  →  link again

The pod gets no interface: a virtual machine, or DPDK, drives the PCI function by itself.
Promise: the record of the loan says which driver the function had before it loses it. What was done
half is undone from there, by the process that reads the record. Limit: the link that comes back is
a new one of the same hardware, and is given what the old one had as after any loan. A program that
still has the function open keeps it; giving back fails, and is to be asked again.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from netclaim.cni.errors import TRY_AGAIN
from netclaim.kernel import Link, Rtnl
from netclaim.kernel.host.hardware.sysfs import SYS
from netclaim.kernel.host.hardware.vfio import (
    VFIO,
    Binding,
    give_to_programs,
    has_vfio,
    obstacle,
    read_binding,
    take_from_programs,
)
from netclaim.kernel.host.threads import to_the_end
from netclaim.kernel.state.card.vf_settings import VfSettings
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.host_device.device_lookup import HostDeviceConf
from netclaim.plugins.host_device.lent_function import (
    LentFunction,
    change,
    lent_function,
    wanted_of,
)
from netclaim.plugins.host_device.lent_links import LentLink, LentLinks
from netclaim.plugins.host_device.vf_keys import VfKeys
from netclaim.plugins.shared.mac import chosen_mac

RELEASE_S: Final = 2.0  # a program that was just killed closes its files at once


class Programs:
    """What programs have of the host's hardware, and what is on its way back from them."""

    def __init__(self, sys: Path = SYS) -> None:
        self._sys = sys
        self._waiting: dict[str, Future[None]] = {}  # by PCI address, a thread each

    async def hand_over(
        self, host: Rtnl, conf: HostDeviceConf, link: Link, lent: LentLink, lents: LentLinks
    ) -> str:
        """Bind a link's hardware to vfio-pci; returns the MAC that its card has for it, if asked.

        `lent` describes the link. What was begun when this fails is undone by taking it back.
        """
        binding = await asyncio.to_thread(self._binding, link)
        mac = chosen_mac(conf.runtime_config.mac)
        function = None
        if mac or conf.vf != VfKeys():
            function = await lent_function(host, lent.device)
        wanted = _with_mac(wanted_of(conf.vf, function, link), mac, function, link)
        if function is not None:
            function = function.changing(wanted)
        # Its RDMA devices end with its driver, and come back with it.
        lents.keep(replace(lent, vfio=binding, function=function, rdma=()))
        try:
            await to_the_end(give_to_programs, binding.address, self._sys)
        except OSError as error:
            message = f"{link.name} ({binding.address}) cannot be given to a program: {_why(error)}"
            raise PluginError(message) from error
        # A kernel driver that leaves may still change what its card has, as far as it is trusted.
        if function is not None:
            await change(host, function, wanted)
        return mac

    async def take_back(self, name: str, before: Binding) -> None:
        """Give a link's function back to the driver that it had; may be repeated.

        Raises PluginError, to be asked again, while a program has it or the driver does not take
        it. What waits for the program then goes on, and is not begun a second time.
        """
        address = before.address
        waiting = self._waiting.get(address)
        if waiting is None:
            waiting = _begun(lambda: take_from_programs(before, self._sys))
            self._waiting[address] = waiting
        done, _ = await asyncio.wait([asyncio.wrap_future(waiting)], timeout=RELEASE_S)
        if not done:
            message = f"a program still has {name} ({address}) open; end it"
            raise PluginError(message, code=TRY_AGAIN)
        self._waiting.pop(address, None)
        try:
            waiting.result()
        except OSError as error:
            message = f"{name} ({address}) is not back at {before.driver}: {_why(error)}"
            raise PluginError(message, code=TRY_AGAIN) from error

    async def check(self, lent: LentLink | None) -> None:
        """Raise unless a program has what was lent."""
        if lent is None or lent.vfio is None:
            raise PluginError("nothing was handed over to a program")
        if not await asyncio.to_thread(has_vfio, lent.vfio.address, self._sys):
            raise PluginError(f"{lent.name} ({lent.vfio.address}) is no longer bound to {VFIO}")

    def _binding(self, link: Link) -> Binding:
        """Return what is to be bound for a link; PluginError says why it cannot be."""
        if reason := obstacle(link.name, self._sys):
            raise PluginError(f"the link {link.name} cannot be given to a program: {reason}")
        binding = read_binding(link.name, self._sys)
        if binding is None:
            raise PluginError(f"the link {link.name} has left the host")
        return binding


def _begun(work: Callable[[], None]) -> Future[None]:
    """Have a thread of its own do what nobody can wait for to the end."""
    ended: Future[None] = Future()

    def run() -> None:
        try:
            work()
        except OSError as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)

    threading.Thread(target=run, daemon=True).start()
    return ended


def _with_mac(
    wanted: VfSettings, mac: str, function: LentFunction | None, link: Link
) -> VfSettings:
    """What the card shall do, the MAC included: nobody else can set one for a program."""
    if not mac:
        return wanted
    if function is None:
        raise PluginError(
            f"the link {link.name} is not a virtual function whose card is on the host, so nobody "
            "can set its MAC for a program; leave out mac, or select a device with isSriovVf"
        )
    return replace(wanted, mac=mac)


def _why(error: OSError) -> str:
    return error.strerror or str(error)
