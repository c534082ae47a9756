"""The configuration of the bridge plugin.

Promise: a `BridgeConf` from `read_bridge` makes sense as a whole.
Limit: No I/O.
"""

from typing import Annotated

from netclaim.cni.call import check_ifname
from netclaim.kernel.requests.bridge import PortVlan
from netclaim.plugins.engine.conf import MTU_MAX, VLAN_ID_MAX, Conf, Mtu
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Invocation
from netclaim.plugins.shared.mac import MacOffer
from netclaim.plugins.shared.masquerade import MasqueradeConf

NATIVE_VLAN = 1  # of a trunk, where no other is named


class TrunkConf(Conf, frozen=True):
    """VLANs of a trunk: one, or all between two."""

    min_id: Annotated[
        int | None, KeyRule("the first VLAN", name="minID", low=1, high=VLAN_ID_MAX)
    ] = None
    max_id: Annotated[
        int | None, KeyRule("the last VLAN", name="maxID", low=1, high=VLAN_ID_MAX)
    ] = None
    id: Annotated[int | None, KeyRule("a single VLAN", low=1, high=VLAN_ID_MAX)] = None

    def refuse(self) -> None:
        """Raise where the two ends do not go together."""
        _trunk(self)


class Args(Conf, frozen=True):
    """What stands under `args`."""

    cni: MacOffer = MacOffer()


class RulesConf(MasqueradeConf, frozen=True):
    """The keys that say which packet rules there are: all that DEL needs to know."""

    macspoofchk: Annotated[bool, KeyRule("drop frames from other MAC addresses")] = False


class BridgeConf(RulesConf, frozen=True):
    bridge: Annotated[str, KeyRule("the bridge's name", check=check_ifname)] = "cni0"
    is_gateway: Annotated[bool, KeyRule("the bridge has the gateway's address")] = False
    is_default_gateway: Annotated[bool, KeyRule("the bridge is also the default gateway")] = False
    force_address: Annotated[bool, KeyRule("replace the bridge's other addresses")] = False
    mtu: Annotated[Mtu, KeyRule("the MTU of both ends; 0: the kernel's default", high=MTU_MAX)] = 0
    hairpin_mode: Annotated[bool, KeyRule("frames may leave by the port they came from")] = False
    promisc_mode: Annotated[bool, KeyRule("the bridge also receives frames for others")] = False
    vlan: Annotated[int, KeyRule("the port's VLAN; 0: none", low=0, high=VLAN_ID_MAX)] = 0
    vlan_trunk: Annotated[
        tuple[TrunkConf, ...] | None, KeyRule("further VLANs of the port, tagged")
    ] = None
    preserve_default_vlan: Annotated[bool, KeyRule("the port keeps VLAN 1")] = False
    enabledad: Annotated[bool, KeyRule("wait for duplicate address detection")] = False
    disable_container_interface: Annotated[bool, KeyRule("leave the interface down")] = False
    port_isolation: Annotated[bool, KeyRule("ports reach the bridge, but not each other")] = False
    args: Args = Args()
    runtime_config: MacOffer = MacOffer()

    def refuse(self) -> None:
        """Raise where keys contradict each other."""
        port_vlans(self)
        if self.ipam.type and self.disable_container_interface:
            raise ConfError(
                "disableContainerInterface leaves the interface down; remove it or ipam"
            )
        if self.hairpin_mode and self.promisc_mode:
            raise ConfError("hairpinMode and promiscMode exclude each other")

    @property
    def gateway(self) -> bool:
        """Whether the bridge is the containers' gateway."""
        return self.is_gateway or self.is_default_gateway

    @property
    def vlan_filtering(self) -> bool:
        """Whether the bridge has to keep VLANs apart."""
        return self.vlan != 0 or self.vlan_trunk is not None


def read_bridge(invocation: Invocation) -> BridgeConf:
    """Read the configuration for ADD; PluginError where keys contradict each other."""
    conf = invocation.conf(BridgeConf)
    check_ifname(conf.bridge, path=("bridge",))  # of some names the kernel would make others
    conf.refuse()
    return conf


def port_vlans(conf: BridgeConf) -> list[PortVlan]:
    """Return the VLANs of the container's port, the native one among them."""
    if not 0 <= conf.vlan <= VLAN_ID_MAX:
        raise ConfError(f"vlan {conf.vlan} is not between 0 and {VLAN_ID_MAX}")
    trunk = sorted({vlan for item in conf.vlan_trunk or () for vlan in _trunk(item)})
    native = conf.vlan or (NATIVE_VLAN if trunk else 0)
    if not native:
        return []
    # The native one comes last for a trunk without one of its own: it may be part of the trunk.
    tagged = [PortVlan(vlan) for vlan in trunk]
    own = PortVlan(native, native=True)
    return [own, *tagged] if conf.vlan else [*tagged, own]


def _trunk(item: TrunkConf) -> set[int]:
    vlans: set[int] = set()
    if (item.min_id is None) is not (item.max_id is None):
        missing = "minID" if item.min_id is None else "maxID"
        raise ConfError(f"vlanTrunk: minID and maxID go together, {missing} is missing")
    if item.min_id is not None and item.max_id is not None:
        first, last = _vlan_id(item.min_id, "minID"), _vlan_id(item.max_id, "maxID")
        if last < first:
            raise ConfError("vlanTrunk: minID is above maxID")
        vlans.update(range(first, last + 1))
    if item.id is not None:
        vlans.add(_vlan_id(item.id, "id"))
    return vlans


def _vlan_id(number: int, key: str) -> int:
    if not 0 < number <= VLAN_ID_MAX:
        raise ConfError(f"vlanTrunk: {key} {number} is not between 1 and {VLAN_ID_MAX}")
    return number
