"""What pods have from whereabouts is not leased again, while both of them serve one range."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_network
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from netclaim.convert.objects import Conversion
from netclaim.convert.whereabouts.reservations import limited
from netclaim.model.api.own_kinds.address_pool import EXCLUDED_MAX
from netclaim.model.pools.address_space import Range, address_of, space_of
from tests.pure.convert.converting import convert, definition, pod, said
from tests.pure.convert.whereabouts.test_whereabouts import network

NET = "10.1.1.0/24"
UPPER = "10.1.1.128/25"


def ip_pool(allocations: Mapping[str, str], name: str = "10.1.1.0-24", written: str = NET) -> str:
    """Return what whereabouts writes down: pods by the offsets of their addresses."""
    found = {offset: {"id": "c", "podref": pod} for offset, pod in allocations.items()}
    return "---\n" + yaml.safe_dump(
        {
            "apiVersion": "whereabouts.cni.cncf.io/v1alpha1",
            "kind": "IPPool",
            "metadata": {"name": name, "namespace": "kube-system"},
            "spec": {"range": written, "allocations": found},
        }
    )


def replica_set(name: str, networks: str) -> str:
    """Return a ReplicaSet whose pods have the annotation."""
    template = yaml.safe_load(pod("x", networks))
    meta = {"annotations": template["metadata"]["annotations"]}
    return "---\n" + yaml.safe_dump(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": name},
            "spec": {"template": {"metadata": meta, "spec": template["spec"]}},
        }
    )


def excluded(conversion: Conversion) -> list[list[str]]:
    """Return what is excluded from the ranges of the pools that were made."""
    made = [one for each in conversion.replacements.values() for one in each.before]
    return [
        each.get("exclude", [])
        for one in made
        if one["kind"] == "AddressPool"
        for each in one["spec"]["ranges"]
    ]


def test_what_pods_have_is_excluded() -> None:
    """Addresses of running pods are excluded, as few networks as there can be, with a note."""
    held = ip_pool({"5": "default/a", "8": "default/b", "9": "default/c", "300": "default/d"})
    conversion = convert(
        network("net", {"range": NET}), *(pod(name, "net") for name in "abc"), held
    )
    assert excluded(conversion) == [["10.1.1.5/32", "10.1.1.8/31"]]
    (remark,) = conversion.remarks
    assert not remark.lost
    assert str(remark).endswith(
        "ipam.range: the pool range-10-1-1-0-24 is without what pods have from whereabouts:"
        " default (3); when they have moved, convert the original again, or edit the pool's exclude"
    )


def test_pods_that_are_not_converted() -> None:
    """Where others stay with whereabouts, it could give them what the pool leases: that is lost."""
    held = ip_pool({"5": "default/a", "6": "team-b/x", "7": "team-b/y"})
    conversion = convert(network("net", {"range": NET}), pod("a", "net"), held)
    assert [remark.lost for remark in conversion.remarks] == [False, True]
    assert said(conversion)[1].endswith(
        "whereabouts may give to others what the pool range-10-1-1-0-24 leases: team-b (2);"
        " take a part of the range with --take (not carried over)"
    )


# Who has an address, and whether that pod is converted below.
MOVES = {
    "default/a": True,
    "default/a-2": False,
    "default/web-7d9f-x2x9k": True,
    "default/webapp-7d9f-x2x9k": False,
    "default/half": False,
    "default/other": False,
    "team-b/a": False,
    "": False,
}


@pytest.mark.parametrize("podref", MOVES)
def test_which_pods_move(podref: str) -> None:
    """Only pods of workloads that leave nothing to Multus move; a namespace has others as well."""
    conversion = convert(
        network("net", {"range": NET}),
        pod("a", "net"),
        replica_set("web", "net"),
        pod("half", "net,missing"),
        ip_pool({"5": podref}),
    )
    leases = [one for one in conversion.remarks if "may give to others" in one.text]
    assert bool(leases) != MOVES[podref]
    assert all(one.lost for one in leases)


def test_a_part_is_taken() -> None:
    """With a part that whereabouts excludes, the pool has that part and nothing else."""
    held = ip_pool({"5": "default/a", "130": "team-b/x"})
    own = {"range": NET, "exclude": [UPPER, "10.1.1.240/28"]}
    conversion = convert(network("net", own), pod("a", "net"), held, take=[UPPER])
    assert excluded(conversion) == [["10.1.1.0/25", "10.1.1.130/32", "10.1.1.240/28"]]
    (remark,) = conversion.remarks
    assert "team-b (1)" in remark.text
    assert not remark.lost


def test_both_parts_are_taken_in_the_end() -> None:
    """When whereabouts excludes everything, the pool has the whole range."""
    own = {"range": NET, "exclude": ["10.1.1.0/25", UPPER]}
    (remark,) = convert(network("net", own)).remarks
    assert remark.lost
    conversion = convert(network("net", own), take=["10.1.1.0/25", UPPER])
    assert (excluded(conversion), conversion.remarks) == ([[]], ())


def test_a_part_that_is_not_excluded_yet() -> None:
    """Each network that could still give addresses of the part is named, used here or not."""
    documents = (
        network("a", {"range": NET, "exclude": [UPPER]}),
        network("b", {"range": "10.1.0.0/16"}, "infra"),
    )
    conversion = convert(*documents, pod("p", "a"), namespace="default", take=[UPPER])
    (remark,) = conversion.remarks
    assert remark.lost
    assert remark.text == f"whereabouts may still give {UPPER} to pods; exclude it here first"
    assert conversion.networks == 1


# What whereabouts excludes of NET, what is taken, and what is excluded from the pool.
EXCLUDED: dict[str, tuple[list[str], list[str], list[str]]] = {
    "in two networks": (["10.1.1.128/26", "10.1.1.192/26"], [UPPER], ["10.1.1.0/25"]),
    "in a wider network": ([UPPER], ["10.1.1.192/26"], ["10.1.1.0/25", "10.1.1.128/26"]),
    "the whole range": ([NET], ["10.1.1.0/25", UPPER], []),
    "by turns": ([UPPER, "10.1.1.192/26"], ["10.1.1.128/26", "10.1.1.192/26"], ["10.1.1.0/25"]),
    "with an exclusion inside": (
        ["10.1.1.128/26", "10.1.1.192/26", "10.1.1.240/28"],
        [UPPER],
        ["10.1.1.0/25", "10.1.1.240/28"],
    ),
}


@pytest.mark.parametrize("case", EXCLUDED)
def test_a_part_that_is_excluded_otherwise(case: str) -> None:
    """Addresses are compared, however the exclusions are written that keep whereabouts away."""
    own, take, expected = EXCLUDED[case]
    conversion = convert(network("net", {"range": NET, "exclude": own}), take=take)
    assert (excluded(conversion), conversion.remarks) == ([expected], ())


def test_a_part_of_which_some_is_excluded() -> None:
    """What is excluded in a part that whereabouts goes on with stays so in the pool."""
    own = {"range": NET, "exclude": ["10.1.1.240/28"]}
    conversion = convert(network("net", own), take=[UPPER])
    assert excluded(conversion) == [["10.1.1.0/25", "10.1.1.240/28"]]
    (remark,) = conversion.remarks
    assert remark.text == f"whereabouts may still give {UPPER} to pods; exclude it here first"


def test_a_part_of_another_range() -> None:
    """What is taken of one range changes nothing in another, also of the same network."""
    own = {"ipRanges": [{"range": NET, "exclude": [UPPER]}, {"range": "fd00:1::/64"}]}
    rest = {"range": "10.1.2.0/24", "range_end": "10.1.2.127"}
    other = {"range": "10.1.2.0/24", "range_start": "10.1.2.128", "exclude": ["10.1.2.192/26"]}
    conversion = convert(
        network("net", own),
        network("rest", rest),
        network("other", other),
        take=[UPPER, "10.1.2.192/26"],
    )
    assert excluded(conversion) == [["10.1.1.0/25"], [], [], ["10.1.2.0/25", "10.1.2.128/26"]]
    assert (conversion.remarks, conversion.unmatched) == ((), ())


# What is taken, of a range from 10.1.1.0 to 10.1.1.127, and what of it is in no pool.
UNMATCHED: dict[str, tuple[list[str], list[str]]] = {
    "misspelt": (["10.1.11.0/25"], ["10.1.11.0/25"]),
    "behind the end of the range": ([UPPER], [UPPER]),
    "one of two": (["10.1.1.0/25", "fd00::/64"], ["fd00::/64"]),
    "more than the range": (["10.1.0.0/16"], []),
}


@pytest.mark.parametrize("case", UNMATCHED)
def test_what_is_taken_of_no_range(case: str) -> None:
    """A part without a range is found, because a pool would have what whereabouts gives, too."""
    take, unmatched = UNMATCHED[case]
    own = {"range": NET, "range_end": "10.1.1.127"}
    conversion = convert(network("net", own), take=take)
    assert list(map(str, conversion.unmatched)) == unmatched


def test_everything_is_had() -> None:
    """A pool of which nothing is left is not to be used."""
    held = ip_pool({str(n): "default/p" for n in range(1, 15)}, "10.1.1.0-28", "10.1.1.0/28")
    conversion = convert(network("net", {"range": "10.1.1.0/28"}), pod("p", "net"), held)
    (remark,) = conversion.remarks
    assert remark.lost
    assert (
        "no address of the pool range-10-1-1-0-28 is left for pods, which have all others"
        in str(remark)
    )


# The name of an IPPool, and which of two networks of one range it is about: `red`, or without name.
NAMES = {
    "10.1.1.0-24": ["", "10.1.1.5/32"],
    "red-10.1.1.0-24": ["10.1.1.5/32", ""],
    "node-1-10.1.1.0-24": ["", "10.1.1.5/32"],
    "red-node-1-10.1.1.0-24": ["10.1.1.5/32", ""],
    "reddish-10.1.1.0-24": ["", "10.1.1.5/32"],
    "restored": ["10.1.1.5/32", "10.1.1.5/32"],
}


@pytest.mark.parametrize("name", NAMES)
def test_whose_addresses_they_are(name: str) -> None:
    """An IPPool's name says of which network it is; one that does not counts for all."""
    conversion = convert(
        network("a", {"range": NET, "network_name": "red"}),
        network("b", {"range": NET}),
        pod("p", "a,b"),
        ip_pool({"5": "default/p"}, name),
    )
    assert [",".join(each) for each in excluded(conversion)] == NAMES[name]


