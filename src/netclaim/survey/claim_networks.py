"""What claims say of the networks that their devices are on, and classes of PodNetworks. No I/O.

Promise: whatever a claim's author writes, there is an answer. Limit: the plugin that makes the
interface is all that is asked after; whether the network makes sense is judged elsewhere.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from netclaim.json_text import read_json
from netclaim.model.api.base import JsonObject
from netclaim.model.api.dra.claim import DeviceResult, ResourceClaim
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.own_kinds.pod_network import EVICT_AFTER

TEXT_MAX: Final = 256  # of a text that is kept: more than any driver, network or link is called
KEPT: Final = 1024  # entries: as many networks and requests as a large cluster has


def config_of(claim: ResourceClaim, given: DeviceResult) -> Mapping[str, Any]:
    """Return the network that an allocation has for a request; the claim's own entry counts."""
    allocation = claim.status.allocation
    found: Any = {}
    for entry in allocation.devices.config if allocation is not None else ():
        concerned = not entry.requests or given.request.partition("/")[0] in entry.requests
        opaque = entry.opaque
        if opaque is None or opaque.driver != given.driver or not concerned:
            continue
        if isinstance(opaque.parameters, Mapping) and opaque.parameters.get("config"):
            found = opaque.parameters["config"]
    return _read(found)


def _read(config: Any) -> Mapping[str, Any]:
    if isinstance(config, str):
        try:
            config = read_json(config)
        except ValueError:
            return {}
    return config if isinstance(config, Mapping) else {}


def first_plugin(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the plugin that makes the interface; nothing if a network has none."""
    plugins = config.get("plugins")
    plugin = plugins[0] if isinstance(plugins, list) and plugins else config
    return plugin if isinstance(plugin, Mapping) else {}


def networks_of(classes: Iterable[DeviceClass]) -> dict[str, Mapping[str, Any]]:
    """Return the configuration of each PodNetwork, which is that of its class."""
    return {
        each.name: config
        for each in classes
        for entry in each.spec.config
        if entry.opaque is not None
        and isinstance(entry.opaque.parameters, Mapping)
        and entry.opaque.parameters.get("podNetwork") == each.name
        and isinstance(config := entry.opaque.parameters.get("config"), Mapping)
    }


def brief(entry: JsonObject) -> JsonObject:
    """Of an entry of an allocation's configuration: what is read of it here.

    Entries that say the same are one object, so that a hundred thousand of them cost nothing.
    """
    opaque = entry.get("opaque") or {}
    parameters = opaque.get("parameters")
    config = _read(parameters.get("config")) if isinstance(parameters, Mapping) else {}
    plugin = first_plugin(config)
    texts = (opaque.get("driver"), config.get("name"), plugin.get("type"), plugin.get("master"))
    numbers = (
        plugin.get("vlanId"),
        parameters.get(EVICT_AFTER) if isinstance(parameters, Mapping) else 0,
    )
    return _brief(
        str(entry.get("source") or "")[:TEXT_MAX],
        tuple(entry.get("requests") or ()),
        tuple(text[:TEXT_MAX] if isinstance(text, str) else "" for text in texts),
        tuple(number if isinstance(number, int) else 0 for number in numbers),
    )


@lru_cache(maxsize=KEPT)
def _brief(
    source: str, requests: tuple[str, ...], texts: tuple[str, ...], numbers: tuple[int, ...]
) -> JsonObject:
    driver, name, kind, master = texts
    vlan, evict_after_s = numbers
    plugin = {"type": kind, "master": master, "vlanId": vlan}
    parameters: JsonObject = {"config": {"name": name, "plugins": [plugin]} if kind else {}}
    if evict_after_s:
        parameters[EVICT_AFTER] = evict_after_s
    opaque = {"driver": driver, "parameters": parameters}
    return {"source": source, "requests": requests, "opaque": opaque}
