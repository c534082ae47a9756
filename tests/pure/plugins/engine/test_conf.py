"""How plugins read their configuration and arguments."""

import json
from pathlib import Path
from typing import Any

import pytest

from netclaim.cni import DNS, CniArgs, Endpoint
from netclaim.kernel.requests.bridge import PortVlan
from netclaim.plugins.bridge.conf import BridgeConf, port_vlans
from netclaim.plugins.engine.conf import (
    Conf,
    NetConf,
    lowered,
    read_args,
    read_cidr,
    read_conf,
    read_ip,
)
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.shared.mac import chosen_mac, mac_of_args
from netclaim.plugins.shared.name_servers import read_resolv_conf


class Sample(Conf, frozen=True):
    """A configuration with the kinds of values that there are."""

    link_in_container: bool = False
    mtu: int = 0
    nested: NetConf = NetConf()


def test_keys_are_found_in_any_case_and_null_is_absent() -> None:
    """The reference programs read JSON that way, and configurations rely on it."""
    raw = {"LINKINCONTAINER": True, "mtu": None, "nested": {"IPAM": {"Type": "static"}}}
    conf = read_conf(lowered(raw), Sample)
    assert conf.link_in_container
    assert conf.mtu == 0
    assert conf.nested.ipam.type == "static"


@pytest.mark.parametrize(
    ("raw", "spellings"),
    [
        ({"mtu": 1500, "MTU": 9000}, ("'mtu'", "'MTU'")),
        ({"mtu": 1500, "Mtu": None}, ("'mtu'", "'Mtu'")),
        ({"nested": {"dns": {}, "Dn\u017f": {}}}, ("'dns'", r"'Dn\u017f'")),
        ({"any": [{"lin\u212a": 1, "link": 2}]}, (r"'lin\u212a'", "'link'")),
    ],
)
def test_two_spellings_of_a_key_are_refused(
    raw: dict[str, Any], spellings: tuple[str, str]
) -> None:
    """Wherever they stand, both are named, in letters that cannot be mistaken for others."""
    with pytest.raises(PluginError) as caught:
        lowered(raw)
    assert f"the keys {spellings[0]} and {spellings[1]}" in str(caught.value)


def test_a_letter_that_go_takes_for_another_is_that_letter() -> None:
    """A plugin in process sees the key that a plugin written in Go sees."""
    assert read_conf(lowered({"lin\u212aInContainer": True}), Sample).link_in_container
    assert lowered({"ma\u017fter": "eth0"}) == {"master": "eth0"}


def test_settings_of_the_kernel_keep_their_keys() -> None:
    """Under `sysctl` stand names of links, of which two may differ in case alone."""
    settings = {"net.ipv4.conf.A.forwarding": "1", "net.ipv4.conf.a.forwarding": "0"}
    assert lowered({"SysCtl": settings}) == {"sysctl": settings}


@pytest.mark.parametrize("opening", ['{"a":', "["])
def test_a_configuration_that_is_nested_without_end_is_refused(opening: str) -> None:
    """It is an error of the plugin, not of the interpreter."""
    closing = "}" if opening.startswith("{") else "]"
    raw = json.loads(f"{opening * 900}1{closing * 900}")
    with pytest.raises(PluginError, match="too deeply"):
        lowered(raw)


def test_a_value_of_the_wrong_type_is_named_by_its_key() -> None:
    """The error says where to look."""
    with pytest.raises(PluginError, match=r"\$\.mtu"):
        read_conf(lowered({"mtu": "1500"}), Sample)


def test_unknown_keys_are_passed_over() -> None:
    """A configuration may hold what other plugins understand."""
    assert read_conf(lowered({"colour": "red"}), Sample) == Sample()


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ((), {}),
        ((("MAC", "x"),), {"MAC": "x"}),
        ((("IgnoreUnknown", "true"), ("COLOUR", "red")), {}),
        ((("IgnoreUnknown", "TRUE"), ("COLOUR", "red"), ("MAC", "x")), {"MAC": "x"}),
    ],
)
def test_arguments_that_are_known_are_picked(args: CniArgs, found: dict[str, str]) -> None:
    """Others are ignored where that was asked for."""
    assert read_args(args, {"MAC"}) == found


@pytest.mark.parametrize(
    "args", [(("COLOUR", "red"),), (("IgnoreUnknown", "0"), ("COLOUR", "red")), (("mac", "x"),)]
)
def test_arguments_that_nobody_knows_are_refused(args: CniArgs) -> None:
    """Unless IgnoreUnknown says otherwise; the case of a name counts."""
    with pytest.raises(PluginError, match=r"COLOUR|mac"):
        read_args(args, {"MAC"})


