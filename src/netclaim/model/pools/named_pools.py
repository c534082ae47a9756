"""Which AddressPools a CNI configuration names, in whatever form it is written.

Promise: every configuration gets an answer; what cannot be read names no pool, and others complain
about it. No I/O.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from netclaim.json_text import read_json

POOLED: Final = "netclaim"  # the type of `ipam` that names a pool


def pools_named(network: Any) -> Iterator[str]:
    """Yield the pools of a plugin, of a list of plugins, or of either as text."""
    if isinstance(network, str):
        try:
            network = read_json(network)
        except ValueError:
            return
    if not isinstance(network, Mapping):
        return
    plugins = network.get("plugins")
    for plugin in (network, *(plugins if isinstance(plugins, list) else ())):
        ipam = plugin.get("ipam") if isinstance(plugin, Mapping) else None
        if isinstance(ipam, Mapping) and ipam.get("type") == POOLED:
            name = ipam.get("pool")
            if name and isinstance(name, str):
                yield name
