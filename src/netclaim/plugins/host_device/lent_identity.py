"""Which of several links was lent.

Promise: what a container can do to a link does not count more than what it cannot. It can change
name, alias and MAC, and make other links that have them; it cannot make hardware, nor change the
address that hardware was made with, nor of which kind a link is.
Limit: no I/O. A virtual link can be imitated by another one of its kind, and so can hardware that
does not say what address it was made with by other hardware. Records of older versions know
neither kind nor that address; for those, name, alias and MAC have to do.
"""

from collections.abc import Sequence

from netclaim.kernel import Link
from netclaim.plugins.host_device.lent_links import LentLink


def is_lent(link: Link, lent: LentLink) -> bool:
    """Whether a link that was looked up by a name of the lent one is that one."""
    by_what_changes = lent.name == link.alias or lent.mac == link.mac
    return may_be_lent(link, lent) and (by_what_changes or _is_told_by_hardware(lent))


def find_lent(links: Sequence[Link], lent: LentLink) -> Link | None:
    """Find the lent one among links of any name: by its alias, or by the hardware's own address."""
    candidates = [link for link in links if may_be_lent(link, lent)]
    by_alias = next((link for link in candidates if link.alias == lent.name), None)
    if by_alias is None and _is_told_by_hardware(lent) and len(candidates) == 1:
        return candidates[0]
    return by_alias


def may_be_lent(link: Link, lent: LentLink) -> bool:
    """Whether all agrees that a container cannot change."""
    return lent.kind is None or (lent.kind, lent.perm_mac) == (link.kind, link.perm_mac)


def _is_told_by_hardware(lent: LentLink) -> bool:
    return lent.kind == "" and lent.perm_mac != ""
