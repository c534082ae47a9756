"""Read a CNI network configuration, a list of plugins or a single one, as a user wrote it.

Promise: a `NetworkList` is complete, cannot change, and every plugin of it can be called; whatever
else was given raises a RequestError whose `path` leads to what to change.
Limit: knows what the runtime must know of a configuration. What a plugin's own keys mean, and
whether the plugin is installed, it does not ask. Keys it does not know it passes on, as the
specification wants.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from netclaim.cni.frozen_json import frozen
from netclaim.cni.version import (
    CHAINING,
    LATEST,
    NO_VERSION,
    SPEC_VERSIONS,
    at_least,
    version_key,
)
from netclaim.errors import RequestError
from netclaim.paths import Key, Path

# The specification's rule for network names and container ids; plugins are files of such names.
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

# A cached result's file name is NETWORK-CONTAINER-IFNAME: 255 bytes, less two dashes, the 64 of a
# container id and the 15 of an interface name.
NETWORK_NAME_MAX = 174

EXAMPLES = {"name": "storage", "type": "macvlan"}  # of what a configuration cannot do without


@dataclass(frozen=True, slots=True)
class PluginConf:
    """One plugin of a network: its configuration, and what the runtime reads of it."""

    type: str
    config: Mapping[str, Any]  # frozen
    ipam_type: str = ""  # empty: no address management
    capabilities: frozenset[str] = frozenset()  # those switched on


@dataclass(frozen=True, slots=True)
class NetworkList:
    """A network: its name and its plugins in the order of ADD."""

    name: str
    version: str  # the newest that the configuration allows and we speak
    plugins: tuple[PluginConf, ...]
    disable_check: bool = False
    disable_gc: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the list as an object that reads back as this value."""
        listed: dict[str, Any] = {"cniVersion": self.version, "name": self.name}
        if self.disable_check:
            listed["disableCheck"] = True
        if self.disable_gc:
            listed["disableGC"] = True
        return listed | {"plugins": [plugin.config for plugin in self.plugins]}

    def to_json(self) -> bytes:
        """Return the list as JSON."""
        return msgspec.json.encode(self.to_dict())

    def with_keys(self, index: int, keys: Mapping[str, object]) -> "NetworkList":
        """Return this list with keys set in the plugin at `index`, such as its `master`."""
        changed = _plugin(frozen({**self.plugins[index].config, **keys}), ("plugins", index))
        plugins = (*self.plugins[:index], changed, *self.plugins[index + 1 :])
        return replace(self, plugins=plugins)

    def with_plugin(self, config: Mapping[str, object]) -> "NetworkList":
        """Return this list with one more plugin at its end."""
        added = _plugin(frozen({**config}), ("plugins", len(self.plugins)))
        return replace(self, plugins=(*self.plugins, added))


def decode_network(text: str | bytes, *, path: Path = ("config",)) -> NetworkList:
    """Read a CNI configuration from JSON text, such as one that was cached."""
    try:
        config = msgspec.json.decode(text)
    except RecursionError as error:
        raise RequestError("is nested too deeply", path=path) from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise RequestError(f"is not JSON: {error}", path=path) from error
    return parse_network(config, path=path)


def parse_network(config: object, *, path: Path = ("config",)) -> NetworkList:
    """Read a CNI configuration: an object that is a list of plugins or a single one.

    Text is refused and never decoded here: whatever judged the configuration would have judged
    something else. `path` is where it stood, and starts the `path` of every error.
    """
    raw = _load(config, path)
    name = _plain_name(raw, "name", path)
    if len(name) > NETWORK_NAME_MAX:
        raise RequestError(f"is longer than {NETWORK_NAME_MAX} characters", path=(*path, "name"))
    network = NetworkList(
        name=name,
        version=_version(raw, path),
        plugins=_plugins(raw, path),
        disable_check=_flag(raw, "disableCheck", path),
        disable_gc=_flag(raw, "disableGC", path),
    )
    if len(network.plugins) > 1 and not at_least(network.version, CHAINING):
        raise RequestError(
            f"several plugins need {CHAINING} or newer, but this is {network.version}; "
            f"use for example 1.0.0",
            path=(*path, "cniVersion"),
        )
    return network


