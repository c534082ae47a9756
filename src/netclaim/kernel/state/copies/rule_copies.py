"""Copies of the rules that lead to a link's own routing tables, for another namespace.

Promise: a copy has everything that the rule had, known or not; one that names the link has the
link's new name. Limit: a rule that names another link is left out, since that stays behind.
"""

import socket
from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import Message, Request, attribute, attributes, number
from netclaim.kernel.requests.rules import HEADER

FRA_IIFNAME, FRA_OIFNAME = 3, 17  # linux/fib_rules.h
NAMES: Final = frozenset({FRA_IIFNAME, FRA_OIFNAME})
OF_ITSELF: Final = frozenset({0, 253, 254, 255})  # tables: none, and those that all namespaces have


class TakenRule(msgspec.Struct, frozen=True):
    """A rule as bytes."""

    header: tuple[int, ...]
    parts: tuple[tuple[int, bytes], ...]

    def enter(self, ifname: str) -> Request:
        """Enter it in a namespace where its link has this name."""
        flags = uapi.NLM_F_CREATE | uapi.NLM_F_EXCL
        return Request(uapi.RTM_NEWRULE, self._payload(ifname), "copy a routing rule", flags)

    def remove(self, ifname: str) -> Request:
        """Remove it from there."""
        return Request(uapi.RTM_DELRULE, self._payload(ifname), "remove a copied routing rule")

    def _payload(self, ifname: str) -> bytes:
        name = ifname.encode() + b"\0"
        written = (attribute(kind, name if kind in NAMES else value) for kind, value in self.parts)
        return HEADER.pack(*self.header) + b"".join(written)


async def take_rules(rtnl: Rtnl, name: str, tables: Collection[int]) -> tuple[TakenRule, ...]:
    """Read the rules that lead to some tables, apart from those that every namespace has."""
    found: list[TakenRule] = []
    for family in (socket.AF_INET, socket.AF_INET6):
        payload = HEADER.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)
        request = Request(uapi.RTM_GETRULE, payload, "list routing rules", dump=True)
        found += _leading_to(set(tables) - OF_ITSELF, name, await rtnl.dump(request))
    return tuple(found)


def _leading_to(
    tables: Collection[int], name: str, messages: Collection[Message]
) -> Iterator[TakenRule]:
    own = name.encode()
    for message in messages:
        header = HEADER.unpack_from(message.payload)
        parts = attributes(message.payload, HEADER.size)
        found = dict(parts)
        table = number(found.get(uapi.FRA_TABLE, b"")) or header[4]
        named = {found[kind].rstrip(b"\0") for kind in NAMES if kind in found}
        if table in tables and named <= {own}:
            yield TakenRule((*header[:-1], 0), tuple(parts))
