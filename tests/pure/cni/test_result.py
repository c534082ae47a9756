"""CNI results in every version of the specification."""

import ipaddress
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.cni import (
    DNS,
    BadResultError,
    Interface,
    IPConfig,
    NetworkData,
    Result,
    Route,
    read_result,
)
from netclaim.cni.version import SPEC_VERSIONS

WRITTEN = ("0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")

BRIDGED = Result(
    interfaces=(
        Interface("cni0", mac="02:00:00:00:00:01"),
        Interface("veth1234", mac="02:00:00:00:00:02", mtu=1500),
        Interface("net1", mac="02:00:00:00:00:03", mtu=1500, sandbox="/run/netns/pod"),
    ),
    ips=(
        IPConfig("10.10.1.2/24", gateway="10.10.1.1", interface=2),
        IPConfig("2001:db8::2/64", interface=2),
    ),
    routes=(Route("0.0.0.0/0", gw="10.10.1.1"),),
    dns=DNS(nameservers=("10.10.1.1",)),
)

texts = st.text(max_size=8)
sizes = st.integers(0, 65535)
addresses = st.ip_addresses()
cidrs = st.one_of(
    st.tuples(st.ip_addresses(v=4), st.integers(0, 32)),
    st.tuples(st.ip_addresses(v=6), st.integers(0, 128)),
).map(lambda pair: f"{pair[0]}/{pair[1]}")
gateways = st.just("") | addresses.map(str)
links = st.builds(Interface, texts, texts, sizes, texts, texts, texts)
old_links = st.builds(Interface, name=texts, mac=texts, sandbox=texts)
numbers = st.none() | sizes
dns = st.builds(DNS, *[st.tuples(texts) | st.just(()), texts, st.tuples(texts, texts)])


def results(interfaces: st.SearchStrategy[Interface]) -> st.SearchStrategy[Result]:
    """Results whose interfaces come from the given strategy."""
    routes = st.builds(Route, cidrs, gateways, sizes, sizes, sizes, numbers, numbers)
    ips = st.builds(IPConfig, cidrs, gateways, numbers)
    return st.builds(
        Result,
        st.lists(interfaces, max_size=3).map(tuple),
        st.lists(ips, max_size=3).map(tuple),
        st.lists(routes, max_size=3).map(tuple),
        dns,
    )


@settings(deadline=None)
@given(results(links), st.sampled_from(["1.0.0", "1.1.0"]))
def test_versions_1_hold_everything(result: Result, version: str) -> None:
    """Written as 1.0.0 or 1.1.0 and read again, a result is the same."""
    assert read_result(json.dumps(result.to_dict(version)).encode(), "0.1.0") == result


@settings(deadline=None)
@given(results(old_links), st.sampled_from(["0.3.0", "0.3.1", "0.4.0"]))
def test_versions_0_hold_what_they_know(result: Result, version: str) -> None:
    """Written as 0.3.0 to 0.4.0 a result loses nothing that those versions have."""
    assert read_result(json.dumps(result.to_dict(version)).encode(), "1.1.0") == result


@settings(deadline=None)
@given(results(links), st.lists(st.sampled_from(WRITTEN), min_size=1, max_size=4))
def test_conversions_in_a_row_lose_what_the_poorest_loses(
    result: Result, versions: list[str]
) -> None:
    """Going through several versions is the same as going through the poorest of them once."""
    through = result
    for version in versions:
        through = read_result(json.dumps(through.to_dict(version)).encode(), version)
    once = read_result(json.dumps(result.to_dict(min(versions))).encode(), "1.1.0")
    assert through == once


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5) | cidrs,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["cniVersion", "interfaces", "ips", "ip4", "ip", "routes", "dns", "address"]
                ),
                inner,
            )
        ),
    ),
    st.sampled_from(SPEC_VERSIONS),
)
def test_nothing_but_a_bad_result_error_is_raised(raw: Any, version: str) -> None:
    """Whatever a plugin prints is a result or a BadResultError."""
    try:
        read_result(json.dumps(raw).encode(), version)
    except BadResultError:
        return


@settings(deadline=None)
@given(st.binary())
def test_bytes_of_any_kind_are_a_result_or_a_bad_one(output: bytes) -> None:
    """Garbage raises BadResultError and nothing else."""
    try:
        read_result(output, "1.0.0")
    except BadResultError:
        return


def test_before_1_0_an_address_says_its_family() -> None:
    """0.3.0 to 0.4.0 have `version` in `ips`, and three keys of an interface."""
    written = BRIDGED.to_dict("0.4.0")
    assert written["cniVersion"] == "0.4.0"
    assert [ip["version"] for ip in written["ips"]] == ["4", "6"]
    assert written["interfaces"][2] == {
        "name": "net1",
        "mac": "02:00:00:00:00:03",
        "sandbox": "/run/netns/pod",
    }


