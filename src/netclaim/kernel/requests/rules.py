"""Rules that choose a routing table by where a packet comes from: add, delete, list.

Promise: a rule that was listed can be deleted, even if many look alike.
Limit: only the source, table and priority of a rule are known here.
"""

import ipaddress
import socket
import struct
from typing import Final

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import (
    MalformedMessageError,
    Message,
    Request,
    attribute,
    attributes,
    number,
    u32,
)
from netclaim.kernel.requests.ip import TABLE_BYTE_MAX, IpAddress, family_of

# family, destination and source prefix lengths, tos, table, two reserved, action, flags
HEADER: Final = struct.Struct("=BBBBBBBBI")


class Rule(msgspec.Struct, frozen=True):
    """A rule that decides by which table a packet is routed."""

    family: int
    source: IpAddress | None  # None: any
    source_length: int
    table: int  # 0: the rule does something other than look into a table
    priority: int  # rules are applied in this order


async def list_rules(rtnl: Rtnl) -> tuple[Rule, ...]:
    """List the rules of the client's namespace, IPv4 before IPv6."""
    found: list[Rule] = []
    for family in (socket.AF_INET, socket.AF_INET6):
        payload = HEADER.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)
        request = Request(uapi.RTM_GETRULE, payload, "list routing rules", dump=True)
        found.extend(read_rule(message) for message in await rtnl.dump(request))
    return tuple(found)


def read_rule(message: Message) -> Rule:
    """Read the rule that a message describes."""
    if len(message.payload) < HEADER.size:
        raise MalformedMessageError("a routing rule without its fixed part")
    family, _, source_length, _, table, *_ = HEADER.unpack_from(message.payload)
    found = dict(attributes(message.payload, HEADER.size))
    source = found.get(uapi.FRA_SRC)
    wide_table = found.get(uapi.FRA_TABLE)
    try:
        address = ipaddress.ip_address(source) if source else None
    except ValueError as error:
        raise MalformedMessageError(f"the source of a routing rule: {error}") from error
    return Rule(
        family=family,
        source=address,
        source_length=source_length,
        table=table if wide_table is None else number(wide_table),
        priority=number(found.get(uapi.FRA_PRIORITY, b"")),
    )


def add_rule(source: IpAddress, table: int) -> Request:
    """Route packets from one address by a table, before all existing rules."""
    payload = _payload(family_of(source.version), source, source.max_prefixlen, table)
    flags = uapi.NLM_F_CREATE | uapi.NLM_F_EXCL
    about = f"add a rule for packets from {source} to table {table}"
    return Request(uapi.RTM_NEWRULE, payload, about, flags)


def delete_rule(rule: Rule) -> Request:
    """Remove a rule as it was listed."""
    payload = _payload(rule.family, rule.source, rule.source_length, rule.table)
    payload += u32(uapi.FRA_PRIORITY, rule.priority)
    about = f"delete the rule for packets from {rule.source or 'anywhere'} to table {rule.table}"
    return Request(uapi.RTM_DELRULE, payload, about)


def _payload(family: int, source: IpAddress | None, source_length: int, table: int) -> bytes:
    narrow = table if table <= TABLE_BYTE_MAX else 0
    payload = HEADER.pack(family, 0, source_length, 0, narrow, 0, 0, uapi.FR_ACT_TO_TBL, 0)
    if source is not None:
        payload += attribute(uapi.FRA_SRC, source.packed)
    if table > TABLE_BYTE_MAX:
        payload += u32(uapi.FRA_TABLE, table)
    return payload
