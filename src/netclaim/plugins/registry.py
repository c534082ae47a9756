"""The plugin types that we serve ourselves: the one place where they are put together.

Promise: types that are named to be programs stay programs, also where ours call them.
Limit: a new type takes a line here; nothing else knows them all.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netclaim.cni import Plugins
from netclaim.errors import RequestError
from netclaim.plugins.bandwidth import Bandwidth
from netclaim.plugins.bridge import Bridge
from netclaim.plugins.dummy import Dummy
from netclaim.plugins.engine import InProcess
from netclaim.plugins.host_device import HostDevice
from netclaim.plugins.host_local import HostLocal
from netclaim.plugins.ipam import Ipam
from netclaim.plugins.ipvlan import Ipvlan
from netclaim.plugins.lent_links import LentLinks
from netclaim.plugins.macvlan import Macvlan
from netclaim.plugins.plugin import Plugin
from netclaim.plugins.program import Program
from netclaim.plugins.ptp import Ptp
from netclaim.plugins.sbr import Sbr
from netclaim.plugins.static import Static
from netclaim.plugins.tap import Tap
from netclaim.plugins.tuning import Tuning
from netclaim.plugins.vlan import Vlan
from netclaim.plugins.vrf import Vrf

__all__ = ["PLUGIN_TYPES", "STATE_DIR", "in_process_plugins", "lent_links"]

STATE_DIR: Final = Path("/run/netclaim/plugins")  # which links are lent; nobody asks after a reboot


@dataclass(frozen=True, slots=True)
class Parts:
    """What plugins are made of."""

    ipam: Ipam  # whoever manages addresses
    programs: Plugins  # for what only a program can do
    state_dir: Path


IPAM_MAKERS: Final[Mapping[str, Callable[[], Plugin]]] = {
    "host-local": HostLocal,
    "static": Static,
}
MAKERS: Final[Mapping[str, Callable[[Parts], Plugin]]] = {
    "bandwidth": lambda _: Bandwidth(),
    "bridge": lambda parts: Bridge(parts.ipam, Program("bridge", parts.programs)),
    "dummy": lambda parts: Dummy(parts.ipam),
    "host-device": lambda parts: HostDevice(parts.ipam, lent_links(parts.state_dir)),
    "ipvlan": lambda parts: Ipvlan(parts.ipam),
    "macvlan": lambda parts: Macvlan(parts.ipam),
    "ptp": lambda parts: Ptp(parts.ipam, Program("ptp", parts.programs)),
    "sbr": lambda _: Sbr(),
    "tap": lambda parts: Tap(parts.ipam, Program("tap", parts.programs)),
    "tuning": lambda _: Tuning(),
    "vlan": lambda parts: Vlan(parts.ipam),
    "vrf": lambda _: Vrf(),
}

PLUGIN_TYPES: Final = frozenset({*IPAM_MAKERS, *MAKERS})


def lent_links(state_dir: Path) -> LentLinks:
    """The links that our host-device with this `state_dir` has lent."""
    return LentLinks(state_dir / "host-device")


def in_process_plugins(
    programs: Plugins,
    *,
    exec_types: Collection[str] = (),
    state_dir: Path = STATE_DIR,
    in_host_netns: bool = False,
) -> Mapping[str, Plugins]:
    """Return a server for each plugin type that we have, apart from `exec_types`.

    `programs` serve what ours call and we do not have. `state_dir` has to survive this process.
    `in_host_netns` lets a container have the network namespace that we are in.
    """
    if unknown := set(exec_types) - PLUGIN_TYPES:
        raise RequestError(
            f"{', '.join(sorted(unknown))}: no such type runs in process; "
            f"these do: {', '.join(sorted(PLUGIN_TYPES))}",
            path=("exec-plugins",),
        )

    managing = {name: make() for name, make in IPAM_MAKERS.items() if name not in exec_types}
    parts = Parts(Ipam(managing, programs), programs, state_dir)
    making = {name: make(parts) for name, make in MAKERS.items() if name not in exec_types}
    return {
        name: InProcess(plugin, in_host_netns=in_host_netns)
        for name, plugin in (managing | making).items()
    }
