"""Check a plugin's configuration strictly, before it is used for the first time.

The reference plugins pass over keys that they do not know, and find out at ADD that a subnet is
none. Here a key has to be known, and its value of the type and within the bounds that the plugin's
configuration class states.
Promise: each mistake has the path of its key. What CNI itself defines is known to every plugin,
also where the plugin makes nothing of it; keys with a domain name are somebody else's.
Limit: no I/O, so it cannot know what is on the machine. Not applied to a DEL.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Annotated, Any, Final

from netclaim.cni import DNS
from netclaim.cni.key_case import fold
from netclaim.errors import RequestError
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path
from netclaim.plugins.engine.conf import Conf, read_conf
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.key_rules import DeclaredKey, KeyRule, declared, known_keys
from netclaim.plugins.engine.plugin import Asked, Plugin, folded
from netclaim.plugins.engine.strict_values import object_faults
from netclaim.plugins.registry import IPAM_CLASSES, PLUGIN_CLASSES

FAULTS_MAX: Final = 20  # of one plugin; nobody mends more at a time


class CommonConf(Conf, frozen=True):
    """The keys that CNI defines for every plugin, in or around a list."""

    name: Annotated[str, KeyRule("the network's name")] = ""
    type: Annotated[str, KeyRule("the plugin")] = ""
    cni_version: Annotated[str, KeyRule("the CNI version")] = ""
    cni_versions: Annotated[tuple[str, ...], KeyRule("the CNI versions")] = ()
    disable_check: Annotated[Any, KeyRule("skips CHECK")] = False
    disable_gc: Annotated[Any, KeyRule("skips GC", name="disableGC")] = False
    ipam: Annotated[JsonObject | None, KeyRule("address management")] = None
    dns: Annotated[DNS, KeyRule("name servers, part of the result")] = DNS()
    ip_masq: Annotated[
        bool, KeyRule("hide addresses behind the node's, if the plugin supports it")
    ] = False
    capabilities: Annotated[JsonObject | None, KeyRule("what the runtime may pass")] = None
    runtime_config: Annotated[JsonObject | None, KeyRule("what the runtime passes")] = None
    args: Annotated[JsonObject | None, KeyRule("arguments of the runtime")] = None
    prev_result: Annotated[JsonObject | None, KeyRule("the result so far")] = None


# Objects that hold what is meant for others too.
SHARED: Final = ("args", "runtimeConfig")
OWN_TO_SOME: Final = frozenset({fold("ipMasq")})  # defined by CNI, and used by few


def strict_faults(
    config: Mapping[str, Any], path: Path, *, asked: Asked, in_process: Collection[str]
) -> Iterator[RequestError]:
    """Yield what is wrong with a plugin's configuration; of a program's, with what CNI defines."""
    name = str(config.get("type", ""))
    plugin = PLUGIN_CLASSES.get(name)
    if plugin is None or name not in in_process:
        yield from object_faults(declared(CommonConf), config, path, closed=False)
        return
    ipam = config.get("ipam")
    ipam_type = str(ipam.get("type") or "") if isinstance(ipam, dict) else ""
    ours = plugin.has_addresses and ipam_type in in_process
    manager = IPAM_CLASSES.get(ipam_type) if ours else None
    found = [_plugin_faults(plugin, config, path, manager)]
    if plugin.has_addresses and isinstance(ipam, dict):
        found.append(_ipam_faults(manager, ipam, (*path, "ipam")))
    faults = list(islice(chain.from_iterable(found), FAULTS_MAX))
    yield from faults
    if not faults:
        yield from _refusals([plugin, *([manager] if manager else [])], config, path, asked)


def own_keys(plugin: type[Plugin]) -> Mapping[str, DeclaredKey]:
    """Return the keys of a plugin beside those of every plugin."""
    common = declared(CommonConf).keys() - OWN_TO_SOME
    found: dict[str, DeclaredKey] = {}
    for conf in plugin.confs:
        found |= declared(conf)
    return {key: each for key, each in found.items() if key not in common}


def ipam_keys(manager: type[Plugin]) -> Mapping[str, DeclaredKey]:
    """Return the keys that a plugin has under `ipam`, beside its `type`."""
    return declared(manager.ipam_conf) if manager.ipam_conf is not None else {}


def _plugin_faults(
    plugin: type[Plugin], config: Mapping[str, Any], path: Path, manager: type[Plugin] | None
) -> Iterator[RequestError]:
    known = {**declared(CommonConf), **own_keys(plugin)}
    under = ipam_keys(manager or IPAM_CLASSES["host-local"]) if plugin.has_addresses else ()
    common = declared(CommonConf).keys() - own_keys(plugin).keys()
    unlisted = common - {"type", *(("ipam", "dns") if plugin.has_addresses else ())}
    yield from object_faults(known, config, path, unlisted=unlisted, under_ipam=under)
    offered = {key: each for conf in plugin.confs for key, each in declared(conf).items()}
    for name in SHARED:
        each, value = offered.get(fold(name)), config.get(name)
        if each is not None and isinstance(value, dict):
            yield from object_faults(declared(each.type), value, (*path, name), closed=False)


def _ipam_faults(
    manager: type[Plugin] | None, ipam: Mapping[str, Any], path: Path
) -> Iterator[RequestError]:
    if ipam and not ipam.get("type"):
        message = "type is missing; for example host-local"
        yield RequestError(message, path=(*path, "type"))
    elif manager is not None and manager.ipam_conf is not None:
        kind = {"type": DeclaredKey("type", str, KeyRule("the plugin that manages addresses"))}
        unlisted = {fold(name) for name in manager.ipam_conf.unused}
        known = {**kind, **known_keys(manager.ipam_conf)}
        yield from object_faults(known, ipam, path, unlisted=unlisted)


def _refusals(
    plugins: Sequence[type[Plugin]], config: Mapping[str, Any], path: Path, asked: Asked
) -> Iterator[RequestError]:
    """Have the plugins read the whole of a configuration whose parts are sound."""
    if asked.first and plugins[0].needs_previous:
        name = config["type"]
        message = f"{name} changes what an earlier plugin made: put a plugin before it"
        yield RequestError(message, path=(*path, "type"))
    for plugin in plugins:
        try:
            raw = folded(config)
            for conf in plugin.confs:
                read_conf(raw, conf).refuse()
            plugin.refuse(raw, asked)
        except ConfError as error:
            yield RequestError(str(error), path=(*path, *error.path))
