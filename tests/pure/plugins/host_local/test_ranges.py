"""Ranges of addresses: sound, and gone through in order."""

from ipaddress import ip_address, ip_network
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.host_local.ranges import RangeConf, RangeSet, check_apart, read_range_set


def set_of(*subnets: str) -> RangeSet:
    """Read a set of whole subnets."""
    return read_range_set(tuple(RangeConf(subnet=subnet) for subnet in subnets))


@st.composite
def range_sets(draw: st.DrawFn) -> RangeSet:
    """A set of small ranges of different subnets, of either family."""
    pattern = draw(st.sampled_from(["10.9.{}.0/28", "2001:db8:{}::/124"]))
    confs = []
    for number in range(draw(st.integers(1, 3))):
        subnet = pattern.format(number)
        hosts = [str(host) for host in ip_network(subnet)][1:-1]
        first, last = sorted(draw(st.lists(st.integers(0, 13), min_size=2, max_size=2)))
        gateway = draw(st.sampled_from(["", *hosts, "192.0.2.1"]))
        confs.append(RangeConf(subnet, hosts[first], hosts[last], gateway))
    return read_range_set(tuple(confs))


@given(range_sets(), st.data())
def test_each_address_comes_once_and_the_last_one_last(
    ranges: RangeSet, data: st.DataObject
) -> None:
    """From wherever it starts, all addresses but the gateways come, in a circle."""
    everything = [address for address, _ in ranges.after(None)]
    assert len(set(everything)) == len(everything)
    assert all(address in each for address, each in ranges.after(None))
    for address, each in ranges.after(None):
        assert address != each.gateway
    if everything:
        last = data.draw(st.sampled_from(everything))
        at = everything.index(last)
        rotated = everything[at + 1 :] + everything[: at + 1]
        assert [address for address, _ in ranges.after(last)] == rotated
    foreign = ip_address("172.16.0.1")
    assert [address for address, _ in ranges.after(foreign)] == everything


@pytest.mark.parametrize(
    ("subnet", "first", "last"),
    [
        ("10.9.0.0/30", "10.9.0.1", "10.9.0.2"),
        ("10.9.0.0/24", "10.9.0.1", "10.9.0.254"),
        ("2001:db8::/126", "2001:db8::1", "2001:db8::3"),
        ("2001:db8::/64", "2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"),
    ],
)
def test_a_whole_subnet_is_without_network_and_broadcast(
    subnet: str, first: str, last: str
) -> None:
    """IPv6 has no broadcast address; the first one is the gateway."""
    (only,) = set_of(subnet).ranges
    assert (str(only.start), str(only.end), str(only.gateway)) == (first, last, first)


def test_a_large_range_is_not_written_out() -> None:
    """The first addresses of 2**64 come at once."""
    found = [str(address) for address, _ in islice(set_of("2001:db8::/64").after(None), 2)]
    assert found == ["2001:db8::2", "2001:db8::3"]


@pytest.mark.parametrize(
    "written",
    [
        (),
        (RangeConf(subnet="10.9.0.0/31"),),
        (RangeConf(subnet="10.9.0.1/24"),),
        (RangeConf(subnet="10.9.0.0/24", range_start="10.8.0.1"),),
        (RangeConf(subnet="10.9.0.0/24", range_end="2001:db8::1"),),
        (RangeConf(subnet="10.9.0.0/24", range_start="10.9.0.9", range_end="10.9.0.8"),),
        (RangeConf(subnet="10.9.0.0/24", gateway="home"),),
        (RangeConf(subnet="10.9.0.0/24"), RangeConf(subnet="2001:db8::/64")),
        (RangeConf(subnet="10.9.0.0/24"), RangeConf(subnet="10.9.0.128/25")),
    ],
)
def test_a_set_that_is_not_sound_does_not_exist(written: tuple[RangeConf, ...]) -> None:
    """Every mistake is found when it is read, not when an address is wanted."""
    with pytest.raises(PluginError):
        read_range_set(written)


def test_sets_are_apart() -> None:
    """The error names the two sets by their places."""
    sets = (set_of("10.9.0.0/24"), set_of("10.8.0.0/24"), set_of("10.8.0.0/16"))
    check_apart(sets[:2])
    with pytest.raises(PluginError, match=r"1 .*2"):
        check_apart(sets)
