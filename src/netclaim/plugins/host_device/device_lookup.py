"""Find the host's link that a host-device configuration means.

Promise: the keys and their order are the reference plugin's: `device`, `hwaddr`, `kernelpath`,
`pciBusID` (which the capability `deviceID` overrides, where it is a PCI function), an auxiliary
device by `deviceID`.
Limit: sysfs shows the namespace in which it was mounted; that has to be the host's.
"""

from pathlib import Path
from typing import Annotated, Final

from netclaim.kernel import Link, Rtnl, find_link, list_links
from netclaim.plugins.engine.conf import Conf, NetConf
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.host_device.vf_keys import VfKeys
from netclaim.plugins.shared.mac import MacOffer, chosen_mac

# Drivers that give a card to a program: there is no link then.
USERSPACE_DRIVERS: Final = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio"})
KEPT: Final = ("addresses", "routes", "neighbors", "rules")  # what can follow a link
DEVICES: Final = "/sys/devices/"


class DeviceOffer(MacOffer, frozen=True):
    """What the runtime offers by capability."""

    device_id: Annotated[str, KeyRule("the device, by a capability", name="deviceID")] = ""


class HostDeviceConf(NetConf, frozen=True):
    """The keys of host-device."""

    device: Annotated[str, KeyRule("the link")] = ""
    hwaddr: Annotated[str, KeyRule("the link, by its MAC", check=chosen_mac)] = ""
    kernelpath: Annotated[str, KeyRule("the link, by its path in sysfs")] = ""
    pci_bus_id: Annotated[str, KeyRule("the link, by its PCI address", name="pciBusID")] = ""
    keep: Annotated[
        tuple[Annotated[str, KeyRule("", choices=KEPT)], ...],
        KeyRule(
            "what the node has on the link and the container gets too: some of "
            "`addresses`, `routes`, `neighbors`, `rules`"
        ),
    ] = ()
    vfio: Annotated[
        bool,
        KeyRule("whether a program gets its hardware (`vfio-pci`), in place of an interface"),
    ] = False
    vf: Annotated[VfKeys, KeyRule("what the card of a virtual function decides about it")] = (
        VfKeys()
    )
    runtime_config: DeviceOffer = DeviceOffer()


class Target(Conf, frozen=True):
    """The device that is meant."""

    conf: HostDeviceConf
    pci: str = ""
    auxiliary: str = ""
    in_userspace: bool = False  # a program has the card, and there is no link


def read_target(conf: HostDeviceConf, sys: Path) -> Target:
    """Say which device is meant; PluginError where none is, or it is not there."""
    pci, auxiliary = conf.pci_bus_id, ""
    offered = conf.runtime_config.device_id
    if offered:
        if (sys / "bus/pci/devices" / offered).exists():
            pci = offered
        elif (sys / "bus/auxiliary/devices" / offered).exists():
            pci, auxiliary = "", offered
        else:
            raise PluginError(f"the device {offered} of the capability deviceID does not exist")
    if not (conf.device or conf.hwaddr or conf.kernelpath or pci or auxiliary):
        raise PluginError('specify the link by "device", "hwaddr", "kernelpath" or "pciBusID"')
    return Target(conf, pci, auxiliary, bool(pci) and _driver(pci, sys) in USERSPACE_DRIVERS)


async def find_target(host: Rtnl, target: Target, sys: Path) -> Link:
    """Look the link up."""
    conf = target.conf
    if conf.hwaddr and not conf.device:
        mac = chosen_mac(conf.hwaddr)
        link = next((link for link in await list_links(host) if link.mac == mac), None)
    else:
        link = await find_link(host, conf.device or _name_in(_net_directory(target, sys)))
    if link is None:
        raise PluginError("the host has no such link")
    return link


def _net_directory(target: Target, sys: Path) -> Path:
    path = target.conf.kernelpath
    if path:
        if not path.startswith(DEVICES) or ".." in Path(path).parts:
            raise PluginError(f"kernelpath {path!r} must begin with {DEVICES}")
        return sys / path.removeprefix("/sys/") / "net"
    if target.auxiliary:
        return sys / "bus/auxiliary/devices" / target.auxiliary / "net"
    device = sys / "bus/pci/devices" / target.pci
    by_virtio = sorted(device.glob("virtio*/net"))
    return by_virtio[0] if by_virtio and not (device / "net").exists() else device / "net"


def _name_in(directory: Path) -> str:
    try:
        names = sorted(entry.name for entry in directory.iterdir())
    except OSError as error:
        raise PluginError(f"the host has no such link: {error}") from error
    if not names:
        raise PluginError(f"the host has no such link: {directory} is empty")
    return names[0]


def _driver(pci: str, sys: Path) -> str:
    try:
        return (sys / "bus/pci/devices" / pci / "driver").resolve(strict=True).name
    except OSError as error:
        raise PluginError(f"PCI function {pci}: {error}") from error
