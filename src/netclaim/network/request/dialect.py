"""Whether a driver's parameters are netclaim's to read, whatever the driver is called.

A driver's name is anybody's choice, and so are the keys of its parameters: dranet's have an
`interface` as well, which holds an object. Ours are known by what only netclaim reads, or a driver
that it takes the place of: a group of our `apiVersion`s, or without any `apiVersion` the name of an
interface as text beside a CNI `config`. No I/O.
"""

from collections.abc import Mapping
from typing import Any, Final

from netclaim.network.request.keys import API_VERSIONS, BY_NAME

GROUPS: Final = frozenset(version.partition("/")[0] for version in API_VERSIONS)
INTERFACE_KEYS: Final = (BY_NAME["ifName"].name, BY_NAME["ifName"].plain)  # of both dialects


def is_our_dialect(parameters: Mapping[str, Any]) -> bool:
    """Whether parameters are netclaim's to read, whatever the driver is called."""
    version = parameters.get("apiVersion")
    if version is not None:
        return str(version).partition("/")[0] in GROUPS
    names = [parameters[key] for key in INTERFACE_KEYS if key in parameters]
    return bool(names) and all(isinstance(n, str) for n in names) and "config" in parameters
