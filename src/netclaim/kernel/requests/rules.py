"""Rules that choose a routing table by where a packet comes from and goes to: add, delete, list.

Promise: a rule that was listed can be deleted, even if many look alike.
Limit: only the source, destination, table and priority of a rule are known here.
"""

import ipaddress
import socket
import struct
from collections.abc import Mapping
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
from netclaim.kernel.requests.ip import TABLE_BYTE_MAX, IpAddress, Network, family_of

# family, destination and source prefix lengths, tos, table, two reserved, action, flags
HEADER: Final = struct.Struct("=BBBBBBBBI")


class Rule(msgspec.Struct, frozen=True):
    """A rule that decides by which table a packet is routed."""

    family: int
    source: IpAddress | None  # None: any
    source_length: int
    table: int  # 0: the rule does something other than look into a table
    priority: int | None  # rules are applied in this order; None: the kernel's choice
    destination: IpAddress | None = None
    destination_length: int = 0


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
    family, destination_length, source_length, _, table, *_ = HEADER.unpack_from(message.payload)
    found = dict(attributes(message.payload, HEADER.size))
    wide_table = found.get(uapi.FRA_TABLE)
    return Rule(
        family=family,
        source=_address(found, uapi.FRA_SRC),
        source_length=source_length,
        table=table if wide_table is None else number(wide_table),
        priority=number(found.get(uapi.FRA_PRIORITY, b"")),
        destination=_address(found, uapi.FRA_DST),
        destination_length=destination_length,
    )


def _address(found: Mapping[int, bytes], kind: int) -> IpAddress | None:
    try:
        return ipaddress.ip_address(found[kind]) if found.get(kind) else None
    except ValueError as error:
        raise MalformedMessageError(f"an address of a routing rule: {error}") from error


def rule_between(
    source: Network | None, destination: Network | None, table: int, *, priority: int | None = None
) -> Rule:
    """Describe a rule for packets between two networks, one of which may be missing."""
    named = source or destination
    if named is None:
        raise ValueError("a rule for all packets has to say of which family")
    return Rule(
        family=family_of(named.version),
        source=source.network_address if source and source.prefixlen else None,
        source_length=source.prefixlen if source else 0,
        table=table,
        priority=priority,
        destination=destination.network_address if destination and destination.prefixlen else None,
        destination_length=destination.prefixlen if destination else 0,
    )


def add_rule(source: IpAddress, table: int) -> Request:
    """Route packets from one address by a table, before all existing rules."""
    return enter_rule(rule_between(ipaddress.ip_network(source), None, table))


def enter_rule(rule: Rule) -> Request:
    """Enter a rule; without a priority it comes before all existing ones."""
    flags = uapi.NLM_F_CREATE | uapi.NLM_F_EXCL
    return Request(uapi.RTM_NEWRULE, _payload(rule), f"add a rule for {_about(rule)}", flags)


def delete_rule(rule: Rule) -> Request:
    """Remove a rule as it was listed; one without a priority, the first that is like it."""
    return Request(uapi.RTM_DELRULE, _payload(rule), f"delete the rule for {_about(rule)}")


def _about(rule: Rule) -> str:
    to = f" to {rule.destination}/{rule.destination_length}" if rule.destination else ""
    return f"packets from {rule.source or 'anywhere'}{to}, table {rule.table}"


def _payload(rule: Rule) -> bytes:
    narrow = rule.table if rule.table <= TABLE_BYTE_MAX else 0
    lengths = (rule.destination_length, rule.source_length)
    payload = HEADER.pack(rule.family, *lengths, 0, narrow, 0, 0, uapi.FR_ACT_TO_TBL, 0)
    if rule.destination is not None:
        payload += attribute(uapi.FRA_DST, rule.destination.packed)
    if rule.source is not None:
        payload += attribute(uapi.FRA_SRC, rule.source.packed)
    if rule.table > TABLE_BYTE_MAX:
        payload += u32(uapi.FRA_TABLE, rule.table)
    if rule.priority is not None:
        payload += u32(uapi.FRA_PRIORITY, rule.priority)
    return payload
