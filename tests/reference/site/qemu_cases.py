"""Cases for the kinds of link that the machines which run tests often lack, and for bonds.

A few of other kinds are among them: the guest's kernel is older than most, and some things were
different then.
"""

from typing import Any

from tests.reference.site.bridge_cases import VLAN_GATEWAYS, VLANS
from tests.reference.site.chain_site import ChainCase, chain_of
from tests.reference.site.plugin_cases import DUAL_POOL, MAC, POOL, STATIC, case, link
from tests.reference.site.plugin_site import Case

# What a guest loads for them.
MODULES = (
    *("veth", "bridge", "macvlan", "tun", "ifb"),
    *("dummy", "ipvlan", "8021q", "vrf", "bonding"),
    *("sch_tbf", "sch_ingress", "cls_u32", "act_mirred"),
)

POD_MASTER = (link("dev0", "dummy"), "link set dev0 up")
BOND = (
    "link add bond7 address 02:00:00:00:07:01 type bond mode active-backup",
    "link set eth1 down",
    "link set eth1 master bond7",
    "link set bond7 up",
)
DUMMY = (link("dev0", "dummy"),)
TAKEN = (link("net1", "dummy"),)
ONCE = ("ADD", "CHECK", "DEL")  # a second DEL is compared where it is quicker
MASTER_RESULT = {"interfaces": [{"name": "eth1", "mac": "02:00:00:00:01:01"}]}


RED = {"type": "vrf", "vrfname": "red"}
HERE = {"prevResult": {"interfaces": [{"name": "net1"}]}}
WITH_IPV6 = (  # made by hand, without the setting that plugins make to keep them
    link("net1", "veth peer name net1-peer address 02:00:00:00:02:02"),
    "link set net1-peer up",
    "link set net1 up",
    "address add 192.0.2.5/24 dev net1",
    "address add 2001:db8::5/64 dev net1",
    "address add 2001:db8:1::5/128 dev net1 nodad",
    "route add 2001:db8:2::/48 via 2001:db8::9 metric 7",
    "route add 198.51.100.0/24 via 192.0.2.9",
)


def ipvlan(name: str, **keys: Any) -> Case:
    """Describe an ipvlan, on eth1 unless said otherwise."""
    return case("ipvlan", name, **({"master": "eth1", "ipam": POOL, "steps": ONCE} | keys))


def vlan(name: str, **keys: Any) -> Case:
    """Describe a VLAN, 5 on eth1 unless said otherwise."""
    of_all = {"master": "eth1", "vlanId": 5, "ipam": POOL, "steps": ONCE}
    return case("vlan", name, **(of_all | keys))


def vrf(name: str, ipam: dict[str, Any] = POOL, /, **keys: Any) -> ChainCase:
    """Describe a macvlan in the routing domain red."""
    own = {"pod", "steps", "fails", "tidy"}
    of_case = {key: keys.pop(key) for key in own & keys.keys()}
    macvlan = {"type": "macvlan", "master": "eth1", "ipam": ipam}
    return ChainCase(f"vrf: {name}", (macvlan, RED | keys), **of_case)


LINKS = [
    ipvlan("an address"),
    ipvlan("mode l3", mode="l3"),
    ipvlan("mode l3s", mode="l3s"),
    ipvlan("two families and all kinds of routes", ipam=STATIC),
    ipvlan("an MTU", mtu=1400),
    ipvlan("an MTU above the master's", mtu=1501),
    ipvlan("an MTU below zero", mtu=-1),
    ipvlan("the link of an earlier plugin as master", master="", prevResult=MASTER_RESULT),
    ipvlan("a master in the container", master="dev0", linkInContainer=True, pod=POD_MASTER),
    ipvlan("a name that the host has", host=TAKEN),
    vlan("an address"),
    vlan("an MTU", mtu=1400),
    vlan("the id 0", vlanId=0),
    vlan("a master in the container", master="dev0", linkInContainer=True, pod=POD_MASTER),
    case("dummy", "two families and all kinds of routes", ipam=STATIC, steps=ONCE),
    case("macvlan", "a name that the host has", master="eth1", host=TAKEN, steps=ONCE),
    case("bridge", "an address", bridge="br0", isGateway=True, ipam=DUAL_POOL, steps=ONCE),
    case("host-device", "a dummy", device="dev0", ipam=POOL, host=DUMMY, steps=ONCE),
]
BONDS = [
    case("macvlan", "on a bond", master="bond7", mac=MAC, ipam=POOL, host=BOND, steps=ONCE),
    ipvlan("on a bond", master="bond7", host=BOND),
    vlan("on a bond", master="bond7", host=BOND),
]
REFUSED = [
    ipvlan("a name that the container has", pod=TAKEN, steps=("ADD",), tidy=False),
    vlan("an id that is taken", host=("link add link eth1 name eth1.5 type vlan id 5",)),
    case("host-device", "a bond", device="bond7", ipam=POOL, host=BOND, steps=("ADD",)),
]
OTHER_DOMAIN = ("link add blue type vrf table 1",)
SAME_DOMAIN = ("link add red type vrf table 5", "link add other type dummy")
OTHERS_IN_IT = (*SAME_DOMAIN, "link set other master red")
VRF = [
    vrf("a domain"),
    vrf("a table", table=1234),
    vrf("two families and all kinds of routes", STATIC),
    vrf("a table beside another's", pod=OTHER_DOMAIN),
    vrf("a domain that is there", pod=SAME_DOMAIN),
    vrf("a domain with others in it", pod=OTHERS_IN_IT, table=5, steps=ONCE),
    vrf("a domain with another table", pod=SAME_DOMAIN, table=6, fails=True, tidy=False),
    vrf("a name that is no domain's", pod=(link("red", "dummy"),), fails=True, tidy=False),
    ChainCase("vrf: IPv6 addresses that the kernel drops", (RED | HERE,), pod=WITH_IPV6),
    vrf("a link that left", steps=("ADD", "pod ip link set net1 nomaster", "CHECK", "DEL")),
    vrf("a domain that goes", steps=("ADD", "pod ip link del red", "CHECK", "DEL")),
]

CASES = [
    *(chain_of(each) for each in [*LINKS, *BONDS, *VLANS, *VLAN_GATEWAYS]),
    *(chain_of(each, fails=True) for each in REFUSED),
    *VRF,
]
