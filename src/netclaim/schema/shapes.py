"""The shape of each kind at each of its addresses.

Of resource.k8s.io every field is known. A pod's or a node's many fields that we do not read pass:
those shapes are open.
"""

from collections.abc import Mapping
from typing import Final

from netclaim.schema.kinds import Address, Kind
from netclaim.schema.shape import Fields, ListOf, MapOf, Shape
from netclaim.schema.shapes_dra import CLAIM_STATUS, CLASS_SPEC, claim_spec, slice_spec
from netclaim.schema.shapes_meta import ANYTHING, FLAG, METADATA, TEXT, TEXTS, WHOLE

__all__ = ["shape_of"]

POD_CLAIM: Final = Fields(
    {"name": TEXT, "resourceClaimName": TEXT, "resourceClaimTemplateName": TEXT}
)
CONTAINER: Final = Fields(
    {
        "name": TEXT,
        "image": TEXT,
        "resources": Fields({"claims": ListOf(Fields({"name": TEXT, "request": TEXT}))}, open=True),
    },
    open=True,
)
POD_SPEC: Final = Fields(
    {
        "containers": ListOf(CONTAINER),
        "initContainers": ListOf(CONTAINER),
        "resourceClaims": ListOf(POD_CLAIM),
        "nodeName": TEXT,
        "nodeSelector": MapOf(TEXT),
        "hostNetwork": FLAG,
    },
    open=True,
)
LABEL_SELECTOR: Final = Fields(
    {
        "matchLabels": MapOf(TEXT),
        "matchExpressions": ListOf(Fields({"key": TEXT, "operator": TEXT, "values": TEXTS})),
    }
)
REPLICATED: Final = Fields(
    {
        "replicas": WHOLE,
        "selector": LABEL_SELECTOR,
        "template": Fields({"metadata": METADATA, "spec": POD_SPEC}),
    },
    open=True,
)

_FLAT_VERSION: Final = "v1beta1"


def _parts(*, flat: bool) -> Mapping[str, Mapping[str, Shape]]:
    """The fields of each kind beside the head; none where we read no others."""
    claim = claim_spec(flat=flat)
    return {
        "ResourceClaim": {"spec": claim, "status": CLAIM_STATUS},
        "ResourceClaimTemplate": {"spec": Fields({"metadata": METADATA, "spec": claim})},
        "ResourceSlice": {"spec": slice_spec(flat=flat)},
        "DeviceClass": {"spec": CLASS_SPEC},
        "Pod": {"spec": POD_SPEC, "status": ANYTHING},
        "Deployment": {"spec": REPLICATED, "status": ANYTHING},
        "ReplicaSet": {"spec": REPLICATED, "status": ANYTHING},
    }


_NESTED_PARTS: Final = _parts(flat=False)
_FLAT_PARTS: Final = _parts(flat=True)


def shape_of(kind: Kind, address: Address) -> Fields:
    """The shape that objects of a kind have at one of its addresses."""
    flat = address.version == _FLAT_VERSION
    parts = (_FLAT_PARTS if flat else _NESTED_PARTS).get(kind.name, {})
    head: dict[str, Shape] = {"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA}
    return Fields({**head, **parts}, open=not parts)
