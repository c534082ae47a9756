"""What a PodNetwork becomes: parameters of a class, a DeviceClass, and a claim template.

    class       its selector finds the network's link, or where that has other names on some nodes,
                the network's devices; its configuration is the network's, which no claim can change
                but for what `allow` lists
    template    one request for the class, and perhaps one for an address of its pool; a pod names
                it, and that is all

Both have the network's name. Promise: the same network gives the same objects. A class selects
links where it can: all networks on a link share what the scheduler counts of it (docs/decisions).
No I/O.
Limit: whether the network makes sense is checked elsewhere, as for a class that an admin writes.
"""

import json
from typing import Any, Final

import msgspec

from netclaim.model.api.base import JsonObject, ObjectError
from netclaim.model.api.dra.slice import POD_NETWORK
from netclaim.model.api.own_kinds.pod_network import (
    ALLOWABLE,
    API_VERSION,
    EVICT_AFTER,
    KIND,
    Parent,
    PodNetwork,
    PodNetworkSpec,
)
from netclaim.model.pools.named_pools import pools_named
from netclaim.network.devices.pool_device import address_request
from netclaim.network.devices.shares import BANDWIDTH, WHOLE_LINK
from netclaim.network.policy.table import SETTINGS

CNI_VERSION: Final = "1.0.0"
PARAMETERS_KIND: Final = "CNI"
LABEL: Final = "cni.networking.x-k8s.io/pod-network"  # at what belongs to a network
SPEC: Final = "cni.networking.x-k8s.io/pod-network-spec"  # at its class: all that the drivers need
OF_NO_DRIVER: Final = ("provider", "enabled", EVICT_AFTER)  # of the spec: nothing on a node
PLUGINS: Final = {
    "macvlan": "macvlan",
    "ipvlan": "ipvlan",
    "vlan": "vlan",
    "bridge": "bridge",
    "hostDevice": "host-device",
}
MODES: Final = {"macvlan": "bridge", "ipvlan": "l2"}  # of a network that names none
# Of `allow`: what a class says, too. The rest, the scheduler and the template see to.
CLAIMED: Final = tuple(key for key in ALLOWABLE if key not in {"ifName", "bandwidth"})
SETTINGS_KEYS: Final = (*SETTINGS, "vrf")  # of `settings`: parameters of the class
ALONE: Final = {WHOLE_LINK: "1"}  # what a request for the link alone asks of its capacity


def parameters_of(network: PodNetwork) -> JsonObject:
    """The network as the parameters of a DeviceClass."""
    spec = network.spec
    settings = spec.settings if isinstance(spec.settings, dict) else {}
    parameters: JsonObject = {
        **{key: value for key, value in settings.items() if key in SETTINGS_KEYS},
        "apiVersion": API_VERSION,
        "kind": PARAMETERS_KIND,
        "podNetwork": network.name,
        "ifName": network.ifname,
        "allow": [each for each in spec.allow if each in CLAIMED],
        "config": spec.config if spec.type == "cni" else _config(network.name, spec),
    }
    if namespaces := msgspec.to_builtins(spec.namespaces):
        parameters["namespaces"] = namespaces
    if spec.evict_after_seconds:
        parameters[EVICT_AFTER] = spec.evict_after_seconds
    return parameters


def class_of(network: PodNetwork, driver: str) -> JsonObject:
    """The DeviceClass of a network, for a driver of this name."""
    expressions = [f'device.driver == "{driver}"', *_expressions(network, driver)]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {
            "name": network.name,
            "labels": {LABEL: network.name},
            "annotations": {SPEC: spec_text(network)},
        },
        "spec": {
            "selectors": [{"cel": {"expression": each}} for each in expressions],
            "config": [{"opaque": {"driver": driver, "parameters": parameters_of(network)}}],
        },
    }


def spec_text(network: PodNetwork) -> str:
    """The network's spec as its class has it, for drivers: the same text for the same spec."""
    spec = msgspec.to_builtins(network.spec)
    kept = {key: value for key, value in spec.items() if key not in OF_NO_DRIVER}
    return msgspec.json.encode(kept, order="sorted").decode()


