"""What a PodNetwork becomes: parameters of a class, a DeviceClass, and a claim template.

    class       its selector finds the network's link; its configuration is the network's, which no
                claim can change but for what `allow` lists
    template    one request for the class; a pod names it, and that is all

Both have the network's name. Promise: the same network gives the same objects. The links stay the
only devices: all networks on a link share what the scheduler counts of it (docs/decisions). No I/O.
Limit: whether the network makes sense is checked elsewhere, as for a class that an admin writes.
"""

import json
from typing import Any, Final

import msgspec

from netclaim.model import Quantity
from netclaim.model.api.base import JsonObject
from netclaim.model.api.pod_network import API_VERSION, KIND, PodNetwork, PodNetworkSpec
from netclaim.network.devices.shares import ATTACHMENTS, BANDWIDTH

CNI_VERSION: Final = "1.0.0"
PARAMETERS_KIND: Final = "CNI"
LABEL: Final = "cni.networking.x-k8s.io/pod-network"  # at what belongs to a network
PLUGINS: Final = {
    "macvlan": "macvlan",
    "ipvlan": "ipvlan",
    "vlan": "vlan",
    "bridge": "bridge",
    "hostDevice": "host-device",
}
MODES: Final = {"macvlan": "bridge", "ipvlan": "l2"}  # of a network that names none
ALONE: Final = "2"  # attachments: more than one asks for the link alone


def parameters_of(network: PodNetwork) -> JsonObject:
    """The network as the parameters of a DeviceClass."""
    spec = network.spec
    parameters: JsonObject = {
        "apiVersion": API_VERSION,
        "kind": PARAMETERS_KIND,
        "podNetwork": network.name,
        "ifName": network.ifname,
        "allow": list(spec.allow),
        "config": spec.config if spec.type == "cni" else _config(network.name, spec),
    }
    if namespaces := msgspec.to_builtins(spec.namespaces):
        parameters["namespaces"] = namespaces
    return parameters


def class_of(network: PodNetwork, driver: str) -> JsonObject:
    """The DeviceClass of a network, for a driver of this name."""
    expressions = [f'device.driver == "{driver}"', *_link_expressions(network.spec, driver)]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": network.name, "labels": {LABEL: network.name}},
        "spec": {
            "selectors": [{"cel": {"expression": each}} for each in expressions],
            "config": [{"opaque": {"driver": driver, "parameters": parameters_of(network)}}],
        },
    }


def template_of(network: PodNetwork, namespace: str) -> JsonObject:
    """The claim template of a network in a namespace."""
    exactly: JsonObject = {"deviceClassName": network.name}
    if capacity := _capacity(network.spec):
        exactly["capacity"] = {"requests": capacity}
    request = {"name": network.name, "exactly": exactly}
    labels = {LABEL: network.name}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": network.name, "namespace": namespace, "labels": labels},
        "spec": {"metadata": {"labels": labels}, "spec": {"devices": {"requests": [request]}}},
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


def _link_expressions(spec: PodNetworkSpec, driver: str) -> list[str]:
    """Which devices have the network. Each expression is looked at only if those before hold."""
    attributes = f'device.attributes["{driver}"]'
    if spec.parent.name:
        name = json.dumps(spec.parent.name, ensure_ascii=False)  # which CEL reads as JSON does
        return [f"{attributes}.name == {name}"]
    if spec.parent.selector:
        return [spec.parent.selector]
    return [f'{attributes}.kind == "generic"']  # the device that stands for no particular link


def _capacity(spec: PodNetworkSpec) -> JsonObject:
    if spec.sharing.alone or spec.type == "hostDevice":
        return {ATTACHMENTS: ALONE}
    asked = spec.sharing.bandwidth
    return {} if asked is None else {BANDWIDTH: str(Quantity.parse(str(asked)))}


def _config(name: str, spec: PodNetworkSpec) -> JsonObject:
    plugin: JsonObject = {"type": PLUGINS[spec.type]}
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
