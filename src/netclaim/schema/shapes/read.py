"""Read the shape of a kind from the tables beside this file.

Every field of resource.k8s.io, of events, of pods and of the workloads that create pods is known.
Other kinds, such as nodes, have an open shape, so their fields are kept as they are. The tables are
read once, when a shape is first needed.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from netclaim.manifests.text.yaml_dialect import load_value
from netclaim.schema.shapes.shape import Fields, ListOf, MapOf, Scalar, Shape

TABLES: Final = (
    "metadata", "claims", "pods", "volumes", "workloads", "services", "events", "networks",
)  # fmt: skip
ANYTHING: Final = Fields({}, open=True)


def shape_of(kind: str, version: str = "v1") -> Fields:
    """The shape of a kind's objects in a version of its group."""
    for name in (f"{kind}/{version}", kind):
        if name in _tables():
            return _fields_of(name)
    return Fields(_fields_of("Object").known, open=True)


@cache
def _tables() -> Mapping[str, Any]:
    tables: dict[str, Any] = {}
    for table in TABLES:
        tables |= load_value((Path(__file__).parent / f"{table}.yaml").read_bytes())
    return tables


@cache
def _named(name: str) -> Shape:
    if name == "anything":
        return ANYTHING
    return _shape(_tables()[name]) if name in _tables() else Scalar(name)


def _fields_of(name: str) -> Fields:
    shape = _named(name)
    assert isinstance(shape, Fields)
    return shape


def _shape(written: Any) -> Shape:
    match written:
        case str():
            return _named(written)
        case [item]:
            return ListOf(_shape(item))
        case {"*": value}:
            return MapOf(_shape(value))
        case _:
            return Fields(dict(_fields(written)))


def _fields(written: Mapping[str, Any]) -> Iterator[tuple[str, Shape]]:
    for names, inner in written.items():
        if names == "...":
            yield from _fields_of(inner).known.items()
        else:
            shape = _shape(inner)
            yield from ((name, shape) for name in names.split())
