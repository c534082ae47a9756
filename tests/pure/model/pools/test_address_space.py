"""Addresses of pools as numbers."""

import ipaddress
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.model.pools.address_space import (
    Range,
    Space,
    candidates,
    free_candidate,
    lease_name,
    range_faults,
    range_of,
    space_of,
)

NETWORK = ipaddress.ip_network("10.1.0.0/27")
INSIDE = st.sampled_from([str(each) for each in NETWORK])
LENGTHS = (29, 30, 31)
SUBNETS = st.sampled_from([str(each) for n in LENGTHS for each in NETWORK.subnets(new_prefix=n)])
RANGES = st.lists(
    st.builds(
        Range,
        cidr=st.sampled_from([str(NETWORK), *map(str, NETWORK.subnets(new_prefix=28))]),
        exclude=st.lists(INSIDE | SUBNETS, max_size=6).map(tuple),
    ),
    min_size=1,
    max_size=3,
)


def addresses(space: Space) -> list[str]:
    """All of them, in order."""
    return [str(space.at(index)) for index in range(space.size)]


def by_hand(ranges: list[Range]) -> list[str]:
    """The addresses that ranges have, one by one."""
    wanted: set[Any] = set()
    unwanted: set[Any] = set()
    for each in ranges:
        wanted.update(ipaddress.ip_network(each.cidr).hosts())
        for text in each.exclude:
            unwanted.update(ipaddress.ip_network(text))
    return [str(each) for each in sorted(wanted - unwanted)]


@given(RANGES)
def test_a_space_has_each_address_once(ranges: list[Range]) -> None:
    """In order, without those that are excluded anywhere, network and broadcast addresses."""
    space = space_of(ranges, 4)
    assert addresses(space) == by_hand(ranges)
    assert all((each in space) == (str(each) in by_hand(ranges)) for each in NETWORK)


@given(RANGES, RANGES)
def test_two_spaces_share_their_first_common_address(one: list[Range], two: list[Range]) -> None:
    """Or none, if they have none in common."""
    both = sorted(set(by_hand(one)) & set(by_hand(two)), key=ipaddress.IPv4Address)
    found = space_of(one, 4).shared_with(space_of(two, 4))
    assert (str(found) if found else None) == (both[0] if both else None)


@given(RANGES, st.sets(INSIDE), st.text(max_size=4))
def test_a_free_candidate_is_free(ranges: list[Range], taken: set[str], identity: str) -> None:
    """There is one as long as one address is left."""
    gone = {ipaddress.ip_address(each) for each in taken}
    found = free_candidate(space_of(ranges, 4), identity, gone)
    free = set(by_hand(ranges)) - taken
    assert (found is None) == (not free)
    assert found is None or str(found) in free


def test_ends_are_inclusive() -> None:
    """And a gateway is nobody's."""
    space = space_of([Range("10.1.0.0/24", "10.1.0.9", "10.1.0.12", "10.1.0.10")], 4)
    assert addresses(space) == ["10.1.0.9", "10.1.0.11", "10.1.0.12"]


def test_a_range_that_ends_before_it_starts_is_empty() -> None:
    """No rule of a single field finds it; the pool is not ready then."""
    assert space_of([Range("10.1.0.0/24", "10.1.0.9", "10.1.0.8")], 4).size == 0


@pytest.mark.parametrize(
    ("cidr", "size"),
    [("10.1.0.0/24", 254), ("10.1.0.0/31", 2), ("10.1.0.7/32", 1), ("fd00::/64", 2**64 - 1)],
)
def test_a_network_has_its_hosts(cidr: str, size: int) -> None:
    """A link between two has neither network nor broadcast address, and IPv6 no broadcast."""
    assert space_of([Range(cidr)], 6 if ":" in cidr else 4).size == size


def test_a_family_is_a_space_of_its_own() -> None:
    """Ranges of the other one do not count."""
    ranges = [Range("10.1.0.0/30"), Range("fd00::/126")]
    assert addresses(space_of(ranges, 6)) == ["fd00::1", "fd00::2", "fd00::3"]
    assert range_of(ranges, ipaddress.ip_address("fd00::2")).cidr == "fd00::/126"
    with pytest.raises(KeyError):
        range_of(ranges, ipaddress.ip_address("fd01::2"))


def test_candidates_differ_by_identity() -> None:
    """Two nodes that choose at the same time seldom choose the same."""
    space = space_of([Range("10.0.0.0/16")], 4)
    firsts = {next(candidates(space, f"claim-{n}")) for n in range(100)}
    assert len(firsts) > 95
    assert list(islice(candidates(space, "a"), 4)) == list(islice(candidates(space, "a"), 4))


@given(st.ip_addresses(v=6))
def test_names_of_leases_are_names_of_objects(address: ipaddress.IPv6Address) -> None:
    """Also of addresses that begin or end with a colon, and no two have one name."""
    name = lease_name("media", address)
    assert ipaddress.ip_address(name.removeprefix("media.").replace("-", ":")) == address
    assert name[-1] != "-"


@pytest.mark.parametrize(
    ("written", "field"),
    [
        (Range("10.1.0.1/24"), "cidr"),
        (Range("10.1.0.1"), "cidr"),
        (Range("10.1.0.0/24", start="10.2.0.1"), "start"),
        (Range("10.1.0.0/24", end="fd00::1"), "end"),
        (Range("10.1.0.0/24", gateway="10.1.0.0/25"), "gateway"),
        (Range("10.1.0.0/24", exclude=("10.1.0.0/23",)), "exclude"),
        (Range("10.1.0.0/24", exclude=("x",)), "exclude"),
    ],
)
def test_a_mistake_is_found_at_its_field(written: Range, field: str) -> None:
    """Whatever it is."""
    assert [each for each, _ in range_faults(written)] == [field]


def test_an_excluded_network_with_host_bits() -> None:
    """The API server takes `10.1.0.5/29` for an excluded network; it is the one of the address."""
    written = Range("10.1.0.0/27", exclude=("10.1.0.5/29", "10.1.0.17/28"))
    assert not list(range_faults(written))
    assert addresses(space_of([written], 4)) == [f"10.1.0.{number}" for number in range(8, 16)]
    assert list(range_faults(Range("10.1.0.0/27", exclude=("10.1.0.5/24",))))
