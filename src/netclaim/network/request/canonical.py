"""One reading of a configuration: every key in the spelling of the policy's table.

Plugins find keys in whatever case they are written, as Go's JSON does. A check that sees `master`
and a plugin that reads `MASTER` would be two readings; so what a user wrote is brought into one
form before anything looks at it, and only that form is checked, kept and run, in process and by
exec.
Promise: of two keys that some plugin could take for one, none is chosen: it is refused. What is
null is left out, as plugins read it. Limit: keys of plugin types that the table does not have stay
as they are written.
"""

import math
from collections.abc import Mapping
from typing import Final

from netclaim.cni.frozen_json import decode_json, repeated_within
from netclaim.cni.key_case import fold
from netclaim.errors import RequestError
from netclaim.model.claims.claim import JsonObject
from netclaim.network.policy.table import (
    COMMON_KEYS,
    IPAM_TYPES,
    NETWORK_KEYS,
    TYPES,
    KeyPolicy,
    TypePolicy,
)
from netclaim.paths import Path

DEPTH_MAX: Final = 32  # objects in objects; the deepest configuration in use has eight


def canonical(config: object, *, path: Path) -> JsonObject:
    """Return a configuration, given as an object or as a string of JSON, in the one form.

    A string is decoded once. JSON text inside JSON text is refused: nothing after this may decode,
    because what was judged would not be what runs.
    """
    if isinstance(config, str):
        config = _decoded(config, path)
    if not isinstance(config, dict):
        raise RequestError("must be an object, a CNI conf or conflist", path=path)
    _check_keys(config, path, DEPTH_MAX)
    network = _spelt(config, NETWORK_KEYS)
    plugins = network.get("plugins")
    if "plugins" not in network:
        return _plugin(network)
    if isinstance(plugins, list):
        network["plugins"] = [_plugin(one) if isinstance(one, dict) else one for one in plugins]
    return network


def _decoded(text: str, path: Path) -> object:
    """Read JSON in which a key may not stand twice: readers differ in what they make of that."""
    try:
        decoded = decode_json(text)
    except ValueError as error:
        raise RequestError(f"is not JSON: {error}", path=path) from error
    for twice in repeated_within(decoded):
        raise RequestError(f"the key {twice!r} appears twice; remove one", path=path)
    return decoded


def _check_keys(value: object, path: Path, depth: int) -> None:
    """Refuse two keys of one object that a plugin could take for each other, and no numbers."""
    if depth == 0:
        raise RequestError("is nested too deeply", path=path)
    if isinstance(value, float) and not math.isfinite(value):  # written as null, read as another
        raise RequestError("is not a number that JSON has", path=path)
    if isinstance(value, dict):
        seen: dict[str, str] = {}
        for key, inner in value.items():
            other = seen.setdefault(fold(key), key)
            if other != key:
                one, two = sorted((other, key))
                raise RequestError(
                    f"{one!r} and {two!r} are the same key to a CNI plugin; remove one",
                    path=path,
                )
            _check_keys(inner, (*path, key), depth - 1)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _check_keys(inner, (*path, number), depth - 1)


def _plugin(raw: JsonObject) -> JsonObject:
    plugin = _spelt(raw, COMMON_KEYS)
    plugin = _spelt(plugin, _keys_of(TYPES, plugin))
    if isinstance(plugin.get("ipam"), dict):
        ipam = _spelt(plugin["ipam"], {"type": KeyPolicy("")})
        plugin["ipam"] = _spelt(ipam, _keys_of(IPAM_TYPES, ipam))
    return plugin


def _keys_of(types: Mapping[str, TypePolicy], raw: JsonObject) -> Mapping[str, KeyPolicy]:
    named = raw.get("type")
    known = types.get(named) if isinstance(named, str) else None
    return known.keys if known is not None else {}


def _spelt(raw: JsonObject, keys: Mapping[str, KeyPolicy]) -> JsonObject:
    """Return an object with the keys that are known in their spelling, and without nulls."""
    names = {fold(name): name for name in keys}
    found: JsonObject = {}
    for key, value in raw.items():
        if value is None:
            continue
        name = names.get(fold(key), key)
        inside = keys[name].inside if name in keys else {}
        found[name] = _inside(value, inside) if inside else value
    return found


def _inside(value: object, keys: Mapping[str, KeyPolicy]) -> object:
    if isinstance(value, dict):
        return _spelt(value, keys)
    if isinstance(value, list):
        return [_inside(one, keys) for one in value]
    return value