def test_from_1_0_on_it_does_not() -> None:
    """1.0.0 dropped `version`; 1.1.0 gave interfaces their mtu."""
    written = BRIDGED.to_dict("1.1.0")
    assert "version" not in written["ips"][0]
    assert written["interfaces"][2]["mtu"] == 1500
    assert "dns" not in Result().to_dict("1.1.0")


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
def test_ip4_and_ip6_are_read(version: str) -> None:
    """A result of the oldest versions has two addresses at most, with their routes."""
    raw = {
        "ip4": {
            "ip": "10.10.1.2/24",
            "gateway": "10.10.1.1",
            "routes": [{"dst": "0.0.0.0/0", "gw": "10.10.1.1"}],
        },
        "ip6": {"ip": "2001:db8::2/64"},
        "dns": {"nameservers": ["10.10.1.1"]},
    }
    assert read_result(json.dumps(raw).encode(), version) == Result(
        ips=(IPConfig("10.10.1.2/24", gateway="10.10.1.1"), IPConfig("2001:db8::2/64")),
        routes=(Route("0.0.0.0/0", gw="10.10.1.1"),),
        dns=DNS(nameservers=("10.10.1.1",)),
    )


def test_the_oldest_versions_are_written_as_0_3_0() -> None:
    """A version without room for interfaces is replaced by the first that has it."""
    assert BRIDGED.to_dict("0.2.0") == BRIDGED.to_dict("0.3.0")


def test_a_result_without_version_is_of_its_configurations() -> None:
    """`ip4` counts where the configuration is that old, and not where it is not."""
    output = b'{"ip4": {"ip": "10.10.1.2/24"}}'
    assert read_result(output, "0.2.0").ips == (IPConfig("10.10.1.2/24"),)
    assert read_result(output, "1.0.0").ips == ()


def test_null_is_as_good_as_absent() -> None:
    """A plugin may print null for what it does not have."""
    output = (
        b'{"cniVersion":"1.0.0","interfaces":null,"ips":[{"address":"10.0.0.2/8","gateway":null}]}'
    )
    assert read_result(output, "1.0.0") == Result(ips=(IPConfig("10.0.0.2/8"),))


@pytest.mark.parametrize(
    ("written", "canonical"),
    [("2001:DB8:0:0::5/64", "2001:db8::5/64"), ("192.0.2.5/24", "192.0.2.5/24")],
)
def test_addresses_become_canonical(written: str, canonical: str) -> None:
    """However a plugin writes an address, the API server gets the form that it accepts."""
    output = json.dumps({"ips": [{"address": written}]}).encode()
    assert read_result(output, "1.0.0").network_data("net1").ips == (canonical,)


@pytest.mark.parametrize(
    "address", ["192.0.2.5", "192.0.2.5/255.255.255.0", "192.0.2.5/33", "fe80::1%eth0/64", "x/1"]
)
def test_what_is_no_address_with_prefix_is_no_result(address: str) -> None:
    """An address that cannot be shown in a status is refused."""
    with pytest.raises(BadResultError):
        read_result(json.dumps({"ips": [{"address": address}]}).encode(), "1.0.0")


def test_an_unknown_version_is_refused() -> None:
    """A result of a version that we do not know is not guessed at."""
    with pytest.raises(BadResultError):
        read_result(b'{"cniVersion":"2.0.0"}', "1.0.0")


def test_the_status_shows_the_link_inside_the_pod() -> None:
    """Name and hardware address are those of the interface that has a sandbox."""
    assert BRIDGED.network_data("net1") == NetworkData(
        interface_name="net1",
        hardware_address="02:00:00:00:00:03",
        ips=("10.10.1.2/24", "2001:db8::2/64"),
    )


def test_of_several_links_inside_the_pod_the_one_asked_for_is_shown() -> None:
    """The name decides, else the last link counts."""
    inside = [Interface(name, mac=name, sandbox="/run/netns/pod") for name in ("net1", "net2")]
    result = Result(interfaces=tuple(inside))
    assert result.network_data("net1").hardware_address == "net1"
    assert result.network_data("net9").interface_name == "net2"


def test_addresses_of_the_hosts_links_are_not_the_pods() -> None:
    """An address on a link without sandbox is left out; the same address twice counts once."""
    ips = (
        IPConfig("10.0.0.1/24", interface=0),
        IPConfig("10.0.0.2/24", interface=1),
        IPConfig("10.0.0.2/24"),
        IPConfig("10.0.0.3/24", interface=7),
    )
    links = (Interface("cni0"), Interface("net1", sandbox="/run/netns/pod"))
    assert Result(links, ips).network_data("net1").ips == ("10.0.0.2/24",)


def test_without_interfaces_the_status_shows_the_name_asked_for() -> None:
    """A result of 0.2.0 names no interface."""
    result = Result(ips=(IPConfig("10.10.1.2/24"),))
    assert result.network_data("net1") == NetworkData("net1", "", ("10.10.1.2/24",))


@settings(deadline=None)
@given(cidrs)
def test_a_canonical_address_is_what_ipaddress_prints(cidr: str) -> None:
    """Canonical form is that of the standard library, and reading it again changes nothing."""
    address = IPConfig(cidr).address
    assert address == str(ipaddress.ip_interface(cidr))
    assert IPConfig(address).address == address
