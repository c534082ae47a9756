"""Which of several links was lent.

Promise: what a container can do to a link does not count more than what it cannot. It can change
name, alias and MAC, and make other links that have them; it cannot make hardware, nor change which
device on the machine's buses that is, nor of which kind a link is. The address that hardware was
made with counts only where the device is not known, or has several links: some drivers (igbvf)
change it with the MAC.
Limit: no I/O. A virtual link can be imitated by another one of its kind, and so can hardware that
does not say what it is by other hardware. Records of older versions know neither kind nor that
address; for those, name, alias and MAC have to do.
"""

from collections.abc import Sequence
from pathlib import PurePath

from netclaim.kernel import Link
from netclaim.plugins.host_device.lent_links import LentLink


def is_lent(link: Link, lent: LentLink) -> bool:
    """Whether a link that was looked up by a name of the lent one is that one."""
    by_what_changes = lent.name == link.alias or lent.mac == link.mac
    return may_be_lent(link, lent) and (by_what_changes or _is_told_by_hardware(link, lent))


def find_lent(links: Sequence[Link], lent: LentLink) -> Link | None:
    """Find the lent one among links of any name: by its alias, or by what hardware it is."""
    candidates = [link for link in links if may_be_lent(link, lent)]
    by_alias = next((link for link in candidates if link.alias == lent.name), None)
    if by_alias is not None:
        return by_alias
    alike = [link for link in candidates if _is_told_by_hardware(link, lent)]
    if len(alike) > 1:  # the ports of one device
        alike = [link for link in alike if link.perm_mac == lent.perm_mac]
    return alike[0] if len(alike) == 1 else None


def may_be_lent(link: Link, lent: LentLink) -> bool:
    """Whether all agrees that a container cannot change."""
    if lent.kind is None:
        return True
    if _have_devices(link, lent):
        return link.kind == "" and link.device == PurePath(lent.device).name
    return (lent.kind, lent.perm_mac) == (link.kind, link.perm_mac)


def _is_told_by_hardware(link: Link, lent: LentLink) -> bool:
    """Whether a link that may be the lent one is so by what there is only once."""
    return lent.kind == "" and (_have_devices(link, lent) or lent.perm_mac != "")


def _have_devices(link: Link, lent: LentLink) -> bool:
    return lent.kind == "" and lent.device != "" and link.device != ""
