"""Which CNI plugin types a network names. No I/O.

Networks are the runtime's lists, and those in the parameters of claims and classes. Promise: what
is not a network names no types. Limit: whether a network is valid is checked elsewhere.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from netclaim.json_text import read_json
from netclaim.model.claims.claim import JsonObject


def types_in(network: Any) -> Iterator[str]:
    """Yield the types of a network's plugins and of their IPAM; it may be written as a string."""
    if isinstance(network, str):
        try:
            network = read_json(network)
        except ValueError:
            return
    if not isinstance(network, dict):
        return
    plugins = network.get("plugins", [network])
    for plugin in plugins if isinstance(plugins, list) else ():
        if isinstance(plugin, dict):
            ipam = plugin.get("ipam")
            found = (plugin.get("type"), ipam.get("type") if isinstance(ipam, dict) else None)
            yield from (each for each in found if isinstance(each, str) and each)


def types_of_claims(objects: Iterable[JsonObject], driver: str) -> Iterator[str]:
    """Yield the types that claims and classes name in their parameters for a driver."""
    for found in objects:
        spec = found.get("spec") or {}
        for entry in (spec.get("devices") or spec).get("config") or ():
            opaque = entry.get("opaque") or {}
            if opaque.get("driver") == driver:
                parameters = opaque.get("parameters")
                yield from types_in((parameters or {}).get("config"))
