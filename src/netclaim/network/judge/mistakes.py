"""Check what a network's configuration says before it is used for the first time.

Promise: what a plugin that runs in process would refuse at ADD, whatever is on the node, is refused
here with the path of the key, and so is a key that no plugin reads. Of a program, only what CNI
defines is checked. Limit: no I/O. `prepare` and `netclaim check` ask; ADD and DEL of what was
prepared do not, so that a stricter driver lets go of what an older one made.
"""

import ipaddress
from collections.abc import Collection, Iterator
from typing import Final

from netclaim.cni import NetworkList, PluginConf
from netclaim.errors import RequestError
from netclaim.manifests.near import did_you_mean
from netclaim.network.request.into_config.added import VRF
from netclaim.network.request.into_config.link_keys import hands_over
from netclaim.network.request.into_config.wishes import with_wishes
from netclaim.network.request.parameters import FAULTS_MAX, InterfaceRequest
from netclaim.paths import Path
from netclaim.plugins import PLUGIN_TYPES
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.plugin import Asked, Plugin, folded
from netclaim.plugins.host_local.conf import address_faults
from netclaim.plugins.registry import ALIKE_TYPES, IPAM_CLASSES, PLUGIN_CLASSES
from netclaim.plugins.strict import strict_faults

NO_PROGRAM_KNOWS: Final = "{} runs as a program here (--exec-plugins), which would ignore it"
NO_INTERFACE: Final = "with vfio, a program gets the hardware and the pod has no interface"
HOST_LOCAL: Final = "host-local"  # it decides which addresses can be wished for


def config_faults(
    request: InterfaceRequest, in_process: Collection[str] = PLUGIN_TYPES
) -> list[RequestError]:
    """List what is wrong with a request's network and wishes; `in_process` are no programs."""
    faults: list[RequestError] = []
    network = request.network
    for index, plugin in enumerate(network.plugins):
        if len(faults) >= FAULTS_MAX:
            break
        asked = Asked(network.version, first=index == 0, ifname=request.ifname)
        path = request.plugin_paths[index]
        config = plugin.config
        faults += strict_faults(config, path, asked=asked, in_process=in_process)
        kind = PLUGIN_CLASSES.get(plugin.type)
        for key in kind.other_link_keys if kind else ():
            if config.get(key):
                message = "leave it out: the allocated link is used"
                faults.append(RequestError(message, path=(*path, key)))
        faults += (
            RequestError(NO_PROGRAM_KNOWS.format(plugin.type), path=(*path, key))
            for key in _beyond_programs(plugin, in_process)
        )
    if not faults:
        faults += _wish_faults(request, in_process)
    return faults[:FAULTS_MAX]


def misspelt_types(request: InterfaceRequest) -> Iterator[tuple[Path, str]]:
    """Yield the plugin types that nearly are ones that we have, and a guess at what was meant."""
    for plugin, path in zip(request.network.plugins, request.plugin_paths, strict=True):
        if hint := guessed_type(plugin.type):
            yield (*path, "type"), f'unknown plugin type "{plugin.type}"{hint}'
        if plugin.ipam_type and (hint := guessed_type(plugin.ipam_type, ipam=True)):
            message = f'unknown plugin type "{plugin.ipam_type}"{hint}'
            yield (*path, "ipam", "type"), message


def guessed_type(name: str, *, ipam: bool = False) -> str:
    """Return what a type that we do not have was meant for, as the end of a sentence."""
    known = IPAM_CLASSES if ipam else PLUGIN_CLASSES
    return "" if name in PLUGIN_TYPES else did_you_mean(name, known, cutoff=ALIKE_TYPES)


def _beyond_programs(plugin: PluginConf, in_process: Collection[str]) -> Iterator[str]:
    """Yield the keys that a plugin has and the program that runs here would pass over."""
    kind = PLUGIN_CLASSES.get(plugin.type)
    if kind is not None and plugin.type not in in_process:
        yield from (key for key in kind.beyond_reference if plugin.config.get(key))


def _wish_faults(request: InterfaceRequest, in_process: Collection[str]) -> Iterator[RequestError]:
    try:
        network = with_wishes(request.network, request.wishes, request.wish_paths)
    except RequestError as error:
        yield error
        return
    yield from _added_faults(request, network)
    if hands_over(network):
        yield from _without_interface(request, network)
    for plugin in network.plugins:
        for key in _beyond_programs(plugin, in_process):
            message = NO_PROGRAM_KNOWS.format(plugin.type)
            yield RequestError(message, path=request.wish_paths.get(key, (key,)))
    for plugin in network.plugins if request.wishes.ips else ():
        if plugin.ipam_type == HOST_LOCAL and {plugin.type, HOST_LOCAL} <= {*in_process}:
            yield from _outside(request, network, plugin)
            return


def _added_faults(request: InterfaceRequest, network: NetworkList) -> Iterator[RequestError]:
    """Yield what the plugins that parameters become would refuse, as far as nobody else knows."""
    for plugin in network.plugins[len(request.network.plugins) :]:
        try:
            asked = Asked(network.version, first=False, ifname=request.ifname)
            PLUGIN_CLASSES[plugin.type].refuse(folded(plugin.config), asked)
        except ConfError as error:
            path = request.wish_paths.get(VRF, (VRF,))
            yield RequestError(str(error), path=(*path, "name"))


def _without_interface(request: InterfaceRequest, network: NetworkList) -> Iterator[RequestError]:
    """Yield what needs the interface that a program's pod does not have."""
    for index, plugin in enumerate(network.plugins):
        if PLUGIN_CLASSES.get(plugin.type, Plugin).hands_over(plugin.config):
            if plugin.config.get("keep"):
                path = (*request.plugin_paths[index], "keep")
                yield RequestError(f"{NO_INTERFACE}; leave it out", path=path)
        elif index < len(request.plugin_paths):
            yield RequestError(
                f"{NO_INTERFACE} for {plugin.type}; remove this plugin",
                path=(*request.plugin_paths[index], "type"),
            )
    for name in request.wishes.settings:
        path = request.wish_paths.get(name, (name,))
        yield RequestError(f"{NO_INTERFACE}; leave it out", path=path)


def _outside(
    request: InterfaceRequest, network: NetworkList, plugin: PluginConf
) -> Iterator[RequestError]:
    """Yield the addresses wished for that are not in the ranges."""
    path = request.wish_paths.get("ips", ("ips",))
    wished = [str(ipaddress.ip_interface(ip).ip) for ip in request.wishes.ips]
    try:
        config = {**plugin.config, "name": network.name}
        for address, message in address_faults(config, network.version):
            at = (wished.index(str(address)),) if str(address) in wished else ()
            yield RequestError(message, path=(*path, *at))
    except ConfError as error:
        yield RequestError(str(error), path=path)
