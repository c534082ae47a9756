"""Rules, limits and copied routes as bytes, where the kernel cannot be the judge of them."""

import ipaddress
import socket
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.kernel import MalformedMessageError
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import Message, attribute, attributes, nested, number, text, u32
from netclaim.kernel.requests.ip import Network, add_route
from netclaim.kernel.requests.rules import (
    add_rule,
    delete_rule,
    enter_rule,
    read_rule,
    rule_between,
)
from netclaim.kernel.requests.traffic import (
    TokenBucket,
    add_token_bucket,
    read_redirection,
    read_token_bucket,
    redirect_all,
    token_bucket,
)
from netclaim.kernel.state.copies.route_copies import read_taken_route
from netclaim.kernel.state.link_limit import LATENCY_US, bucket_of

U32_MAX = 2**32 - 1
ROUTE_FIXED = 12

networks = st.builds(
    lambda address, bits: ipaddress.ip_network((address, min(bits, address.max_prefixlen)), False),
    st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)),
    st.integers(0, 128),
)
addresses = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))


def as_message(payload: bytes) -> Message:
    """Hand a payload back as the kernel would."""
    return Message(kind=0, flags=0, sequence=0, payload=payload)


@pytest.mark.parametrize(
    ("rate", "burst", "bucket"),
    [
        (1_000_000, 100_000, TokenBucket(1_000_000, 1_562_500, 125_000)),
        (154_320, 95_679, TokenBucket(154_320, 9_687_546, 99_537)),
        (1, 1 << 31, TokenBucket(1, U32_MAX, 1 << 31)),
        (1 << 40, U32_MAX, TokenBucket(1 << 40, 61_031, U32_MAX)),
    ],
)
def test_a_limit_in_the_kernels_units(rate: int, burst: int, bucket: TokenBucket) -> None:
    """A burst is time at the rate, in ticks of 64 ns; what waits is 25 ms more than a burst."""
    assert token_bucket(rate=rate, burst=burst, latency_us=25_000) == bucket


@given(
    st.integers(1, 2**63),
    st.integers(0, U32_MAX),
    st.integers(0, U32_MAX),
    st.integers(1, 2**31 - 1),
)
def test_a_limit_is_read_as_it_was_written(rate: int, ticks: int, limit: int, index: int) -> None:
    """Rates beyond 32 bits have a place of their own, and survive."""
    bucket = TokenBucket(rate, ticks, limit)
    written = add_token_bucket(index, bucket)
    assert read_token_bucket(as_message(written.payload)) == (index, bucket)


def test_what_is_no_limit_is_not_read_as_one() -> None:
    """Queues of other kinds, and limits inside others, are passed over."""
    payload = bytearray(add_token_bucket(1, TokenBucket(1, 1, 1)).payload)
    struct.pack_into("=I", payload, 12, 0x10000)  # a parent that is not the root
    assert read_token_bucket(as_message(bytes(payload))) is None
    other = struct.pack("=B3xiIII", 0, 1, 0, uapi.TC_H_ROOT, 0) + text(uapi.TCA_KIND, "htb")
    assert read_token_bucket(as_message(other)) is None


@given(st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1))
def test_a_redirection_is_read_as_it_was_written(index: int, to_index: int) -> None:
    """Where everything is sent to can be told."""
    assert read_redirection(as_message(redirect_all(index, to_index).payload)) == to_index


def test_what_does_not_redirect_everything_is_not_read_so() -> None:
    """Filters of other kinds and for some packets, and other actions, are passed over."""
    fixed = struct.pack("=B3xiIII", 0, 1, 0, 0xFFFF0000, 0)
    other = fixed + text(uapi.TCA_KIND, "matchall")
    table = fixed + text(uapi.TCA_KIND, "u32") + nested(uapi.TCA_OPTIONS)
    whole = redirect_all(1, 2).payload
    dropping = whole.replace(b"mirred\0", b"gact\0\0\0")
    some = bytearray(whole)
    some[whole.index(struct.pack("=BxB", 1, 1)) + 16] = 0xFF  # the mask of the one key
    for payload in (other, table, dropping, bytes(some)):
        assert read_redirection(as_message(payload)) is None


