"""The plugin types that we serve ourselves: the one place where they are put together.

Promise: types that are named to be programs stay programs, also where ours call them.
Limit: a new type takes a line here, and a row in the network driver's policy if claims may use it.
What there is to know of a type beside what it does, its class says.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netclaim.cni import Plugins
from netclaim.errors import RequestError
from netclaim.model.pools.named_pools import POOLED
from netclaim.plugins.bridge.bridge import Bridge
from netclaim.plugins.dhcp.dhcp import Dhcp
from netclaim.plugins.dhcp.lease_records import LeaseRecords
from netclaim.plugins.dhcp.terms import LeaseTerms
from netclaim.plugins.engine.engine import InProcess
from netclaim.plugins.engine.plugin import Plugin
from netclaim.plugins.engine.program import Program
from netclaim.plugins.host_device.host_device import HostDevice
from netclaim.plugins.host_device.lent_links import LentLinks
from netclaim.plugins.host_local.host_local import HostLocal
from netclaim.plugins.link_settings.link_settings import LinkSettings
from netclaim.plugins.shared.gateway_plugin import GatewayPlugin
from netclaim.plugins.shared.ipam import Ipam
from netclaim.plugins.shared.main_plugin import MainPlugin
from netclaim.plugins.tuning.tuning import Tuning
from netclaim.plugins.types.bandwidth import Bandwidth
from netclaim.plugins.types.dummy import Dummy
from netclaim.plugins.types.ipvlan import Ipvlan
from netclaim.plugins.types.macvlan import Macvlan
from netclaim.plugins.types.pooled import Pooled
from netclaim.plugins.types.ptp import Ptp
from netclaim.plugins.types.sbr import Sbr
from netclaim.plugins.types.static import Static
from netclaim.plugins.types.tap import Tap
from netclaim.plugins.types.vlan import Vlan
from netclaim.plugins.types.vrf import Vrf

STATE_DIR: Final = Path("/run/netclaim/plugins")  # which links are lent; nobody asks after a reboot


@dataclass(frozen=True, slots=True)
class Parts:
    """What plugins are made of."""

    ipam: Ipam  # what manages addresses
    programs: Plugins  # for what only a program can do
    state_dir: Path


LINK_SETTINGS: Final = "link-settings"  # what parameters beside a network become
IPAM_CLASSES: Final[Mapping[str, type[Plugin]]] = {
    "dhcp": Dhcp,
    "host-local": HostLocal,
    POOLED: Pooled,
    "static": Static,
}
PLUGIN_CLASSES: Final[Mapping[str, type[Plugin]]] = {
    "bandwidth": Bandwidth,
    "bridge": Bridge,
    "dummy": Dummy,
    "host-device": HostDevice,
    "ipvlan": Ipvlan,
    LINK_SETTINGS: LinkSettings,
    "macvlan": Macvlan,
    "ptp": Ptp,
    "sbr": Sbr,
    "tap": Tap,
    "tuning": Tuning,
    "vlan": Vlan,
    "vrf": Vrf,
}

PLUGIN_TYPES: Final = frozenset({*IPAM_CLASSES, *PLUGIN_CLASSES})
# How alike a type must be to have been meant by an unknown one: portmap is not tap.
ALIKE_TYPES: Final = 0.8


def _make(name: str, parts: Parts) -> Plugin:
    """Put a plugin together: most take what manages addresses, some a program too."""
    kind = PLUGIN_CLASSES[name]
    if issubclass(kind, HostDevice):
        return kind(parts.ipam, lent_links(parts.state_dir))
    if issubclass(kind, GatewayPlugin | Tap):
        return kind(parts.ipam, Program(name, parts.programs))
    return kind(parts.ipam) if issubclass(kind, MainPlugin) else kind()


def _make_manager(name: str, state_dir: Path, terms: LeaseTerms) -> Plugin:
    """Put together what manages addresses."""
    kind = IPAM_CLASSES[name]
    return kind(lease_records(state_dir), terms) if issubclass(kind, Dhcp) else kind()


def lease_records(state_dir: Path) -> LeaseRecords:
    """The DHCP leases that our dhcp with this `state_dir` has recorded."""
    return LeaseRecords(state_dir / "dhcp")


def lent_links(state_dir: Path) -> LentLinks:
    """The links that our host-device with this `state_dir` has lent."""
    return LentLinks(state_dir / "host-device")


def in_process_plugins(
    programs: Plugins,
    *,
    exec_types: Collection[str] = (),
    state_dir: Path = STATE_DIR,
    in_host_netns: bool = False,
    terms: LeaseTerms | None = None,
) -> Mapping[str, Plugins]:
    """Return a server for each plugin type that we have, apart from `exec_types`.

    `programs` serve what ours call and we do not have. `state_dir` has to survive this process.
    `in_host_netns` lets a container have the network namespace that we are in. `terms` are of
    the one who renews DHCP leases; without them, none is taken.
    """
    if unknown := set(exec_types) - PLUGIN_TYPES:
        raise RequestError(
            f"{', '.join(sorted(unknown))}: not a type that runs in process; "
            f"those are {', '.join(sorted(PLUGIN_TYPES))}",
            path=("exec-plugins",),
        )

    managing = {
        name: _make_manager(name, state_dir, terms or LeaseTerms())
        for name in IPAM_CLASSES
        if name not in exec_types or name == POOLED  # of which there is no program
    }
    parts = Parts(Ipam(managing, programs), programs, state_dir)
    making = {
        name: _make(name, parts)
        for name in PLUGIN_CLASSES
        if name not in exec_types or name == LINK_SETTINGS  # of which there is no program either
    }
    return {
        name: InProcess(plugin, in_host_netns=in_host_netns)
        for name, plugin in (managing | making).items()
    }