def test_addresses_of_ipv6() -> None:
    """Offsets count from the first address of the range, of IPv6 as of IPv4."""
    held = ip_pool({"18446744073709551615": "default/p"}, "fd00-1---64", "fd00:1::/64")
    conversion = convert(network("net", {"range": "fd00:1::/64"}), pod("p", "net"), held)
    assert excluded(conversion) == [["fd00:1::ffff:ffff:ffff:ffff/128"]]


UNREADABLE: list[tuple[dict[str, Any], str]] = [
    ({"range": "x"}, "spec.range: is not a network"),
    ({}, "spec.range: is not a network"),
    (
        {"range": NET, "allocations": {"x": {}}},
        "spec.allocations: has a key that is not the number of an address of the range",
    ),
    (
        {"range": NET, "allocations": {"-9999999999": {}}},
        "spec.allocations: has a key that is not the number of an address of the range",
    ),
]


@pytest.mark.parametrize(("spec", "words"), UNREADABLE)
def test_an_ip_pool_that_cannot_be_read(spec: dict[str, Any], words: str) -> None:
    """What pods have is not known then, so that no pool is written; nothing else needs it."""
    text = ip_pool({}).split("spec:")[0] + yaml.safe_dump({"spec": spec})
    (remark,) = convert(network("net", {"range": NET}), text).remarks
    assert remark.lost
    assert words in str(remark)
    elsewhere = definition("net", {"type": "macvlan", "master": "eth1"})
    assert convert(elsewhere, text).remarks == ()


