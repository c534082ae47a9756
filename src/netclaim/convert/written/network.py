"""Write a PodNetwork for a network of Multus.

A configuration of one plugin whose keys a PodNetwork has becomes a network of that type; every
other one stays as it is, in a network of the type `cni`. In both, the link of the node becomes the
network's parent, so that the scheduler knows about it. No I/O.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from netclaim.convert.multus.definition import Definition, UnconvertedError
from netclaim.convert.multus.workloads import without_written
from netclaim.model.api.own_kinds.pod_network import API_VERSION, KIND, PodNetwork
from netclaim.model.claims.claim import JsonObject
from netclaim.network import DRIVER_NAME
from netclaim.network.request.into_config.wishes import MAC
from netclaim.plugins.registry import IPAM_CLASSES
from netclaim.schema.defaults import NAME_LABEL

LINK_KEYS: Final[Mapping[str, str]] = {
    "macvlan": "master",
    "ipvlan": "master",
    "vlan": "master",
    "host-device": "device",
}
TYPES: Final[Mapping[str, str]] = {
    "macvlan": "macvlan",
    "ipvlan": "ipvlan",
    "vlan": "vlan",
    "bridge": "bridge",
    "host-device": "hostDevice",
}
# The keys of a plugin, and what they are called in a PodNetwork.
FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "macvlan": {"mode": "mode", "mtu": "mtu"},
    "ipvlan": {"mode": "mode", "mtu": "mtu"},
    "vlan": {"vlanId": "vlan", "mtu": "mtu"},
    "bridge": {"bridge": "bridge", "vlan": "vlan", "mtu": "mtu"},
    "host-device": {},
}
COMMON_FIELDS: Final = {"ipam": "ipam", "dns": "dns"}
# What a PodNetwork says in another way, or not at all.
SAID_ELSEWHERE: Final = frozenset({"type", "name", "cniVersion", "cniVersions", "capabilities"})
# Plugins at the end of a list that only do what a pod chooses, which is a claim's in netclaim.
FOR_CHOICES: Final = ("tuning", "bandwidth")
ATTRIBUTES: Final = f'device.attributes["{DRIVER_NAME}"]'
BUS_ID: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
STANDARD: Final = 'device.attributes["resource.kubernetes.io"]'


@dataclass(frozen=True, slots=True)
class Network:
    """A network to be: its definition, and what is known of its users."""

    definition: Definition
    name: str
    ifname: str = "net1"
    allow: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()

    @property
    def has_parent(self) -> bool:
        """Whether it is on a link of the node, whose bandwidth its users share."""
        return "parent" in network_spec(self.definition)

    def to_dict(self) -> JsonObject:
        """Return it as a PodNetwork."""
        written = without_written(self.definition.one.object)
        kept = written.get("metadata")
        meta = {key: value for key, value in kept.items() if key != "namespace"} if kept else {}
        spec = {
            **network_spec(self.definition),
            "ifName": self.ifname,
            "namespaces": namespace_selector(self.namespaces),
        }
        if self.allow:
            spec["allow"] = list(self.allow)
        meta = {**meta, "name": self.name}
        return {"apiVersion": API_VERSION, "kind": KIND, "metadata": meta, "spec": spec}

    def to_pod_network(self) -> PodNetwork:
        """Return it as the controller reads it."""
        return PodNetwork.read(self.to_dict())


def namespace_selector(namespaces: Sequence[str]) -> JsonObject:
    """Return a selector for namespaces by name."""
    if len(namespaces) == 1:
        return {"matchLabels": {NAME_LABEL: namespaces[0]}}
    values = sorted(namespaces)
    return {"matchExpressions": [{"key": NAME_LABEL, "operator": "In", "values": values}]}


def network_spec(definition: Definition) -> JsonObject:
    """Return what a PodNetwork says of the network itself."""
    plugins = [one for one in definition.plugins if not _is_for_choices(one)]
    first = plugins[0] if plugins else definition.plugins[0]
    parent = _parent(definition, first)
    alone = {"sharing": {"alone": True}} if _takes_link(first) else {}
    if len(plugins) == 1 and (typed := _typed(first, definition.config, parent)):
        return typed if typed["type"] == "hostDevice" else {**typed, **alone}
    return {"type": "cni", **parent, "config": _config(definition, parent), **alone}


def _is_for_choices(plugin: JsonObject) -> bool:
    return plugin["type"] in FOR_CHOICES and plugin.keys() <= SAID_ELSEWHERE


def _takes_link(plugin: JsonObject) -> bool:
    """Whether nobody else can use the link."""
    return plugin["type"] == "host-device" or plugin.get("mode") == "passthru"


def _parent(definition: Definition, plugin: JsonObject) -> JsonObject:
    """Return the link that the network is on; nothing if it is on none."""
    key = LINK_KEYS.get(plugin["type"])
    if key is None:
        return {}
    if name := plugin.get(key):
        return {"parent": {"name": name}}
    if plugin["type"] in ("macvlan", "ipvlan"):  # CNI says: the link of the default route
        return {"parent": {"selector": f"{ATTRIBUTES}.?defaultRoute.orValue(false)"}}
    if MAC.fullmatch(address := plugin.get("hwaddr") or ""):
        return {"parent": {"selector": f'{ATTRIBUTES}.?mac.orValue("") == "{address.lower()}"'}}
    if BUS_ID.fullmatch(bus_id := plugin.get("pciBusID") or ""):
        return {"parent": {"selector": f'{STANDARD}.?pciBusID.orValue("") == "{bus_id}"'}}
    at = definition.plugin_at(definition.plugins.index(plugin))
    raise UnconvertedError(f"{key} is missing; name a link of the node", path=(*at, key))


def _typed(plugin: JsonObject, config: JsonObject, parent: JsonObject) -> JsonObject | None:
    """Return the fields of a network whose type PodNetworks have; None if a key has no field."""
    fields = {**FIELDS.get(plugin["type"], {}), **COMMON_FIELDS}
    offered, manager = plugin.get("capabilities"), str(plugin.get("ipam", {}).get("type", ""))
    if offered and manager and manager not in IPAM_CLASSES:
        return None  # a program gets only what its capabilities list
    if plugin["type"] not in TYPES or config.keys() - plugin.keys() - SAID_ELSEWHERE - {"plugins"}:
        return None
    found: dict[str, Any] = {"type": TYPES[plugin["type"]], **parent}
    links = {LINK_KEYS.get(plugin["type"]), "hwaddr", "pciBusID"}
    for key, value in plugin.items():
        if key in SAID_ELSEWHERE or key in links or value in (0, "", False):
            continue
        if key not in fields:
            return None
        found[fields[key]] = value
    return None if found["type"] == "vlan" and "vlan" not in found else found


def _config(definition: Definition, parent: JsonObject) -> JsonObject:
    """Return the configuration; the parent takes the place of what names the link."""
    if not parent:
        return definition.config
    gone = {"master", "device", "hwaddr", "pciBusID"}
    first, *others = definition.plugins
    first = {key: value for key, value in first.items() if key not in gone}
    if "plugins" not in definition.config:
        return first
    return {**definition.config, "plugins": [first, *others]}
