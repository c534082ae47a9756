"""The shape of each kind at each of its addresses.

Of resource.k8s.io, of pods and of what makes pods every field is known. A node's or an event's pass
as they are: those shapes are open.
"""

from collections.abc import Mapping
from typing import Final

from netclaim.schema.kinds import Address, Kind
from netclaim.schema.shape import Fields, Shape
from netclaim.schema.shapes_dra import CLAIM_STATUS, CLASS_SPEC, RULE_SPEC, claim_spec, slice_spec
from netclaim.schema.shapes_meta import ANYTHING, METADATA, TEXT
from netclaim.schema.shapes_pod import POD_SPEC
from netclaim.schema.shapes_workloads import WORKLOAD_SPECS

__all__ = ["shape_of", "workload_shape"]

_FLAT_VERSION: Final = "v1beta1"


def _parts(*, flat: bool) -> Mapping[str, Mapping[str, Shape]]:
    """The fields of each kind beside the head; none where we read no others."""
    claim = claim_spec(flat=flat)
    return {
        "ResourceClaim": {"spec": claim, "status": CLAIM_STATUS},
        "ResourceClaimTemplate": {"spec": Fields({"metadata": METADATA, "spec": claim})},
        "ResourceSlice": {"spec": slice_spec(flat=flat)},
        "DeviceClass": {"spec": CLASS_SPEC},
        "DeviceTaintRule": {"spec": RULE_SPEC, "status": ANYTHING},
        "Pod": {"spec": POD_SPEC, "status": ANYTHING},
        **{name: {"spec": spec, "status": ANYTHING} for name, spec in WORKLOAD_SPECS.items()},
    }


_NESTED_PARTS: Final = _parts(flat=False)
_FLAT_PARTS: Final = _parts(flat=True)


def shape_of(kind: Kind, address: Address) -> Fields:
    """The shape that objects of a kind have at one of its addresses."""
    flat = address.version == _FLAT_VERSION
    return _shape((_FLAT_PARTS if flat else _NESTED_PARTS).get(kind.name, {}))


def workload_shape(kind: str) -> Fields:
    """The shape of what makes pods, also of kinds that are not served."""
    return _shape(_NESTED_PARTS[kind])


def _shape(parts: Mapping[str, Shape]) -> Fields:
    head: dict[str, Shape] = {"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA}
    return Fields({**head, **parts}, open=not parts)
