"""Address management, in process and by the reference programs."""

from pathlib import Path
from typing import Any

import pytest

from tests.reference.site.plugin_cases import DNS, case
from tests.reference.site.plugin_site import Case, both, play
from tests.reference.site.plugin_state import differences

pytestmark = pytest.mark.reference

NET = {"subnet": "10.9.0.0/29"}  # .1 is the gateway, .2 to .6 are to be had
NET6 = {"subnet": "2001:db8:9::/125"}
OTHER = {"subnet": "10.8.0.0/29"}
WIDER = {"subnet": "10.9.0.0/24"}


def host_local(name: str, *sets: Any, ipam: dict[str, Any] | None = None, **keys: Any) -> Case:
    """Describe a host-local with these sets of ranges."""
    own = {"type": "host-local", "dataDir": "DIR", "ranges": list(sets)} | (ipam or {})
    return case("host-local", name, ipam=own, **keys)


def static(name: str, *addresses: str, ipam: dict[str, Any] | None = None, **keys: Any) -> Case:
    """Describe a static with these addresses, each with a gateway after a space if it has one."""
    listed = [dict(zip(("address", "gateway"), one.split(), strict=False)) for one in addresses]
    own = {"type": "static", "addresses": listed} | (ipam or {})
    return case("static", name, ipam=own, **keys)


def bounded(**keys: str) -> dict[str, str]:
    """Bound a range."""
    return NET | keys


EVERY_KEY = {
    "routes": [
        {"dst": "0.0.0.0/0", "mtu": 1400, "advmss": 1300, "priority": 5, "table": 9, "scope": 0},
        {"dst": "2001:DB8::/32", "gw": "2001:DB8:9::1"},
    ],
    "resolvConf": "DIR/../resolv.conf",
}
BY_CAPABILITY = {"ipRanges": [[{"subnet": "10.7.0.0/24"}]]}