def test_ip_pools_that_may_not_be_listed() -> None:
    """A pool could lease what pods have, so that none is written; without a pool it is nothing."""
    (lost,) = convert(network("net", {"range": NET}), unread="forbidden").remarks
    assert lost.lost
    assert str(lost).startswith("IPPools: cannot be listed, so a pool may lease what pods have")
    other = definition("net", {"type": "macvlan", "master": "eth1"})
    assert convert(other, unread="forbidden").remarks == ()


def test_an_ip_pool_of_somebody_else() -> None:
    """Other projects have the kind too."""
    text = ip_pool({"5": "default/p"}).replace("whereabouts.cni.cncf.io", "crd.projectcalico.org")
    conversion = convert(network("net", {"range": NET}), text)
    assert (excluded(conversion), conversion.remarks) == ([[]], ())


def test_more_exclusions_than_a_range_may_have() -> None:
    """What is excluded by hand stays so; the API server says that it is too much."""
    own = [f"10.1.{number}.0/24" for number in range(0, 256, 2)] + ["10.1.1.0/32"]
    conversion = convert(network("net", {"range": "10.1.0.0/16", "exclude": own}))
    assert sorted(excluded(conversion)[0]) == sorted(own)


def test_very_many_pods() -> None:
    """Twenty thousand addresses, far apart, are excluded, and what is behind them is left."""
    wide = ip_network("10.0.0.0/8")
    first = int(wide.network_address)
    pods = {
        address_of(4, first + number * 400 + 1): f"default/p{number}" for number in range(20000)
    }
    found = limited(Range(str(wide)), [], pods)
    space = space_of([found.range], 4)
    assert not any(address in space for address in pods)
    ((begin, end),) = space.blocks
    assert int(max(pods)) < begin <= int(max(pods)) + 512
    assert end == first + 2**24 - 2


@given(st.sets(st.integers(1, 4094), max_size=600))
def test_as_many_exclusions_as_a_range_may_have(numbers: Iterable[int]) -> None:
    """What is left is nobody's, whoever many pods there are; no range has too many exclusions."""
    wide = ip_network("10.1.0.0/20")
    first = int(wide.network_address)
    pods = {address_of(4, first + number): f"default/p{number}" for number in numbers}
    found = limited(Range(str(wide)), [], pods)
    assert len(found.range.exclude) <= EXCLUDED_MAX
    space = space_of([found.range], 4)
    assert not any(address in space for address in pods)
    assert len(found.pods) == len(pods)
    assert space.size == 4094 - len(pods) - found.lost
