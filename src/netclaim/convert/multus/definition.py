"""Read a NetworkAttachmentDefinition: the CNI configuration that Multus runs for it.

Promise: the configuration is in the one spelling that the driver checks and runs, and has a name:
its own, or the object's, which Multus puts in. What netclaim cannot run at all is refused, with the
place and with what to do instead. `spec.conf` is read as `spec.config`, as talks spell it. No I/O.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from netclaim.convert.multus.annotation import NETWORK
from netclaim.convert.places import TextField
from netclaim.errors import RequestError
from netclaim.manifests.objects import Object, inside
from netclaim.model.claims.claim import JsonObject
from netclaim.network.request.canonical import canonical
from netclaim.paths import Path

API_VERSION: Final = "k8s.cni.cncf.io/v1"
RESOURCE_NAME: Final = "k8s.v1.cni.cncf.io/resourceName"
NetworkKey: TypeAlias = tuple[str, str]
"""The namespace and the name of a NetworkAttachmentDefinition."""
SPELLINGS: Final = ("config", "conf")
LIST_VERSION: Final = "0.4.0"  # of a list that names none: what every plugin in use speaks

# Types that do nothing without another component, and what to write instead.
_DEVICE_PLUGIN: Final = (
    "gets its device from a device plugin; a virtual function is a link of its node, so write a"
    " PodNetwork of type hostDevice that selects it"
)
_OVN: Final = "is served by OVN-Kubernetes for Multus only"
ELSEWHERE: Final[Mapping[str, str]] = {
    "sriov": _DEVICE_PLUGIN,
    "ib-sriov": _DEVICE_PLUGIN,
    "ib-sriov-cni": _DEVICE_PLUGIN,
    "accelerated-bridge": _DEVICE_PLUGIN,
    "ovn-k8s-cni-overlay": _OVN,
    "multus": "is Multus itself",
    "multus-shim": "is Multus itself",
}


@dataclass(frozen=True, slots=True)
class Definition:
    """A network as Multus has it."""

    one: Object
    text: TextField  # where the configuration is
    config: JsonObject  # a conf or a conflist, with a name
    plugins: tuple[JsonObject, ...]  # a conf is a list of one

    @property
    def key(self) -> NetworkKey:
        """Which network it is."""
        return self.one.namespace, self.one.name

    @property
    def capabilities(self) -> frozenset[str]:
        """What the configuration lets pods choose: `ips`, `mac` and others."""
        offered = (plugin.get("capabilities") for plugin in self.plugins)
        return frozenset(
            name
            for one in offered
            if isinstance(one, dict)
            for name, is_on in one.items()
            if is_on is True
        )

    def plugin_at(self, number: int) -> Path:
        """Return the path of a plugin in the configuration."""
        return ("plugins", number) if "plugins" in self.config else ()


class UnconvertedError(RequestError):
    """A network that stays with Multus; `path` is inside the configuration."""


def is_definition(one: Object) -> bool:
    """Whether it is a NetworkAttachmentDefinition."""
    return one.kind == NETWORK and one.object.get("apiVersion") == API_VERSION


def read_definition(one: Object) -> Definition:
    """Return the network of an object; UnconvertedError if it cannot be had without Multus."""
    spec = inside(one.object, ("spec",))
    key = next((key for key in SPELLINGS if spec.get(key)), SPELLINGS[0])
    text = TextField(one, ("spec", key))
    if not spec.get(key):
        raise UnconvertedError(
            "has no configuration, so Multus reads it from a file on each node; write that file's"
            " content here"
        )
    try:
        config = json.loads(json.dumps(canonical(spec[key], path=())))  # which is frozen
    except RequestError as error:
        raise UnconvertedError(error.message, path=error.path) from error
    config = {"name": one.name, **{key: value for key, value in config.items() if value != ""}}
    if "plugins" in config:
        config.setdefault("cniVersion", LIST_VERSION)
    listed = config.get("plugins", [config])
    if not isinstance(listed, list) or not listed:
        raise UnconvertedError("must be a list of at least one plugin", path=("plugins",))
    found = Definition(one, text, config, tuple(listed))
    for number, plugin in enumerate(listed):
        _check_plugin(plugin, found.plugin_at(number))
    return found


def _check_plugin(plugin: Any, at: Path) -> None:
    if not isinstance(plugin, dict):
        raise UnconvertedError("must be an object", path=at)
    type_ = plugin.get("type")
    if not isinstance(type_, str) or not type_:
        raise UnconvertedError("type is missing; for example macvlan", path=(*at, "type"))
    if type_ in ELSEWHERE:
        raise UnconvertedError(f"{type_} {ELSEWHERE[type_]}", path=(*at, "type"))