RANGES = [
    host_local("a subnet", [NET]),
    host_local("two families", [NET], [NET6]),
    host_local("two subnets of one set", [NET, OTHER]),
    host_local("written flat", ipam=NET | {"ranges": None}),
    host_local("written flat, and more", [NET6], ipam=bounded(gateway="10.9.0.6")),
    host_local("a start and an end", [bounded(rangeStart="10.9.0.4", rangeEnd="10.9.0.5")]),
    host_local("a gateway of its own", [bounded(gateway="10.9.0.2")]),
    host_local("a gateway of another network", [bounded(gateway="192.0.2.1")]),
    host_local("IPv6 up to its last address", [NET6 | {"rangeStart": "2001:db8:9::7"}]),
    host_local("an address in a long form", [{"subnet": "2001:0DB8:0009:0000::/125"}]),
    host_local("no ranges", says="range"),
    host_local("an empty set", [], says="empty"),
    host_local("a subnet that is none", [{"subnet": "home"}]),
    host_local("a subnet without prefix", [{"subnet": "10.9.0.0"}]),
    host_local("a subnet too small", [{"subnet": "10.9.0.0/31"}], says="small"),
    host_local("a subnet with host bits", [{"subnet": "10.9.0.1/24"}], says="host bits"),
    host_local("a start elsewhere", [bounded(rangeStart="10.9.1.1")], says="10.9.1.1"),
    host_local("an end elsewhere", [bounded(rangeEnd="10.9.1.1")], says="10.9.1.1"),
    host_local("an end before the start", [bounded(rangeStart="10.9.0.4", rangeEnd="10.9.0.3")]),
    host_local("overlapping ranges", [NET, WIDER], says="overlap"),
    host_local("overlapping sets", [NET], [WIDER], says="overlap"),
    host_local("a set of two families", [NET, NET6], says="famil"),
    host_local("two of a family in CNI 0.2.0", [NET], [OTHER], version="0.2.0"),
    host_local("two families in CNI 0.2.0", [NET], [NET6], version="0.2.0"),
    host_local("ranges by capability", [NET], runtimeConfig=BY_CAPABILITY),
]
REQUESTS = [
    host_local("an address by argument", [NET], args=(("IP", "10.9.0.5"),)),
    host_local("an address with prefix", [NET], runtimeConfig={"ips": ["10.9.0.5/24"]}),
    host_local("an address with a prefix too long", [NET], runtimeConfig={"ips": ["10.9.0.5/33"]}),
    host_local("an address with a slash", [NET], runtimeConfig={"ips": ["10.9.0.5/"]}),
    host_local("an empty address", [NET], runtimeConfig={"ips": [""]}),
    host_local("no address by argument", [NET], args=(("IP", ""),)),
    host_local("the same twice", [NET], runtimeConfig={"ips": ["10.9.0.5", "10.9.0.5/29"]}),
    host_local("IPv4 written as IPv6", [NET], runtimeConfig={"ips": ["::ffff:10.9.0.5"]}),
    host_local("two", [NET], [NET6], runtimeConfig={"ips": ["2001:db8:9::4", "10.9.0.5"]}),
    host_local("the gateway's address", [NET], args=(("IP", "10.9.0.1"),), says="gateway"),
    host_local("an address of another net", [NET], args=(("IP", "192.0.2.1"),), says="192.0.2.1"),
    host_local("an address that is none", [NET], args=(("IP", "home"),), says="home"),
    host_local("an argument nobody knows", [NET], args=(("COLOUR", "red"),), says="COLOUR"),
    host_local("a wish that is unclear", [NET], args=(("IgnoreUnknown", "maybe"),), says="maybe"),
]
STORE = [
    host_local("ADD twice", [NET], steps=("ADD", "ADD", "DEL")),
    host_local("once around", [bounded(rangeEnd="10.9.0.3")], steps=("ADD", "DEL") * 4),
    host_local("DEL without ADD", [NET], steps=("DEL", "CHECK")),
    host_local("routes and name servers", [NET], ipam=EVERY_KEY),
    host_local("routes in CNI 0.3.1", [NET], ipam=EVERY_KEY, version="0.3.1"),
    host_local("routes in CNI 0.2.0", [NET], [NET6], ipam=EVERY_KEY, version="0.2.0"),
    host_local("a file that is not there", [NET], ipam={"resolvConf": "DIR/none"}),
    host_local("a route that is none", [NET], ipam={"routes": [{"dst": "home"}]}),
    host_local("one address", [bounded(rangeEnd="10.9.0.2")], steps=("ADD", "CHECK", "DEL")),
    host_local("keys with letters that Go folds", [{"\u017fUBNET": "10.9.0.0/29"}]),
    host_local("name servers of another spelling", [NET], ipam={"re\u017folvCONF": "DIR/none"}),
    host_local("readiness", [NET], steps=("STATUS",)),
    case("host-local", "no ipam", says="ipam"),
]
STATIC = [
    static("two addresses", "192.0.2.5/24 192.0.2.1", "2001:DB8::5/64"),
    static("no addresses"),
    static("an address that is none", "home", says="home"),
    static("an address without prefix", "192.0.2.5", says="192.0.2.5"),
    static("a gateway that is none", "192.0.2.5/24 home"),
    static(
        "addresses by argument",
        "192.0.2.5/24",
        args=(
            ("IP", "198.51.100.5/24,203.0.113.5/24"),
            ("GATEWAY", "198.51.100.9,198.51.100.1,192.0.2.1"),
        ),
    ),
    static("a list by argument that ends with a comma", args=(("IP", "192.0.2.5/24,"),)),
    static("a gateway by argument and a comma", "192.0.2.5/24", args=(("GATEWAY", "192.0.2.1,"),)),
    static("arguments with spaces", args=(("IP", " 192.0.2.5/24 , 192.0.2.6/24"),)),
    static("IPv4 written as IPv6", "::ffff:192.0.2.5/120 ::ffff:192.0.2.1"),
    static("no address by argument", args=(("IP", "198.51.100.5"),), says="198.51.100.5"),
    static("no gateway by argument", args=(("GATEWAY", "home"),), says="home"),
    static("by capability", "192.0.2.5/24", runtimeConfig={"ips": ["198.51.100.5/24"]}),
    static("two of a family in CNI 0.2.0", "192.0.2.5/24", "192.0.2.6/24", version="0.2.0"),
    static("two families in CNI 0.2.0", "192.0.2.5/24", "2001:db8::6/64", version="0.2.0"),
    static("name servers and routes", ipam={"dns": DNS, "routes": [{"dst": "10.0.0.0/8"}]}),
    static("readiness", steps=("STATUS", "GC")),
    case("static", "no ipam", says="ipam"),
]


@pytest.mark.parametrize("case", [*RANGES, *REQUESTS, *STORE, *STATIC], ids=str)
def test_addresses_are_managed_alike(case: Case, cni_plugins: Path, tmp_path: Path) -> None:
    """Results, errors and files are the same after every step."""
    reference, ours = both(cni_plugins, tmp_path, lambda site: play(site, case))
    assert differences(reference, ours) == []