@given(st.integers(1, 10**12), st.integers(68, 65535))
def test_every_limit_has_room_for_what_it_is_to_pass(bits: int, mtu: int) -> None:
    """A frame fits into a burst, the largest packet into the queue; nothing waits for long."""
    bucket = bucket_of(bits, mtu)
    assert bucket.rate == max(1, bits // 8)
    if bucket.ticks < U32_MAX:  # the kernel's most; it takes less than 240 bit/s
        burst = bucket.ticks * 64 * bucket.rate // 10**9
        assert burst + 2 * bucket.rate // 10**6 >= mtu + 18  # it is kept in microseconds
    if bucket.limit < U32_MAX:
        assert bucket.limit >= 1 << 16
        waiting = bucket.limit - max(bucket.rate // 100, 16384, 2 * (mtu + 18))
        assert waiting <= max(bucket.rate * LATENCY_US // 10**6, 1 << 16)


@given(addresses, st.integers(1, U32_MAX), st.integers(0, U32_MAX))
def test_a_rule_that_is_read_can_be_deleted(
    source: ipaddress.IPv4Address | ipaddress.IPv6Address, table: int, priority: int
) -> None:
    """The request to delete a rule says all that adding it said, and its place."""
    payload = add_rule(source, table).payload
    rule = read_rule(as_message(payload + u32(uapi.FRA_PRIORITY, priority)))
    assert (rule.source, rule.source_length) == (source, source.max_prefixlen)
    assert (rule.table, rule.priority) == (table, priority)
    assert delete_rule(rule).payload == payload + u32(uapi.FRA_PRIORITY, priority)


@given(networks, networks, st.integers(1, U32_MAX), st.none() | st.integers(0, U32_MAX))
def test_a_rule_between_networks_is_read_as_it_was_entered(
    source: Network, destination: Network, table: int, priority: int | None
) -> None:
    """Where its packets come from and go to, whole networks as well as all addresses."""
    if source.version == destination.version:
        rule = rule_between(source, destination, table, priority=priority)
        there = msgspec.structs.replace(rule, priority=priority or 0)
        assert read_rule(as_message(enter_rule(rule).payload)) == there
        assert delete_rule(rule).payload == enter_rule(rule).payload
    assert rule_between(None, destination, table).source is None
    with pytest.raises(ValueError, match="of which family"):
        rule_between(None, None, table)


def test_a_copied_route_differs_by_its_table_alone() -> None:
    """Gateway, priority and metrics go along; notes of the kernel's own do not."""
    gateway = ipaddress.ip_address("192.0.2.1")
    route = add_route(
        ipaddress.ip_network("198.51.100.0/24"),
        link_index=7,
        gateway=gateway,
        source=ipaddress.ip_address("192.0.2.5"),
        priority=9,
        mtu=1300,
    ).payload
    noted = route + u32(uapi.RTA_TABLE, 254) + attribute(12, bytes(32))
    taken = read_taken_route(as_message(noted))
    assert taken is not None
    assert (taken.index, taken.gateway) == (7, gateway)
    copied = taken.put_into(1000).payload
    parts = dict(attributes(copied, ROUTE_FIXED))
    assert number(parts.pop(uapi.RTA_TABLE)) == 1000
    assert parts == dict(attributes(route, ROUTE_FIXED))
    assert copied[4] == 0  # a table beyond one byte stands only in its attribute
    assert taken.put_into(100).payload[4] == 100


def test_a_route_made_up_for_one_destination_is_not_taken() -> None:
    """What the kernel keeps beside its routes is none of them."""
    fixed = struct.pack("=BBBBBBBBI", socket.AF_INET6, 128, 0, 0, 254, 2, 0, 1, uapi.RTM_F_CLONED)
    assert read_taken_route(as_message(fixed)) is None


@given(st.binary(max_size=80))
def test_any_bytes_are_a_value_or_malformed(payload: bytes) -> None:
    """Whatever comes in, nothing but MalformedMessageError comes out of reading it."""
    options = nested(uapi.TCA_OPTIONS, attribute(uapi.TCA_TBF_PARMS, payload[:40]))
    limit = struct.pack("=B3xiIII", 0, 1, 0, uapi.TC_H_ROOT, 0)
    for read, given_payload in (
        (read_rule, payload),
        (read_taken_route, payload),
        (read_token_bucket, payload),
        (read_token_bucket, limit + text(uapi.TCA_KIND, "tbf") + options),
    ):
        try:
            read(as_message(given_payload))
        except MalformedMessageError:
            continue