def network_of(device_class: JsonObject) -> PodNetwork | None:
    """The network that a class was made for; None for another class.

    An ObjectError says what is wrong with one that was changed.
    """
    meta = device_class["metadata"]
    text = meta.get("annotations", {}).get(SPEC)
    if text is None or meta.get("labels", {}).get(LABEL) != meta["name"]:
        return None
    try:
        spec = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ObjectError(KIND, f"the annotation {SPEC} is not JSON: {error}") from error
    return PodNetwork.read({"metadata": {"name": meta["name"]}, "spec": spec})


def template_of(network: PodNetwork, namespace: str, *, counted: str = "") -> JsonObject:
    """The claim template of a network in a namespace.

    `counted` is the pool of its addresses, if the scheduler is to know how full that is.
    """
    exactly: JsonObject = {"deviceClassName": network.name}
    if capacity := _capacity(network):
        exactly["capacity"] = {"requests": capacity}
    requests = [{"name": network.name, "exactly": exactly}]
    if counted:
        requests.append(address_request(counted, beside=network.name))
    labels = {LABEL: network.name}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": network.name, "namespace": namespace, "labels": labels},
        "spec": {"metadata": {"labels": labels}, "spec": {"devices": {"requests": requests}}},
    }


def owner_of(network: PodNetwork) -> JsonObject:
    """How an object says that it belongs to a network; it goes with it."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": network.name,
        "uid": network.metadata.uid,
        "controller": True,
    }


def pool_of_network(network: PodNetwork) -> str:
    """The AddressPool that a network's addresses are of; empty if they are of none."""
    return next(pools_named(parameters_of(network)["config"]), "")


def takes_link(network: PodNetwork) -> bool:
    """Whether an interface of the network leaves nothing of its link to others."""
    return network.spec.sharing.alone or network.spec.type == "hostDevice"


def _expressions(network: PodNetwork, driver: str) -> list[str]:
    """Which devices have the network. Each expression is looked at only if those before hold."""
    spec = network.spec
    if spec.parent.overrides:  # only the node's driver knows the node's labels
        domain, _, name = POD_NETWORK.partition("/")
        attribute = f'device.attributes["{domain}"].{name}'
        return [f'has({attribute}) && {attribute} == "{network.name}"']
    return [link_expression(spec.parent, driver)]


def link_expression(parent: Parent, driver: str) -> str:
    """Which of a driver's devices are the link of a network, or the one that is no link."""
    attributes = f'device.attributes["{driver}"]'
    if parent.name:
        name = json.dumps(parent.name, ensure_ascii=False)  # which CEL reads as JSON does
        return f"{attributes}.name == {name}"
    return parent.selector or f'{attributes}.kind == "generic"'


def _capacity(network: PodNetwork) -> JsonObject:
    if takes_link(network):
        return dict(ALONE)
    asked = network.bandwidth
    return {} if asked is None else {BANDWIDTH: str(asked)}


def _config(name: str, spec: PodNetworkSpec) -> JsonObject:
    plugin: JsonObject = {"type": PLUGINS.get(spec.type, spec.type)}  # unknown in saved objects
    optional: dict[str, Any] = {
        "mode": spec.mode or MODES.get(spec.type),
        "bridge": spec.bridge,
        "vlanId" if spec.type == "vlan" else "vlan": spec.vlan,
        "mtu": spec.mtu,
        "ipam": _ipam(spec),
        "dns": msgspec.to_builtins(spec.dns),
    }
    plugin |= {key: value for key, value in optional.items() if value}
    return {"cniVersion": CNI_VERSION, "name": name, "plugins": [plugin]}


def _ipam(spec: PodNetworkSpec) -> JsonObject:
    ipam = dict(spec.ipam or {})
    if spec.routes:
        ipam["routes"] = [*ipam.get("routes", ()), *map(msgspec.to_builtins, spec.routes)]
    return ipam
