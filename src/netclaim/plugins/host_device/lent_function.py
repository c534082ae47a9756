"""What a card decides about a virtual function that is lent: changed for a loan, and put back.

Promise: only what a loan has changed is put back, and it is known before it is changed. What cannot
be put back is an error, to be asked again: the next to have the function would have it with what
this loan left. A function that the card no longer has is done with.
Limit: whether the card's owner or the function itself chose its MAC, no card says; it is changed by
the card only where the function may not do so.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import msgspec

from netclaim.kernel import KernelError, Link, Rtnl, find_link_at, list_links
from netclaim.kernel.host.hardware.sysfs import vf_place
from netclaim.kernel.requests.links import set_link
from netclaim.kernel.state.card.vf_settings import VfSettings, read_vf, set_vf
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.host_device.vf_keys import VfKeys

NO_MAC: Final = "00:00:00:00:00:00"  # of a function that has not set it at its card
# The keys that make each setting, for those who wrote them.
KEYS_OF: Final = {
    "mac": "mac",
    "vlan": "vlan, qos and proto",
    "spoof_check": "spoofCheck",
    "trust": "trust",
    "rates": "minTxRate and maxTxRate",
    "link_state": "linkState",
}


class LentFunction(msgspec.Struct, frozen=True):
    """A virtual function as its card had it."""

    card: str  # the PCI address of the physical function
    number: int
    before: VfSettings
    changed: VfSettings = VfSettings()  # what of it the loan has changed, or is about to

    def changing(self, wanted: VfSettings) -> "LentFunction":
        """The same, with more that is about to be changed."""
        changed = {**msgspec.to_builtins(self.changed), **msgspec.to_builtins(wanted)}
        return msgspec.structs.replace(self, changed=msgspec.convert(changed, VfSettings))


async def lent_function(host: Rtnl, device: str) -> LentFunction | None:
    """Describe a link's function, by its device in sysfs; None for any other link."""
    place = vf_place(device)
    if place is None:
        return None
    return await lent_function_at(host, *place)


async def lent_function_at(host: Rtnl, card: str, number: int) -> LentFunction | None:
    """Describe a card's function; None if the host does not have it."""
    link = await _card(host, card)
    before = None if link is None else await read_vf(host, link.index, number)
    return None if before is None else LentFunction(card, number, before)


def wanted_of(keys: VfKeys, function: LentFunction | None, link: Link) -> VfSettings:
    """The settings to make for a link; PluginError if its card has no say in them."""
    keys.refuse()
    if keys != VfKeys() and function is None:
        raise PluginError(
            f"the link {link.name} is not a virtual function whose card is on the host; remove "
            "vf, or select a device with isSriovVf"
        )
    return keys.wanted(function.before if function else VfSettings())


async def change(host: Rtnl, function: LentFunction, wanted: VfSettings) -> None:
    """Have the card make settings, which the function's record has as changed by now."""
    link = await _card(host, function.card)
    if link is None:
        raise PluginError(f"the card {function.card} has left the host")
    for field, request in set_vf(link.index, function.number, wanted):
        try:
            await host.call(request)
        except KernelError as error:
            raise PluginError(
                f"the card {link.name} does not take {KEYS_OF[field]} for its virtual function "
                f"{function.number}: {error}; choose another value or another card, or leave it out"
            ) from error


async def check_changed(host: Rtnl, function: LentFunction) -> None:
    """Raise unless the function is as the loan has changed it."""
    now = await lent_function_at(host, function.card, function.number)
    for field in function.changed.__struct_fields__:
        wanted = getattr(function.changed, field)
        if wanted is not None and (now is None or getattr(now.before, field) != wanted):
            raise PluginError(
                f"virtual function {function.number} of the card {function.card} no longer has "
                f"its {KEYS_OF[field]}"
            )


async def put_mac_back(host: Rtnl, function: LentFunction) -> None:
    """Have the card choose the function's MAC as before, if it has chosen one for the loan."""
    if function.changed.mac is not None:
        await _put_back(host, function, ("mac",))


async def put_back(host: Rtnl, function: LentFunction) -> list[str]:
    """Put back what the loan has changed; returns what failed, in words.

    The function has its own MAC by now, which it may have taken while it was trusted.
    """
    fields = [
        field
        for field in function.changed.__struct_fields__
        if getattr(function.changed, field) is not None
    ]
    if "trust" in fields and function.before.mac != NO_MAC:
        fields.append("mac")
    return await _put_back(host, function, fields)


async def _put_back(host: Rtnl, function: LentFunction, fields: Iterable[str]) -> list[str]:
    link = await _card(host, function.card)
    now = None if link is None else await read_vf(host, link.index, function.number)
    if link is None or now is None:  # it has ended with its card's driver
        return []
    before = {field: getattr(function.before, field) for field in fields}
    due = {field: value for field, value in before.items() if value != getattr(now, field)}
    failed = []
    for _, request in set_vf(link.index, function.number, VfSettings(**due)):
        try:
            await host.call(request)
        except KernelError as error:
            failed.append(str(error))
    return failed


async def give_mac(rtnl: Rtnl, index: int, mac: str) -> str:
    """Give a link a MAC; returns the one that it has in the end. It may be down afterwards.

    Some functions have the MAC that their card has for them, from when they are switched off.
    """
    set_mac, down = set_link(index, mac=mac), set_link(index, up=False)
    has = ""
    for request in (set_mac, down, set_mac, set_link(index, up=True), down):
        with suppress(KernelError):  # what counts is the MAC that it has
            await rtnl.call(request)
        link = await find_link_at(rtnl, index)
        has = "" if link is None else link.mac
        if has == mac:
            break
    return has


async def _card(host: Rtnl, card: str) -> Link | None:
    return own_link(await list_links(host), card)


def own_link(links: Iterable[Link], card: str) -> Link | None:
    """Find a card's own link, whatever it is called; it may have representors beside it."""
    there = (link for link in links if link.device == card and not link.is_representor)
    return next(there, None)
