"""Parameters that become a plugin at the end of the network: `link-settings`, and `vrf`.

    routes: [{destination: 10.0.0.0/8, gateway: 10.10.1.1}]     vrf: {name: blue}

So they are undone by the same DEL, and kept in the same journal, as everything else of a network.
A new one takes a row in `wishes`, a key of the plugin, and a rule in the policy's table.
Promise: each is read by the plugin's own reader, and so strictly that the plugin accepts it.
No I/O.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from netclaim.cni import NetworkList
from netclaim.cni.call import check_ifname
from netclaim.cni.key_case import fold
from netclaim.cni.version import CHAINING, at_least
from netclaim.errors import RequestError
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path
from netclaim.plugins.engine.conf import U32, Conf, lowered, read_conf
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.key_rules import DeclaredKey, KeyRule, declared
from netclaim.plugins.engine.strict_values import object_faults
from netclaim.plugins.host_device.device_lookup import HostDeviceConf
from netclaim.plugins.link_settings.conf import SettingsConf
from netclaim.plugins.registry import LINK_SETTINGS

VRF: Final = "vrf"
ADDED: Final = (VRF, LINK_SETTINGS)  # in this order: routes are entered for the VRF
HOST_DEVICE: Final = "host-device"


class VrfKeys(Conf, frozen=True):
    """The parameter `vrf`."""

    name: Annotated[
        str, KeyRule("the VRF's name", check=check_ifname, missing="for example blue")
    ] = ""
    table: Annotated[U32, KeyRule("its routing table; 0: the first that is free")] = 0


class _Holder(Conf, frozen=True):
    vrf: Annotated[VrfKeys, KeyRule("a routing domain")] = VrfKeys()


READERS: Final[Mapping[str, type[Conf]]] = {
    LINK_SETTINGS: SettingsConf,
    VRF: _Holder,
    HOST_DEVICE: HostDeviceConf,
}


def reader(plugin: str, name: str) -> Callable[[object, Path], Any]:
    """Return what reads the parameter `name`, which is for a plugin of this type."""
    conf = READERS[plugin]
    key = declared(conf)[fold(name)]

    def read(value: object, path: Path) -> object:
        """Check a value, and return it as it is written."""
        if value is None:
            raise RequestError("has no value; leave it out", path=path)
        at = DeclaredKey(str(path[-1]) if path else name, key.type, key.rule)
        faults = list(object_faults({fold(at.name): at}, {at.name: value}, path[:-1]))
        for fault in sorted(faults, key=_is_secondary)[:1]:
            raise fault
        try:
            read_conf(lowered({name: value}), conf).refuse()
        except ConfError as error:
            raise RequestError(str(error), path=(*path, *error.path[1:])) from error
        return value

    return read


def keys_of(name: str, value: Any) -> JsonObject:
    """Return a parameter as keys of its plugin."""
    if name != VRF:
        return {name: value}
    vrf = read_conf(lowered(value), VrfKeys)
    return {"vrfname": vrf.name} | ({"table": vrf.table} if vrf.table else {})


def with_added(network: NetworkList, plugin: str, keys: JsonObject, path: Path) -> NetworkList:
    """Return the network with a plugin that has these keys at its end."""
    if not at_least(network.version, CHAINING):
        raise RequestError(
            f"needs a network of CNI {CHAINING} or newer, but {network.name!r} is of "
            f"{network.version}; write cniVersion: 1.0.0 into it",
            path=path,
        )
    if plugin == VRF and any(each.type == VRF for each in network.plugins):
        raise RequestError(f"the network {network.name!r} has a vrf; leave it out", path=path)
    return network.with_plugin({"type": plugin, **keys})


def _is_secondary(fault: RequestError) -> bool:
    """Whether a fault may only follow from another: a key is missing because it is misspelt."""
    return not fault.message.startswith("unknown key")
