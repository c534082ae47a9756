"""Plugins that change what another made, in process and by the reference programs: the same.

Of `vrf` only what needs no link of that kind; a guest has the rest.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.reference.site.chain_site import ChainCase, compare
from tests.reference.site.plugin_cases import DUAL_POOL, MAC, OTHER_MAC, POOL, STATIC, link

pytestmark = pytest.mark.reference

MACVLAN = {"type": "macvlan", "master": "eth1", "ipam": POOL}
PAIR = {"type": "bridge", "bridge": "br0", "ipam": POOL}
TWO_PER_FAMILY = {
    "type": "static",
    "addresses": [
        {"address": "192.0.2.5/24", "gateway": "192.0.2.1"},
        {"address": "198.51.100.5/24", "gateway": "198.51.100.1"},
        {"address": "2001:db8::5/64"},
        {"address": "2001:db8:1::5/64"},
    ],
    "routes": [
        {"dst": "203.0.113.0/24", "gw": "192.0.2.9", "priority": 7},
        {"dst": "203.0.113.0/25", "gw": "198.51.100.9"},
        {"dst": "2001:db8:2::/48", "gw": "2001:db8:1::9"},
    ],
}


def tuning(name: str, /, base: tuple[dict[str, Any], ...] = (MACVLAN,), **keys: Any) -> ChainCase:
    """Describe a tuned macvlan."""
    return _case("tuning", name, base, {"dataDir": "DIR/tuning"} | keys)


def bandwidth(name: str, /, base: tuple[dict[str, Any], ...] = (PAIR,), **keys: Any) -> ChainCase:
    """Describe a limited pair of links."""
    return _case("bandwidth", name, base, keys)


def sbr(name: str, /, ipam: dict[str, Any] = TWO_PER_FAMILY, **keys: Any) -> ChainCase:
    """Describe a macvlan with routing by source."""
    return _case("sbr", name, (MACVLAN | {"ipam": ipam},), keys)


def vrf(name: str, /, **keys: Any) -> ChainCase:
    """Describe a macvlan in a routing domain."""
    return _case("vrf", name, (MACVLAN,), keys)


def _case(
    kind: str, name: str, base: tuple[dict[str, Any], ...], keys: dict[str, Any]
) -> ChainCase:
    own = {"version", "host", "pod", "steps", "fails", "says", "tidy"}
    of_case = {key: keys.pop(key) for key in own & keys.keys()}
    if "says" in of_case:
        of_case["fails"] = True
    if isinstance(keys.get("args"), tuple):  # those of CNI_ARGS; a plugin's own are an object
        of_case["args"] = keys.pop("args")
    return ChainCase(f"{kind}: {name}", (*base, {"type": kind} | keys), **of_case)


def spoilt(by: str) -> tuple[str, ...]:
    """Return steps in which something else changes what ADD left."""
    return "ADD", by, "CHECK", "DEL"


REFUSED: dict[str, Any] = {"fails": True, "tidy": False}
FILTER = "net.ipv4.conf.IFNAME.arp_filter"
LONG_S: dict[str, Any] = {"\u017fy\u017fctl": {FILTER: "1"}}  # sysctl, to Go
HERE = {"interfaces": [{"name": "net1", "mac": MAC}]}
KEPT: dict[str, Any] = {  # a link that outlives its tuning
    "base": (),
    "prevResult": HERE,
    "pod": (link("net1", "veth peer name net1-peer address 02:00:00:00:02:02"),),
}
TUNING = [
    tuning("nothing at all"),
    tuning("a sysctl of the link", sysctl={FILTER: "1"}),
    tuning("a sysctl of the namespace", sysctl={"net.core.somaxconn": "1000"}),
    tuning("a sysctl with slashes", sysctl={"net/ipv4/conf/net1/arp_filter": "1"}),
    tuning("a sysctl of the machine", sysctl={"kernel.msgmax": "1"}, says="invalid net sysctl"),
    tuning("a sysctl that is not there", sysctl={"net.ipv4.nothing": "1"}, **REFUSED),
    tuning("a value that the kernel refuses", sysctl={FILTER: "many"}, **REFUSED),
    tuning("a number where text belongs", sysctl={FILTER: 1}, steps=("ADD",), **REFUSED),
    tuning("an MTU", mtu=1300),
    tuning("an MTU above the master's", mtu=9000, **REFUSED),
    tuning("a MAC", mac=MAC),
    tuning("a MAC that is none", mac="home", says="home", tidy=False),
    tuning("a MAC by argument", args=(("IgnoreUnknown", "1"), ("MAC", MAC))),
    tuning("an argument nobody knows", args=(("IP", "10.9.0.9"),), says="IP", steps=("ADD",)),
    tuning("a MAC by capability", mac=OTHER_MAC, runtimeConfig={"mac": MAC}),
    tuning("promiscuous", promisc=True),
    tuning("all multicast", allmulti=True),
    tuning("no multicast but its own", allmulti=False),
    tuning("no queue", txQLen=0),
    tuning("everything", mtu=1400, mac=MAC, promisc=True, allmulti=True, txQLen=7),
    tuning("keys in another case, and nulls", MTU=1400, mac=None, PROMISC=True, txqlen=9),
    tuning("keys with letters that Go folds", mTU=1400, **LONG_S),
    tuning("args go over all", mtu=1400, args={"cni": {"mtu": 1300, "promisc": True, "mac": MAC}}),
    tuning("args take a MAC back", mac=MAC, args={"cni": {"mac": ""}}),
    tuning("args set sysctls", sysctl={FILTER: "0"}, args={"cni": {"sysctl": {FILTER: "1"}}}),
    tuning("an MTU changed by another", mtu=1300, steps=spoilt("pod ip link set net1 mtu 1301")),
    tuning("a promiscuity of another", steps=spoilt("pod ip link set net1 promisc on")),
    tuning("a MAC changed", mac=MAC, steps=spoilt(f"pod ip link set net1 address {OTHER_MAC}")),
    tuning("a queue changed", txQLen=7, steps=spoilt("pod ip link set net1 txqlen 8")),
    tuning("a link that goes", mtu=1300, steps=("ADD", "pod ip link del net1", "CHECK")),
    tuning("puts back an MTU", mtu=1300, **KEPT),
    tuning("puts back a MAC", mac=MAC, **KEPT),
    tuning(
        "puts back everything", mtu=1300, mac=MAC, promisc=True, allmulti=True, txQLen=7, **KEPT
    ),
    tuning("puts back no multicast", allmulti=False, **KEPT),
    tuning("without a chain", base=(), mtu=1300, says="prevResult"),
    tuning("DEL with numbers that none can be", mtu=-1, txQLen=1 << 32, steps=("DEL",)),
    tuning("readiness", base=(), steps=("STATUS", "GC")),
    *(
        tuning(f"CNI {version}", mac=MAC, version=version)
        for version in ("0.2.0", "0.3.1", "0.4.0")
    ),
]

IFB = "bwp73decd76befe"  # of the network "net" and the container "c0ffee", by their hash
SLOW: dict[str, Any] = {"ingressRate": 8_000_000, "ingressBurst": 800_000}
BOTH = SLOW | {"egressRate": 16_000_000, "egressBurst": 1_600_000}
OFFER = {"bandwidth": BOTH}
NO_LIMITS: dict[str, Any] = dict.fromkeys(BOTH, 0)
BANDWIDTH = [
    bandwidth("what comes in", **SLOW),
    bandwidth("what goes out", egressRate=1_000_000, egressBurst=1_000_000),
    bandwidth("both ways", **BOTH),
    bandwidth("both ways, by capability", runtimeConfig=OFFER),
    bandwidth("keys go over the capability", runtimeConfig=OFFER, **SLOW),
    bandwidth("a key of zero goes over the capability", ingressRate=0, runtimeConfig=OFFER),
    bandwidth("no limit"),
    bandwidth("limits of zero", **NO_LIMITS),
    bandwidth("more than 4 GB a second", ingressRate=80_000_000_000, ingressBurst=8_000_000_000),
    bandwidth("a burst as runtimes have it", egressRate=10_000_000, egressBurst=2**31 - 1),
    bandwidth("odd numbers", ingressRate=1_234_567, ingressBurst=765_433),
    bandwidth("a rate alone", ingressRate=8_000_000, says="burst must also be set", steps=("ADD",)),
    bandwidth("a burst alone", egressBurst=8_000_000, says="rate must also be set", steps=("ADD",)),
    bandwidth("a burst too great", ingressRate=8, ingressBurst=1 << 36, says="4GB", steps=("ADD",)),
    bandwidth(
        "a rate beyond 64 bits", ingressRate=1 << 64, ingressBurst=8, steps=("ADD",), fails=True
    ),
    bandwidth("a negative rate", ingressRate=-8, ingressBurst=8, steps=("ADD",), fails=True),
    bandwidth("no pair of links", base=(MACVLAN,), says="no veth peer", **BOTH),
    bandwidth("without a chain", base=(), steps=("ADD", "CHECK", "DEL"), fails=True, **BOTH),
    bandwidth("DEL without ADD", steps=("DEL",), **BOTH),
    bandwidth("an ifb that goes", steps=("ADD", f"host ip link del {IFB}", "CHECK", "DEL"), **BOTH),
    bandwidth("readiness", base=(), steps=("STATUS", "GC"), **BOTH),
    *(bandwidth(f"CNI {version}", version=version, **BOTH) for version in ("0.3.0", "0.4.0")),
    bandwidth("CNI 0.2.0", base=(), version="0.2.0", steps=("ADD", "DEL"), fails=True, **BOTH),
]

ELSEWHERE = {"type": "static", "addresses": [{"address": "192.0.2.5/24"}]}
PLAIN = {"type": "sbr"}
BARE = {"type": "macvlan", "master": "eth1"}
SBR = [
    sbr("an address with a gateway", POOL),
    sbr("two families", DUAL_POOL),
    sbr("all kinds of routes", STATIC),
    sbr("two addresses of each family"),
    sbr("no gateway", ELSEWHERE),
    sbr("a table", table=1000),
    sbr("a table of its own number", table=20),
    sbr("a table of the kernel's choice", POOL, table=0, steps=("ADD", "DEL")),
    sbr("DEL with a table that none can be", POOL, table=-1, steps=("DEL",)),
    sbr("tables that others have", pod=("rule add from 192.0.2.77 lookup 100",)),
    sbr("rules of others", pod=("rule add from 192.0.2.5 lookup 20 priority 5",), table=1000),
    sbr("a link that goes", steps=("ADD", "pod ip link del net1", "DEL")),
    ChainCase("sbr: readiness", (PLAIN,), steps=("STATUS", "GC")),
    ChainCase("sbr: no address", (BARE, PLAIN), fails=True, says="no IP addresses"),
    ChainCase("sbr: without a chain", (PLAIN,), steps=("ADD",), fails=True),
    *(sbr(f"CNI {version}", POOL, version=version) for version in ("0.3.1", "0.4.0")),
]

RED = {"type": "vrf", "vrfname": "red"}
VRF = [
    vrf("no name", says="valid vrf name"),
    ChainCase("vrf: readiness", (RED,), steps=("STATUS", "GC")),
    ChainCase("vrf: without a chain", (RED,), steps=("ADD", "DEL"), fails=True),
    ChainCase("vrf: CNI 0.3.0", (RED,), version="0.3.0", steps=("ADD", "DEL"), fails=True),
]


@pytest.mark.parametrize("case", [*TUNING, *BANDWIDTH, *SBR, *VRF], ids=str)
def test_chains_come_and_go_alike(case: ChainCase, cni_plugins: Path, tmp_path: Path) -> None:
    """Results, kernel state and files are the same after every step."""
    assert compare(case, cni_plugins, tmp_path) == []
