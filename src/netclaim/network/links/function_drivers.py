"""Virtual functions that lost their kernel driver: devices with a taint, until they work again.

A function without its driver has no link in any network namespace, though the hardware is there:
the driver was unbound, by a person or by a workload, or it gave up. If its device went, a claim
that has it would name a device that does not exist, and the function could be given to the next
claim the moment that its link is back, whatever state it is in.

Promise: such a function stays the device that it was, with the taint DRIVER/no-driver and a making
of its own, so that pods which had it are looked at. When its link is back, it is probed before the
taint goes: it has a MAC address, and can be switched on, which makes its driver talk to the card;
it is on afterwards if it was on before it was lost. A probe that fails is a taint, too, and
repeated. What a claim has taken is not probed: it goes back into its pod, which shows as much.
Limit: a function that another kernel driver has, such as vfio-pci, is left to those who gave it
that. Of functions that no claim has, it forgets with the process: one without a driver is then no
device until it has a link. What happens to a function in a pod nobody announces; it is looked at
every `LOOK_S`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
import structlog

from netclaim.errors import NetclaimError
from netclaim.kernel import Link, Rtnl, find_link_at
from netclaim.kernel.host.hardware.sysfs import SYS, resolved, text_at
from netclaim.kernel.host.hardware.vfio import NO_OVERRIDE
from netclaim.kernel.requests.links import set_link
from netclaim.model import Device, Taint

log = structlog.get_logger(__name__)

TAINTS: Final = "taints"  # the field without which there are none
NO_DRIVER: Final = "no-driver"
PROBE_FAILED: Final = "probe-failed"
LOOK_S: Final = 5.0  # a look at a function costs reading two names in sysfs
PROBE_S: Final = 10.0  # for one function; cards answer their functions' drivers within a second

Offered: TypeAlias = tuple[tuple[Link, Device], ...]
Probe: TypeAlias = Callable[[Link, bool], Awaitable[str]]


class _Known(msgspec.Struct, frozen=True):
    """A function when it had its link last: as it was offered, and whether it was switched on."""

    device: Device
    up: bool


async def probe(link: Link, up: bool) -> str:
    """Say what is wrong with a link that came back; empty if nothing is. `up`: leave it on."""
    try:
        async with asyncio.timeout(PROBE_S):
            return await _probe(link, up=up)
    except TimeoutError:
        return f"its driver did not switch it on within {PROBE_S:g} s"
    except NetclaimError as error:
        return str(error)


async def _probe(link: Link, *, up: bool) -> str:
    if not link.mac.strip("0:"):
        return "it has no MAC address"
    if link.up:
        return ""
    with Rtnl.open() as rtnl:
        await rtnl.call_slow(set_link(link.index, up=True))
        found = await find_link_at(rtnl, link.index)
        if not up:
            await rtnl.call_slow(set_link(link.index, up=False))
    return "" if found is not None and found.up else "it did not come up"


class FunctionDrivers:
    """Follows the functions that are offered, and those that claims took into pods."""

    def __init__(self, driver: str, probe: Probe = probe, root: Path = SYS) -> None:
        self._driver = driver
        self._probe = probe
        self._functions = root / "bus" / "pci" / "devices"
        self._known: dict[str, _Known] = {}  # by PCI address
        self._lost: dict[str, str] = {}  # by PCI address: what a probe said last; empty: no driver
        self._has_taints = True  # whether the API server knows of them
        self._away = False  # whether pods have some

    def learn_dropped(self, fields: Collection[str]) -> None:
        """Withhold what nobody shall have if the API server drops the taint that would say so."""
        self._has_taints = TAINTS not in fields

    @property
    def due_in_s(self) -> float | None:
        """How long until something may be another that nobody announces; None: for ever."""
        return LOOK_S if self._away or self._lost else None

    async def judged(
        self, there: Offered, taken: Sequence[Device]
    ) -> tuple[Offered, tuple[Device, ...]]:
        """The same links, and devices that claims have taken, with what is wrong with them.

        Functions that are lost and that no claim has taken are added to the latter.
        """
        here = {address: each for each in there if (address := _address(each[1]))}
        held = {address: device for device in taken if (address := _address(device))}
        self._away = bool(held.keys() - here.keys())
        known = {address: known.device for address, known in self._known.items()} | held
        lost = {
            address: device
            for address, device in known.items()
            if address not in here and self._has_lost(address, device, held=address in held)
        }
        returned = {address: here[address][0] for address in self._lost.keys() & here.keys()}
        faults = await self._faults(returned, held)
        self._log(lost, returned, faults)
        self._lost = dict.fromkeys(lost, "") | faults
        self._known = {
            address: known for address, known in self._known.items() if address in self._lost
        } | {
            address: _Known(device, link.up)
            for address, (link, device) in here.items()
            if address not in faults
        }
        withheld = self._lost.keys() - held.keys() if not self._has_taints else frozenset()
        marked = tuple(
            (link, self._marked(device, device.making))
            for link, device in there
            if _address(device) not in withheld
        )
        free = (device for address, device in lost.items() if address not in held.keys() | withheld)
        away = tuple(self._marked(device, -abs(device.making)) for device in (*taken, *free))
        return marked, away

    async def _faults(self, returned: Mapping[str, Link], held: Collection[str]) -> dict[str, str]:
        """What is wrong with functions that have a link again, if anything is."""
        faults = {}
        for address, link in sorted(returned.items()):
            if address in held:
                faults[address] = self._lost[address]
                continue
            known = self._known.get(address)
            fault = await self._probe(link, known.up if known is not None else link.up)
            if fault:
                faults[address] = fault
        return faults

    def _log(
        self, lost: Mapping[str, Device], returned: Mapping[str, Link], faults: Mapping[str, str]
    ) -> None:
        """Log what is new."""
        for address, device in lost.items():
            if self._lost.get(address) != "":
                log.warning("discover.driver_lost", device=device.name, function=address)
        for address, link in returned.items():
            fault = faults.get(address)
            if fault is None:
                log.info("discover.driver_back", link=link.name, function=address)
            elif fault != self._lost[address]:
                log.warning("discover.probe_failed", link=link.name, error=fault)
        for address in sorted(self._lost.keys() - lost.keys() - returned.keys()):
            log.info("discover.driver_elsewhere", function=address)

    def _has_lost(self, address: str, device: Device, *, held: bool) -> bool:
        """Whether nobody has a link of the hardware, which is there and for no other driver.

        A link that is back, and not on the node yet, is a claim's own, or still to be probed.
        """
        function = self._functions / address
        if not function.exists():
            return False
        if (function / "net").exists():
            return address in self._lost and not held
        own = {"", NO_OVERRIDE, device.attributes.get("driver")}
        driver = resolved(function / "driver")
        if driver is not None:
            return driver.name in own
        return text_at(function / "driver_override") in own

    def _marked(self, device: Device, making: int) -> Device:
        """The device with its taint and this making, if it needs one."""
        fault = self._lost.get(_address(device))
        if fault is None:
            return device
        key = f"{self._driver}/{PROBE_FAILED if fault else NO_DRIVER}"
        taints = (*device.taints, Taint(key=key, effect="NoSchedule"))
        return msgspec.structs.replace(device, taints=taints, making=making)


def _address(device: Device) -> str:
    """The PCI address of a virtual function; empty for all others."""
    if not device.attributes.get("isSriovVf"):
        return ""
    return str(device.attributes.get("pciAddress", ""))
