"""Whether netclaim runs the plugins of a network as Multus had them run, and with which keys.

The reference plugins pass over keys that they do not know; netclaim refuses such a key. So it is
left out here, with a remark. Promise: what remains is what the driver accepts; what it would refuse
whatever one leaves out is an UnconvertedError in the driver's words. No I/O.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from netclaim.cni import parse_network
from netclaim.cni.key_case import fold
from netclaim.convert.multus.definition import Definition, UnconvertedError
from netclaim.convert.remarks import Remark, within
from netclaim.errors import RequestError
from netclaim.manifests.reading import FAULTS_MAX
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path
from netclaim.plugins.engine.key_rules import declared, known_keys
from netclaim.plugins.engine.plugin import Asked
from netclaim.plugins.registry import IPAM_CLASSES, PLUGIN_CLASSES, PLUGIN_TYPES
from netclaim.plugins.strict import CommonConf, own_keys, strict_faults

IN_POD: Final = ("linkInContainer", "linksInContainer")  # a link that another network made


def cleaned(definition: Definition) -> tuple[Definition, tuple[Remark, ...]]:
    """Return a definition without keys that nothing reads, and what to know about its plugins."""
    remarks: list[Remark] = []
    kept: list[JsonObject] = []
    for number, plugin in enumerate(definition.plugins):
        at = definition.plugin_at(number)
        unread = list(_unread(plugin, at))
        remarks += [within(definition.text, path, text) for path, text in unread[:FAULTS_MAX]]
        kept.append(_without(plugin, {path[len(at) :] for path, _ in unread}))
        remarks += [within(definition.text, path, text) for path, text in _programs(plugin, at)]
    found = replace(definition, plugins=tuple(kept), config=_config(definition, kept))
    _check(found)
    return found, tuple(remarks)


def _config(definition: Definition, plugins: list[JsonObject]) -> JsonObject:
    if "plugins" in definition.config:
        return {**definition.config, "plugins": plugins}
    return plugins[0]


def _unread(plugin: JsonObject, at: Path) -> Iterator[tuple[Path, str]]:
    """Yield the keys that the plugin does not have; those with a domain are somebody else's."""
    kind = PLUGIN_CLASSES.get(plugin["type"])
    if kind is None:
        return
    known = {*declared(CommonConf), *own_keys(kind)}
    for key in plugin:
        if fold(key) not in known and "/" not in key:
            yield (*at, key), f"left out: {plugin['type']} has no such key, and passes over it"
    ipam = plugin.get("ipam")
    manager = IPAM_CLASSES.get(str(ipam.get("type"))) if isinstance(ipam, dict) else None
    if not isinstance(ipam, dict) or manager is None or manager.ipam_conf is None:
        return
    known = {"type", *known_keys(manager.ipam_conf)}
    for key in ipam:
        if fold(key) not in known and "/" not in key:
            yield (
                (*at, "ipam", key),
                f"left out: {ipam['type']} has no such key, and passes over it",
            )


def _programs(plugin: JsonObject, at: Path) -> Iterator[tuple[Path, str]]:
    """Yield the plugins that are programs of the node."""
    ipam = plugin.get("ipam")
    named = [((*at, "type"), plugin["type"])]
    named += [((*at, "ipam", "type"), ipam.get("type"))] if isinstance(ipam, dict) else []
    for path, name in named:
        if isinstance(name, str) and name and name not in PLUGIN_TYPES:
            yield path, f"{name} is a program, which each node needs as it did for Multus"


def _without(plugin: JsonObject, unread: set[Path]) -> JsonObject:
    kept = {key: value for key, value in plugin.items() if (key,) not in unread}
    ipam = kept.get("ipam")
    if isinstance(ipam, dict):
        kept["ipam"] = {key: ipam[key] for key in ipam if ("ipam", key) not in unread}
        if not kept["ipam"]:
            del kept["ipam"]  # Multus' users write {} for no addresses
    return kept


def _check(definition: Definition) -> None:
    """Refuse what the driver would refuse."""
    try:
        network = parse_network(definition.config, path=())
    except RequestError as error:
        raise UnconvertedError(error.message, path=error.path) from error
    for number, plugin in enumerate(network.plugins):
        at = definition.plugin_at(number)
        for key in IN_POD:
            if plugin.config.get(key) is True:
                raise UnconvertedError(
                    "needs an interface that another network made, but netclaim attaches all"
                    " networks of a pod at the same time",
                    path=(*at, key),
                )
        asked = Asked(network.version, first=number == 0, ifname="net1")
        faults = strict_faults(plugin.config, at, asked=asked, in_process=PLUGIN_TYPES)
        for fault in islice(faults, 1):
            raise UnconvertedError(fault.message, path=fault.path)