@pytest.mark.parametrize(
    ("written", "mac"),
    [
        ((), ""),
        (("", ""), ""),
        (("02:00:00:00:00:0A",), "02:00:00:00:00:0a"),
        (("02-00-00-00-00-0a",), "02:00:00:00:00:0a"),
        (("0200.0000.000a",), "02:00:00:00:00:0a"),
        (("-".join(["0A"] * 8),), ":".join(["0a"] * 8)),
        ((":".join(["0A"] * 20),), ":".join(["0a"] * 20)),  # InfiniBand's
        ((".".join(["0A0B"] * 10),), ":".join(["0a:0b"] * 10)),
        (("02:00:00:00:00:01", "", "02:00:00:00:00:02", ""), "02:00:00:00:00:02"),
    ],
)
def test_the_last_mac_that_is_written_counts(written: tuple[str, ...], mac: str) -> None:
    """It may have colons, dashes or dots, and comes out in the kernel's form."""
    assert chosen_mac(*written) == mac


@pytest.mark.parametrize(
    "written", ["home", "02:00:00:00:00", "02:00-00:00:00:01", "0200.0000.00", "02:00:00:00:00:0g"]
)
def test_a_mac_that_is_none_is_quoted(written: str) -> None:
    """Mixed separators and missing bytes are no MAC."""
    with pytest.raises(PluginError, match=written):
        chosen_mac(written)


def test_the_mac_of_an_endpoint_comes_from_its_arguments() -> None:
    """Kubernetes' own arguments come with the one that has them ignored."""
    args = (("IgnoreUnknown", "1"), ("K8S_POD_NAME", "a"), ("MAC", "02:00:00:00:00:01"))
    assert mac_of_args(Endpoint("c", "", "net1", args)) == "02:00:00:00:00:01"


@pytest.mark.parametrize("written", ["", "home", "10.0.0.256", "10.0.0.01", "fe80::1%eth0"])
def test_an_address_that_is_none_is_refused(written: str) -> None:
    """As Go refuses it: no zone, no leading zeros."""
    with pytest.raises(PluginError):
        read_ip(written)


def test_an_ipv4_address_in_the_clothes_of_ipv6_is_ipv4() -> None:
    """The reference programs take the two for one."""
    assert str(read_ip("::ffff:10.0.0.1")) == "10.0.0.1"
    assert str(read_cidr("::ffff:10.0.0.1/120")) == "10.0.0.1/24"


@pytest.mark.parametrize(
    "written",
    ["10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/255.0.0.0", "::ffff:10.0.0.1/64"],
)
def test_a_prefix_is_a_number_of_bits(written: str) -> None:
    """Neither absent, nor a mask, nor too long."""
    with pytest.raises(PluginError):
        read_cidr(written)


def test_name_servers_are_read_as_resolvers_do(tmp_path: Path) -> None:
    """Later domains replace earlier ones, lists grow, comments and odd lines are passed over."""
    path = tmp_path / "resolv.conf"
    path.write_text(
        "nameserver 192.0.2.1 more\n# nameserver 192.0.2.2\n;x\n\n  nameserver 2001:db8::1\n"
        "domain a\ndomain b\nsearch c d\nsearch e\noptions f\nnameserver\nsortlist g\n"
    )
    assert read_resolv_conf(str(path)) == DNS(
        nameservers=("192.0.2.1", "2001:db8::1"), domain="b", search=("c", "d", "e"), options=("f",)
    )


@pytest.mark.parametrize(
    ("keys", "vlans"),
    [
        ({}, []),
        ({"vlan": 5}, [PortVlan(5, native=True)]),
        ({"vlanTrunk": []}, []),
        ({"vlanTrunk": [{"id": 7}]}, [PortVlan(7), PortVlan(1, native=True)]),
        (
            {"vlan": 5, "vlanTrunk": [{"minID": 9, "maxID": 10}, {"id": 7}]},
            [PortVlan(5, native=True), PortVlan(7), PortVlan(9), PortVlan(10)],
        ),
        (
            {"vlanTrunk": [{"minID": 1, "maxID": 2, "id": 2}]},
            [PortVlan(1), PortVlan(2), PortVlan(1, native=True)],
        ),
    ],
)
def test_a_port_has_the_vlans_of_its_trunk(keys: dict[str, Any], vlans: list[PortVlan]) -> None:
    """The native one is the configured one, or 1 where a trunk has none; each VLAN comes once."""
    assert port_vlans(read_conf(lowered(keys), BridgeConf)) == vlans
