"""What becomes of addresses that networks have from whereabouts."""

from typing import Any

import pytest

from netclaim.schema.rules.address_pools import check_address_pool
from netclaim.schema.rules.pod_networks import check_pod_network
from tests.pure.convert.converting import convert, converted, definition, pod, said

MACVLAN = {"cniVersion": "0.3.1", "type": "macvlan", "master": "eth1"}
PLAIN = {"range": "10.1.1.0/24"}


def network(name: str, ipam: dict[str, Any], namespace: str = "", **keys: Any) -> str:
    """Return a network with addresses from whereabouts."""
    config = MACVLAN | {"ipam": {"type": "whereabouts"} | ipam} | keys
    return definition(name, config, namespace)


# The keys under `ipam`, the pool's name, and its ranges.
RANGES: dict[str, tuple[dict[str, Any], str, list[dict[str, Any]]]] = {
    "a network": (PLAIN, "range-10-1-1-0-24", [{"cidr": "10.1.1.0/24"}]),
    "an address of the network": (
        {"range": "10.1.1.225/28"},
        "range-10-1-1-224-28",
        [{"cidr": "10.1.1.224/28"}],
    ),
    "keys in another case": (
        {"RANGE": "10.1.1.0/24"},
        "range-10-1-1-0-24",
        [{"cidr": "10.1.1.0/24"}],
    ),
    "the first and the last address": (
        PLAIN | {"range_start": "10.1.1.20", "range_end": "10.1.1.99"},
        "range-10-1-1-0-24-from-10-1-1-20",
        [{"cidr": "10.1.1.0/24", "start": "10.1.1.20", "end": "10.1.1.99"}],
    ),
    "both in the range": (
        {"range": "10.1.1.20-10.1.1.99/24"},
        "range-10-1-1-0-24-from-10-1-1-20",
        [{"cidr": "10.1.1.0/24", "start": "10.1.1.20", "end": "10.1.1.99"}],
    ),
    "the usual ends": (
        PLAIN | {"range_start": "10.1.1.1", "range_end": "10.1.1.254"},
        "range-10-1-1-0-24",
        [{"cidr": "10.1.1.0/24"}],
    ),
    "what is excluded": (
        PLAIN | {"exclude": ["10.1.1.7", "10.1.1.229/30", "10.1.1.232/29"]},
        "range-10-1-1-0-24",
        [{"cidr": "10.1.1.0/24", "exclude": ["10.1.1.7/32", "10.1.1.228/30", "10.1.1.232/29"]}],
    ),
    "a gateway": (
        PLAIN | {"gateway": "10.1.1.1"},
        "range-10-1-1-0-24",
        [{"cidr": "10.1.1.0/24", "gateway": "10.1.1.1"}],
    ),
    "both families": (
        {"ipRanges": [PLAIN, {"range": "fd00:1::/64", "exclude": ["fd00:1::/96"]}]},
        "range-10-1-1-0-24-fd00-1---64",
        [{"cidr": "10.1.1.0/24"}, {"cidr": "fd00:1::/64", "exclude": ["fd00:1::/96"]}],
    ),
    "a range by itself, and more": (
        PLAIN | {"gateway": "fd00:1::1", "ipRanges": [{"range": "fd00:1::/64"}]},
        "range-10-1-1-0-24-fd00-1---64",
        [{"cidr": "10.1.1.0/24"}, {"cidr": "fd00:1::/64", "gateway": "fd00:1::1"}],
    ),
    "how whereabouts works": (
        PLAIN | {"log_level": "debug", "kubernetes": {"kubeconfig": "/x"}},
        "range-10-1-1-0-24",
        [{"cidr": "10.1.1.0/24"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RANGES)
def test_ranges(case: str) -> None:
    """A range of whereabouts is a range of a pool, with the same addresses."""
    ipam, name, ranges = RANGES[case]
    assert said(convert(network("net", ipam))) == []
    pool, found = converted(network("net", ipam))
    assert (pool["kind"], pool["metadata"]) == ("AddressPool", {"name": name})
    assert pool["spec"] == {"ranges": ranges}
    assert found["spec"]["ipam"] == {"type": "netclaim", "pool": name}
    assert not list(check_address_pool(pool, ("spec",)))
    assert not list(check_pod_network(found, ("spec",)))


def test_a_network_name_is_a_domain() -> None:
    """The same range of two names is leased twice, as whereabouts does; the pools say so."""
    one, _, other, _ = converted(
        network("a", PLAIN | {"network_name": "red"}),
        network("b", PLAIN | {"network_name": "blue"}),
    )
    assert [each["metadata"]["name"] for each in (one, other)] == [
        "red-10-1-1-0-24",
        "blue-10-1-1-0-24",
    ]
    assert [each["spec"]["domain"] for each in (one, other)] == ["red", "blue"]


def test_networks_that_use_the_same_share_a_pool() -> None:
    """One pool for a range, in front of the first network that has it, whatever else they say."""
    routed = PLAIN | {"routes": [{"dst": "10.0.0.0/8"}], "dns": {"nameservers": ["10.1.1.2"]}}
    conversion = convert(network("a", {"range": "10.1.1.7/24"}), network("b", routed, "infra"))
    assert (conversion.networks, conversion.pools) == (2, 1)
    found = converted(network("a", {"range": "10.1.1.7/24"}), network("b", routed, "infra"))
    assert [each["kind"] for each in found] == ["AddressPool", "PodNetwork", "PodNetwork"]
    name = "range-10-1-1-0-24"
    assert found[1]["spec"]["ipam"] == {"type": "netclaim", "pool": name}
    assert found[2]["spec"]["ipam"] == {
        "type": "netclaim",
        "pool": name,
        "routes": [{"dst": "10.0.0.0/8"}],
    }
    assert found[2]["spec"]["dns"] == {"nameservers": ["10.1.1.2"]}


def test_parts_of_a_range_are_pools_of_their_own() -> None:
    """Networks that have different addresses of one range have a pool each."""
    first = PLAIN | {"range_end": "10.1.1.99"}
    second = PLAIN | {"range_start": "10.1.1.100"}
    conversion = convert(network("a", first), network("b", second))
    assert (conversion.networks, conversion.pools, conversion.remarks) == (2, 2, ())


def test_a_list_of_plugins() -> None:
    """In a list, the plugin that has the addresses keeps its place and its other keys."""
    plugin = MACVLAN | {"ipam": {"type": "whereabouts"} | PLAIN}
    tuned = {"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}}
    _, found = converted(definition("net", {"cniVersion": "1.0.0", "plugins": [plugin, tuned]}))
    first, second = found["spec"]["config"]["plugins"]
    assert first["ipam"] == {"type": "netclaim", "pool": "range-10-1-1-0-24"}
    assert second == tuned


def test_addresses_that_pods_choose() -> None:
    """A pod can choose an address of the pool, where the network lets it."""
    pool, found, *_ = converted(
        network("net", PLAIN, capabilities={"ips": True}),
        pod("p", [{"name": "net", "ips": ["10.1.1.7"]}]),
    )
    assert pool["kind"] == "AddressPool"
    assert (found["spec"]["type"], found["spec"]["allow"]) == ("macvlan", ["ips"])


# What is left out, or lost, and how that is said.
SAID: dict[str, tuple[dict[str, Any], str, bool]] = {
    "a gateway elsewhere": (
        {"range": "192.168.2.225/28", "gateway": "192.168.2.1"},
        "spec.config.ipam.gateway: left out: it is not in 192.168.2.224/28, so that no pod can",
        False,
    ),
    "a first address elsewhere": (
        PLAIN | {"range_start": "10.2.1.1"},
        "ipam.range_start: left out: 10.2.1.1 is not from 10.1.1.1 to 10.1.1.254",
        False,
    ),
    "a last address before the first": (
        PLAIN | {"range_start": "10.1.1.20", "range_end": "10.1.1.10"},
        "ipam.range_end: left out: 10.1.1.10 is not from 10.1.1.20 to 10.1.1.254",
        False,
    ),
    "excluded, and not there": (
        PLAIN | {"exclude": ["10.9.0.0/16"]},
        "ipam.exclude[0]: left out: 10.9.0.0/16 is not in 10.1.1.0/24",
        False,
    ),
    "nothing left": (
        PLAIN | {"exclude": ["10.0.0.0/8"]},
        "ipam.range: no address of the pool range-10-1-1-0-24 is left for pods",
        True,
    ),
    "slices for nodes": (PLAIN | {"node_slice_size": "/26"}, "a pool needs no slices", False),
    "the same address in two ranges": (
        PLAIN | {"enable_overlapping_ranges": False},
        "in a domain no address is leased twice",
        False,
    ),
    "an unknown key": (PLAIN | {"subnet": "x"}, "whereabouts has no such key", False),
    "two ranges of a family": (
        PLAIN | {"ipRanges": [{"range": "10.2.0.0/16"}]},
        "ipam.ipRanges[0].range: a pod gets only one IPv4 address from a pool",
        True,
    ),
    "addresses of every pod": (
        PLAIN | {"addresses": [{"address": "10.1.1.7/24"}]},
        "ipam.addresses: every pod has them too",
        True,
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_what_is_said(case: str) -> None:
    """What a pool does not have is named with its line, and whether pods lose something by it."""
    ipam, words, lost = SAID[case]
    conversion = convert(network("net", ipam))
    (remark,) = conversion.remarks
    assert str(remark).startswith(("m.yaml:7: spec.config.ipam.", "m.yaml:8: spec.config.ipam."))
    assert words in str(remark)
    assert remark.lost == lost
    assert conversion.pools == 1


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no range": ({}, "ipam: has no range, so whereabouts reads it from a file on each node"),
    "no network": ({"range": "10.1.1"}, "ipam.range: is not a network; for example 10.10.1.0/24"),
    "a range on a link": ({"range": "fe80::%eth0/64"}, 'ipam.range: must have no "%"; a pool has'),
    "a gateway on a link": (PLAIN | {"gateway": "fe80::1%eth0"}, 'gateway: must have no "%"'),
    "excluded on a link": (PLAIN | {"exclude": ["fe80::1%eth0"]}, 'exclude[0]: must have no "%"'),
    "an excluded number": (PLAIN | {"exclude": [7]}, "exclude[0]: is not a network or an address"),
    "no text": ({"range": 7}, "ipam.range: must be a string"),
    "no list": (PLAIN | {"exclude": "10.1.1.7"}, "ipam.exclude: must be a list"),
    "no object in the list": ({"ipRanges": ["10.1.1.0/24"]}, "ipRanges[0]: must be an object"),
    "no address": (PLAIN | {"exclude": ["x"]}, "exclude[0]: is not a network or an address"),
    "a start that is none": (PLAIN | {"range_start": "x"}, "ipam.range_start: is not an address"),
    "a gateway that is none": (PLAIN | {"gateway": "x"}, "ipam.gateway: is not an address"),
    "a name for no domain": (
        PLAIN | {"network_name": "Red Net"},
        "ipam.network_name: becomes a pool's domain, which must be a DNS label",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_stays_with_multus(case: str) -> None:
    """A network whose addresses no pool can have stays as it is, with the reason."""
    ipam, words = REFUSED[case]
    conversion = convert(network("net", ipam))
    (remark,) = conversion.remarks
    assert remark.lost
    assert words in str(remark)
    assert not conversion.replacements


def test_ranges_that_overlap() -> None:
    """Of two networks with some of the same addresses, the second stays, and both are named."""
    conversion = convert(network("a", PLAIN), network("b", {"range": "10.1.0.0/16"}, "infra"))
    (remark,) = conversion.remarks
    assert "ipam.range: default/a has some of these addresses too, but not all the same" in str(
        remark
    )
    assert (conversion.networks, conversion.pools) == (1, 1)


def test_a_pool_of_no_network_is_not_made() -> None:
    """A network that stays with Multus for another reason brings no pool."""
    conversion = convert(network("net", PLAIN, mode="sideways"))
    assert (conversion.networks, conversion.pools) == (0, 0)


def test_a_network_that_is_defined_twice() -> None:
    """The first one is converted, and keeps its pool; the second one is said to be one too many."""
    conversion = convert(network("net", PLAIN), network("net", PLAIN), pod("p", "net"))
    (remark,) = conversion.remarks
    assert remark.text == "default/net is defined twice; remove one"
    assert remark.lost
    assert (conversion.networks, conversion.pools) == (1, 1)


def test_a_name_that_is_too_long() -> None:
    """A pool's name has at most 63 characters, and is another one for other addresses."""
    names = set()
    for last in ("1", "2"):
        wide = {"range": f"2001:db8:1111:2222:3333:4444:5555:{last}000/120"}
        pool, _ = converted(network("net", wide | {"network_name": "a" * 40}))
        names.add(pool["metadata"]["name"])
        assert not list(check_address_pool(pool, ("spec",)))
    assert len(names) == 2
