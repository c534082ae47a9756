"""Cases for the VLANs of bridges: whole in a guest, elsewhere as far as the kernel has them."""

from typing import Any

from tests.reference.site.plugin_cases import DUAL_POOL, POOL, case, link
from tests.reference.site.plugin_site import Case

NO_CHECK = ("ADD", "DEL", "DEL")  # the reference's CHECK fails where no addresses are managed


def bridge(name: str, **keys: Any) -> Case:
    """Describe a bridge plugin, with the bridge br0 unless said otherwise."""
    return case("bridge", name, **({"bridge": "br0"} | keys))


def gateway(name: str, **keys: Any) -> Case:
    """Describe a VLAN's gateway, on a bridge with a MAC: else it would have its lowest port's."""
    made = (link("br0", "bridge"),)
    return bridge(name, **({"vlan": 100, "isGateway": True, "ipam": POOL, "host": made} | keys))


def trunk(name: str, *vlans: dict[str, int], **keys: Any) -> Case:
    """Describe a port in several VLANs, which has no addresses."""
    return bridge(name, vlanTrunk=list(vlans), **({"steps": NO_CHECK} | keys))


VLANS = [
    bridge("a VLAN", vlan=100, ipam=POOL),
    bridge("a VLAN beside the default", vlan=100, preserveDefaultVlan=True, steps=NO_CHECK),
    trunk("a trunk", {"minID": 10, "maxID": 13}, {"id": 20}),
    trunk("a trunk with a native VLAN", {"id": 20}, {"id": 5}, vlan=5),
    trunk("a trunk of VLAN 1 as well", {"id": 1}, {"id": 2}, preserveDefaultVlan=True),
    trunk("a trunk of nothing", {}),
    trunk("a trunk without members"),
]
VLAN_GATEWAYS = [  # only where the kernel has VLANs: the reference leaves much when it fails
    gateway("a VLAN's gateway", ipam=DUAL_POOL),
    gateway("a VLAN's gateway beside the default", preserveDefaultVlan=True),
    gateway("a VLAN's gateway of an MTU", mtu=1400),
]
REFUSED_VLANS = [
    bridge("a VLAN too high", vlan=4095, says="4095", steps=("ADD",)),
    trunk("a trunk backwards", {"minID": 9, "maxID": 8}, says="minID", steps=("ADD",)),
    trunk("a trunk without end", {"minID": 9}, says="maxID", steps=("ADD",)),
    trunk("a trunk without start", {"maxID": 9}, says="minID", steps=("ADD",)),
    trunk("a trunk to nowhere", {"id": 0}, says="id", steps=("ADD",)),
]
