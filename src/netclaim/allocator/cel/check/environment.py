"""The names a selector can begin with: the variable `device` with its fields, and types.

A driver's own expressions, which the scheduler never sees, also know `node`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from netclaim.allocator.cel.syntax import ast
from netclaim.allocator.cel.values.types import Type, parse_type

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


class DevicePath(NamedTuple):
    """What `device.attributes["domain"].name` reads."""

    kind: str  # attributes or capacity
    domain: str
    name: str


def path_of(node: ast.Node) -> DevicePath | None:
    """Return what a path by constants from the device reads; None if it is not such a path."""
    keys = _keys(node)
    return DevicePath(*keys) if keys is not None and len(keys) == 3 else None


def _keys(node: ast.Node) -> tuple[str, ...] | None:
    match node:
        case ast.Ident(name=name):
            return () if name == DEVICE else None
        case ast.Select(kind="value"):
            key, owner = node.field, _keys(node.operand)
        case ast.Call(function="_[_]", arguments=(operand, ast.Constant(value=str() as key))):
            owner = _keys(operand)
        case _:
            return None
    return None if owner is None else (*owner, key)
