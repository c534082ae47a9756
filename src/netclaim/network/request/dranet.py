"""dranet's dialect: the whole link goes into the pod, with addresses and settings of its own.

    interface: {name: net1, addresses: [10.10.1.7/24], mtu: 9000}
    routes: [{destination: 10.20.0.0/16, gateway: 10.10.1.1}]
    ethtool: {features: {tcp-segmentation-offload: false}}

It becomes a network of `host-device`, with `tuning` behind it where it needs that, and the
parameters of the same names. With `dhcp: true`, a server gives the address. Without either, what
the node has on the link follows it.
Promise: each value is read by the code that reads it in our own dialect, and a mistake has the path
at which it was written; what netclaim has nothing for is refused.
Limit: without a name, the interface gets its device's; dranet takes that of the link. No I/O.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from netclaim.errors import RequestError
from netclaim.manifests.near import did_you_mean
from netclaim.network.request.ifnames import read_ifname
from netclaim.paths import Path
from netclaim.plugins.engine.unknown_keys import unknown_keys
from netclaim.plugins.host_device.device_lookup import KEPT

NETWORK: Final = "dranet"  # what the network of such a claim is called
NUMBERED: Final = "net%d"  # for links whose own names cannot be used, or of which there are several
INTERFACE: Final = "interface"
BESIDE: Final = ("routes", "rules", "neighbors", "ethtool")  # as in our own dialect
# Keys of `interface` that are netclaim's own parameters, with our names.
SAME: Final[Mapping[str, str]] = {
    "mtu": "mtu",
    "hardwareAddr": "mac",
    "addresses": "ips",
    "vrf": "vrf",
    "gsoMaxSize": "gsoMaxSize",
    "groMaxSize": "groMaxSize",
    "gsoIPv4MaxSize": "gsoIPv4MaxSize",
    "groIPv4MaxSize": "groIPv4MaxSize",
    "disableEbpfPrograms": "disableEbpfPrograms",
}
# Those that are sysctls of the interface, by families.
SYSCTLS: Final[Mapping[str, tuple[str, ...]]] = {
    "forwarding": ("net.ipv4.conf.IFNAME.forwarding", "net.ipv6.conf.IFNAME.forwarding"),
    "arpIgnore": ("net.ipv4.conf.IFNAME.arp_ignore",),
    "arpAnnounce": ("net.ipv4.conf.IFNAME.arp_announce",),
}
TUNED: Final = ("mtu", *SYSCTLS)
# What we have nothing for, and what to do.
REFUSED: Final[Mapping[str, str]] = {
    "ipvlan": "write apiVersion, kind, and a config with an ipvlan plugin instead",
    "type": "write apiVersion, kind, and a config with a plugin of that type instead",
}
REFUSED_BESIDE: Final[Mapping[str, str]] = {
    "profile": "netclaim asks no webhook for addresses; write them, or use an AddressPool",
}
PASSTHROUGH: Final = "Passthrough"  # of `type`: what we do in any case
DHCP: Final = "dhcp"
KNOWN: Final = ("name", DHCP, *SAME, *SYSCTLS, *REFUSED)


@dataclass(slots=True)
class Translated:
    """The parameters in our own words, and where each was written."""

    values: dict[str, Any] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)

    def put(self, key: str, value: object, path: Path) -> None:
        """Enter one of our parameters."""
        self.values[key] = value
        self.paths[key] = path


def is_dranets(parameters: Mapping[str, Any]) -> bool:
    """Whether parameters without `apiVersion` are written as dranet's are."""
    if "config" in parameters:
        return False
    interface = parameters.get(INTERFACE)
    if interface is None:
        return any(key in parameters for key in (*BESIDE, *REFUSED_BESIDE))
    return isinstance(interface, Mapping)


def translate(
    parameters: Mapping[str, Any],
    where: Path,
    *,
    ifname: str,
    fault: Callable[[str, Path], None],
) -> Translated:
    """Return parameters in our own words; `ifname` is the interface's name where none is written.

    Every mistake is given to `fault`.
    """
    found = Translated()
    interface = parameters.get(INTERFACE) or {}
    inside: Path = (*where, INTERFACE)
    _check_known(parameters, (INTERFACE, *BESIDE, *REFUSED_BESIDE), where, fault)
    _check_known(interface, KNOWN, inside, fault)
    found.put("ifName", interface.get("name") or ifname, (*inside, "name"))
    found.put("config", _network(interface), inside)
    for key, ours in SAME.items():
        if _is_given(interface.get(key)):
            found.put(ours, interface[key], (*inside, key))
    for key in BESIDE:
        if _is_given(parameters.get(key)):
            found.put(key, parameters[key], (*where, key))
    for key in SYSCTLS:
        if _is_given(interface.get(key)) and not isinstance(interface[key], int):
            fault("must be a number, or true or false", (*inside, key))
    _check_dhcp(interface, (*inside, DHCP), fault)
    _check_refused(interface, REFUSED, inside, fault)
    _check_refused(parameters, REFUSED_BESIDE, where, fault)
    return found


def usual_ifname(device: str, count: int) -> str:
    """Return the name of an interface for which none was written, if its request has `count`."""
    try:
        return NUMBERED if count > 1 else read_ifname(device, ())
    except RequestError:
        return NUMBERED


def _network(interface: Mapping[str, Any]) -> dict[str, Any]:
    """Return the network that takes the link into the pod."""
    taking: dict[str, Any] = {"type": "host-device"}
    if interface.get("addresses"):
        taking["ipam"] = {"type": "static"}
    elif interface.get(DHCP):
        taking["ipam"] = {"type": "dhcp"}
    else:
        taking["keep"] = list(KEPT)
    plugins = [taking]
    if any(_is_given(interface.get(key)) for key in TUNED):
        sysctls = {
            name: str(int(interface[key]))
            for key, names in SYSCTLS.items()
            if isinstance(interface.get(key), int)
            for name in names
        }
        plugins.append({"type": "tuning"} | ({"sysctl": sysctls} if sysctls else {}))
    return {"cniVersion": "1.0.0", "name": NETWORK, "plugins": plugins}


def _is_given(value: object) -> bool:
    """Whether a value says something; in Go, what is empty is left out."""
    return value is not None and value is not False and value not in ("", [], {})


def _check_known(
    written: Mapping[str, Any],
    known: tuple[str, ...],
    path: Path,
    fault: Callable[[str, Path], None],
) -> None:
    def hint(key: str) -> str:
        return did_you_mean(key, known) or f"; known keys are {', '.join(known)}"

    unknown = sorted((key for key in written if key not in known), key=str)
    for message, at in unknown_keys(unknown, path, hint):
        fault(message, at)


def _check_dhcp(
    interface: Mapping[str, Any], path: Path, fault: Callable[[str, Path], None]
) -> None:
    wanted = interface.get(DHCP)
    if not isinstance(wanted, bool | None):
        fault("must be true or false", path)
    elif wanted and interface.get("addresses"):
        fault("a server gives the address; leave dhcp or addresses out", path)


def _check_refused(
    written: Mapping[str, Any],
    remedies: Mapping[str, str],
    path: Path,
    fault: Callable[[str, Path], None],
) -> None:
    for key, remedy in remedies.items():
        if written.get(key) and written[key] != PASSTHROUGH:
            fault(remedy, (*path, key))
