"""The functions that selectors can call: CEL's own, cel-go's extensions, Kubernetes' libraries.

function                   how a function is declared, found by its types, and called
arithmetic, conversions    operators, and CEL's own functions
lists, strings, optionals  cel-go's extensions
net, quantities, regexes, versions   Kubernetes' libraries
"""

from collections.abc import Mapping
from typing import Final

from netclaim.allocator.cel.library import (
    arithmetic,
    conversions,
    lists,
    net,
    optionals,
    quantities,
    regexes,
    strings,
    versions,
)
from netclaim.allocator.cel.library.function import Function, group

__all__ = ["FUNCTIONS", "UNSUPPORTED"]

FUNCTIONS: Final[Mapping[str, Function]] = group(
    (
        *arithmetic.OVERLOADS,
        *conversions.OVERLOADS,
        *strings.OVERLOADS,
        *regexes.OVERLOADS,
        *lists.OVERLOADS,
        *optionals.OVERLOADS,
        *quantities.OVERLOADS,
        *versions.OVERLOADS,
        *net.OVERLOADS,
    )
)

# The scheduler has them; no attribute of a device is a time or a URL.
UNSUPPORTED: Final = frozenset(
    {"duration", "format", "isURL", "timestamp", "url"}
    | {f"format.{name}" for name in ("named", "uri", "uuid", "byte", "date", "datetime")}
    | {
        f"format.{name}{suffix}"
        for name in ("dns1123Label", "dns1123Subdomain", "dns1035Label")
        for suffix in ("", "Prefix")
    }
    | {"format.qualifiedName", "format.labelValue"}
)
