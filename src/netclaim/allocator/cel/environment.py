"""The names a selector can begin with: the variable `device` with its fields, and types."""

from collections.abc import Mapping
from typing import Final

from netclaim.allocator.cel.types import Type, parse_type

__all__ = ["DEVICE", "DEVICE_TYPE", "FIELDS", "TYPE_NAMES"]

DEVICE: Final = "device"
DEVICE_TYPE: Final = Type("kubernetes.DRADevice")
FIELDS: Final = {
    "driver": parse_type("string"),
    "allowMultipleAllocations": parse_type("bool"),
    "attributes": parse_type("map(string, map(string, any))"),
    "capacity": parse_type("map(string, map(string, kubernetes.Quantity))"),
}
TYPE_NAMES: Final[Mapping[str, Type]] = {
    name.partition("(")[0]: Type("type", (parse_type(name),))
    for name in (
        *("bool", "int", "uint", "double", "string", "bytes", "null_type", "type", "net.IP"),
        *("list(dyn)", "map(dyn, dyn)", "optional_type(dyn)", "net.CIDR"),
    )
}
