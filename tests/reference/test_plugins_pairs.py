"""Plugins that make a pair of links (bridge, ptp), in process and by the reference programs.

Where the kernel's bridges know no VLANs, those are compared as far as the error; a guest has the
rest.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.reference.site.bridge_cases import NO_CHECK, REFUSED_VLANS, VLANS, bridge
from tests.reference.site.plugin_cases import (
    DNS,
    DUAL_POOL,
    MAC,
    OTHER_MAC,
    POOL,
    POOL_OF_NONE,
    STATIC,
    case,
    link,
)
from tests.reference.site.plugin_site import Case, both, play
from tests.reference.site.plugin_state import differences

pytestmark = pytest.mark.reference


def ptp(name: str, **keys: Any) -> Case:
    """Describe a ptp plugin, with an address unless said otherwise."""
    return case("ptp", name, **({"ipam": POOL} | keys))


TWO_OF_A_FAMILY = POOL | {"ranges": [[{"subnet": "10.9.0.0/24"}], [{"subnet": "10.8.0.0/24"}]]}
NO_GATEWAY = {"type": "static", "addresses": [{"address": "192.0.2.5/24"}]}
ALONE = {"type": "static", "addresses": [{"address": "192.0.2.5/32", "gateway": "192.0.2.1"}]}
ALONE_6 = {"type": "static", "addresses": [{"address": "2001:db8::5/128"}]}
WITH_DNS = {
    "type": "static",
    "addresses": [{"address": "192.0.2.5/24", "gateway": "192.0.2.1"}],
    "dns": DNS,
}
ROUTED = POOL | {
    "routes": [{"dst": "0.0.0.0/0"}, {"dst": "172.16.0.0/12", "gw": "10.9.0.1", "priority": 9}]
}
NFT = {"ipMasq": True, "ipMasqBackend": "nftables"}
MAGIC = {"ipMasq": True, "ipMasqBackend": "magic"}
THERE = (link("br0", "bridge"), "address add 10.7.0.1/24 dev br0")
THERE_IPV6 = (link("br0", "bridge"), "address add 2001:db8:9::99/64 dev br0 nodad")
WITH_MAC = (("IgnoreUnknown", "true"), ("MAC", OTHER_MAC))

BRIDGE = [
    bridge("an address", ipam=POOL),
    bridge("a bridge of the usual name", bridge=None, ipam=POOL),
    bridge("layer 2 only", steps=NO_CHECK),
    bridge("a link that is left down", disableContainerInterface=True, steps=NO_CHECK),
    bridge("addresses for a link left down", disableContainerInterface=True, ipam=POOL),
    bridge("a bridge that is there", host=(link("br0", "bridge"),), ipam=POOL, mtu=1400),
    bridge("a link in the bridge's place", host=(link("br0", "veth"),), ipam=POOL, says="br0"),
    bridge("an MTU", mtu=1400, ipam=POOL),
    bridge("an MTU below zero", mtu=-1, ipam=POOL),
    bridge("an MTU that no number can be", mtu=1 << 32, ipam=POOL, steps=("ADD",)),
    bridge("a bridge without a name", bridge="", ipam=POOL, steps=("ADD",)),
    bridge("a bridge of a name too long", bridge="b" * 16, ipam=POOL, steps=("ADD",)),
    bridge("hairpin", hairpinMode=True, ipam=POOL),
    bridge("an isolated port", portIsolation=True, ipam=POOL),
    bridge("promiscuous", promiscMode=True, ipam=POOL),
    bridge("hairpin and promiscuous", hairpinMode=True, promiscMode=True, says="hairpin"),
    bridge("name servers", ipam=POOL, dns=DNS),
    bridge("name servers, but no addresses", dns=DNS, steps=NO_CHECK),
    bridge("no name servers in spite of others", ipam=WITH_DNS, dns={"nameservers": []}),
    bridge("nothing said of name servers", ipam=WITH_DNS, dns={"domain": "", "search": None}),
    bridge("no address left", ipam=POOL_OF_NONE, says="no IP addresses", tidy=False),
    bridge("ADD twice", ipam=POOL, steps=("ADD", "ADD", "DEL"), tidy=False),
    bridge("readiness", ipam=POOL, steps=("STATUS",)),
    bridge("readiness without addresses", steps=("STATUS",)),
    bridge("CNI 0.3.1", version="0.3.1", ipam=POOL),
    bridge("CNI 0.4.0", version="0.4.0", ipam=POOL, isGateway=True),
    bridge("a MAC by capability", runtimeConfig={"mac": MAC}, args=WITH_MAC, ipam=POOL),
    bridge("a MAC by argument", args=WITH_MAC, ipam=POOL),
]
GATEWAY = [
    bridge("a gateway", isGateway=True, ipam=POOL),
    bridge("a gateway of two families", isGateway=True, ipam=DUAL_POOL),
    bridge("a default gateway", isDefaultGateway=True, ipam=DUAL_POOL),
    bridge("two default routes", isDefaultGateway=True, ipam=STATIC, tidy=False),
    bridge("a gateway that is not configured", isGateway=True, ipam=NO_GATEWAY),
    bridge("two addresses", isGateway=True, ipam=TWO_OF_A_FAMILY, says="br0", tidy=False),
    bridge("a gateway beside a single address", isGateway=True, ipam=ALONE_6),
    bridge("two addresses by force", isGateway=True, forceAddress=True, ipam=TWO_OF_A_FAMILY),
    bridge("another address", isGateway=True, ipam=POOL, host=THERE, says="br0", tidy=False),
    bridge("another by force", isGateway=True, forceAddress=True, ipam=POOL, host=THERE),
    bridge("another of IPv6", isGateway=True, ipam=DUAL_POOL, host=THERE_IPV6, tidy=False),
    bridge("detection of duplicates", isGateway=True, enabledad=True, ipam=DUAL_POOL),
]
RULES = [
    bridge("masquerading", ipam=DUAL_POOL, isGateway=True, **NFT),
    bridge("masquerading by nobody", ipam=POOL, says="magic", tidy=False, **MAGIC),
    bridge("frames of its own MAC only", macspoofchk=True, ipam=POOL),
    ptp("masquerading", **NFT),
    ptp("masquerading of two families", ipam=DUAL_POOL, **NFT),
    ptp("masquerading by nobody", says="magic", tidy=False, **MAGIC),
]
PTP = [
    ptp("an address"),
    ptp("two families", ipam=DUAL_POOL),
    ptp("two addresses of a family", ipam=TWO_OF_A_FAMILY),
    ptp("an MTU", mtu=1400),
    ptp("an MTU below zero", mtu=-1),
    ptp("routes", ipam=ROUTED),
    ptp("name servers of the address management", ipam=WITH_DNS),
    ptp("name servers of its own", ipam=WITH_DNS, dns={"nameservers": ["192.0.2.54"]}),
    ptp("no name servers in spite of others", ipam=WITH_DNS, dns={"search": []}),
    ptp("an address without a gateway", ipam=NO_GATEWAY, tidy=False),
    ptp("an address that is alone", ipam=ALONE, tidy=False),
    ptp("no address left", ipam=POOL_OF_NONE, says="no IP addresses"),
    ptp("readiness", steps=("STATUS",)),
    ptp("readiness without addresses", ipam=None, steps=("STATUS",)),
    ptp("CNI 0.3.0", version="0.3.0"),
    ptp("CNI 0.2.0", version="0.2.0", ipam=DUAL_POOL),
    ptp("DEL without ADD", steps=("DEL", "ADD", "DEL")),
]


@pytest.mark.parametrize("case", [*BRIDGE, *GATEWAY, *VLANS, *REFUSED_VLANS, *RULES, *PTP], ids=str)
def test_pairs_come_and_go_alike(case: Case, cni_plugins: Path, tmp_path: Path) -> None:
    """Results, kernel state, rules and leases are the same after every step."""
    reference, ours = both(cni_plugins, tmp_path, lambda site: play(site, case))
    assert differences(reference, ours) == []