def _load(config: object, path: Path) -> dict[str, Any]:
    """Return a frozen copy of the configuration, made of what JSON has and nothing else."""
    if not isinstance(config, dict):
        raise RequestError("must be an object, a CNI conf or conflist", path=path)
    try:
        raw: dict[str, Any] = frozen(msgspec.json.decode(msgspec.json.encode(config)))
    except RecursionError as error:
        raise RequestError("is nested too deeply", path=path) from error
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError) as error:
        raise RequestError(f"is not JSON: {error}", path=path) from error
    return raw


def _plain_name(raw: Mapping[str, Any], key: str, path: Path) -> str:
    value = raw.get(key)
    if value is None or value == "":
        raise RequestError(f"{key} is missing; for example {EXAMPLES[key]}", path=(*path, key))
    if not isinstance(value, str) or not PLAIN_NAME.fullmatch(value):
        raise RequestError(
            f"{value!r} must start with a letter or digit and hold only those, '_', '.' and '-'",
            path=(*path, key),
        )
    return value


def _flag(raw: Mapping[str, Any], key: str, path: Path) -> bool:
    """Read a boolean, which libcni also takes as the word."""
    value = raw.get(key, False)
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise RequestError("must be true or false", path=(*path, key))
    return value


def _version(raw: Mapping[str, Any], path: Path) -> str:
    """Return the newest version of those offered that we speak."""
    offered = _offered_versions(raw, path)
    if not offered:
        return NO_VERSION
    spoken = [version for version in offered if at_least(LATEST, version)]
    best = max(spoken, key=version_key, default=offered[0])
    if best not in SPEC_VERSIONS:
        raise RequestError(
            f"{best} is not a CNI version that netclaim supports; "
            f"choose one of {', '.join(SPEC_VERSIONS)}",
            path=(*path, "cniVersion"),
        )
    return best


def _offered_versions(raw: Mapping[str, Any], path: Path) -> list[str]:
    several = raw.get("cniVersions", [])
    if not isinstance(several, list):
        raise RequestError("must be a list of versions", path=(*path, "cniVersions"))
    offered: list[tuple[Path, object]] = [
        (("cniVersions", index), version) for index, version in enumerate(several)
    ]
    if raw.get("cniVersion"):
        offered.insert(0, (("cniVersion",), raw["cniVersion"]))
    versions: list[str] = []
    for key, version in offered:
        if not isinstance(version, str):  # YAML makes a number of 1.0
            raise RequestError(f"write {version!r} in quotes", path=(*path, *key))
        try:
            version_key(version)
        except ValueError as error:
            raise RequestError(str(error), path=(*path, *key)) from error
        versions.append(version)
    return versions


def _plugins(raw: Mapping[str, Any], path: Path) -> tuple[PluginConf, ...]:
    """Return the plugins of a list, or the one plugin that the configuration itself is."""
    if "plugins" not in raw:
        if "type" not in raw:
            raise RequestError("plugins is missing; list a plugin", path=(*path, "plugins"))
        return (_plugin(raw, path),)
    listed = raw["plugins"]
    if not isinstance(listed, list) or not listed:
        raise RequestError("must be a list of at least one plugin", path=(*path, "plugins"))
    return tuple(_plugin(item, (*path, "plugins", index)) for index, item in enumerate(listed))


def _plugin(raw: object, path: Path) -> PluginConf:
    if not isinstance(raw, dict):
        raise RequestError("must be an object", path=path)
    ipam = raw.get("ipam") or {}
    if not isinstance(ipam, dict):
        raise RequestError("must be an object", path=(*path, "ipam"))
    if not isinstance(ipam.get("type", ""), str):
        raise RequestError("must be a string", path=(*path, "ipam", "type"))
    return PluginConf(
        type=_plain_name(raw, "type", path),
        config=raw,
        ipam_type=_plain_name(ipam, "type", (*path, "ipam")) if ipam.get("type") else "",
        capabilities=_capabilities(raw, path),
    )


def _capabilities(raw: Mapping[str, Any], path: Path) -> frozenset[str]:
    switches = raw.get("capabilities") or {}
    if not isinstance(switches, dict):
        raise RequestError("must be an object", path=(*path, "capabilities"))
    where = (*path, "capabilities")
    return frozenset(name for name in switches if _flag(switches, Key(name), where))
