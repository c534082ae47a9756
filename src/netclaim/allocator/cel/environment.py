"""The names a selector can begin with: the variable `device` with its fields, and types.

A driver's own expressions, which the scheduler never sees, also know `node`.
"""

from collections.abc import Mapping
from typing import Final

from netclaim.allocator.cel.types import Type, parse_type

__all__ = ["DEVICE", "NODE", "OBJECTS", "TYPE_NAMES", "VARIABLES", "VARIABLES_ON_NODE"]

DEVICE: Final = "device"
NODE: Final = "node"
DEVICE_TYPE: Final = Type("kubernetes.DRADevice")
NODE_TYPE: Final = Type("netclaim.Node")
OBJECTS: Final[Mapping[Type, Mapping[str, Type]]] = {  # by their types: the fields of each
    DEVICE_TYPE: {
        "driver": parse_type("string"),
        "allowMultipleAllocations": parse_type("bool"),
        "attributes": parse_type("map(string, map(string, any))"),
        "capacity": parse_type("map(string, map(string, kubernetes.Quantity))"),
    },
    NODE_TYPE: {
        "name": parse_type("string"),
        "labels": parse_type("map(string, string)"),
    },
}
VARIABLES: Final = {DEVICE: DEVICE_TYPE}
VARIABLES_ON_NODE: Final = {**VARIABLES, NODE: NODE_TYPE}
TYPE_NAMES: Final[Mapping[str, Type]] = {
    name.partition("(")[0]: Type("type", (parse_type(name),))
    for name in (
        *("bool", "int", "uint", "double", "string", "bytes", "null_type", "type", "net.IP"),
        *("list(dyn)", "map(dyn, dyn)", "optional_type(dyn)", "net.CIDR"),
    )
}
