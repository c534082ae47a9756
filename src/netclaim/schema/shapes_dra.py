"""The shapes of resource.k8s.io: every field that Kubernetes 1.37 has there, or 1.36 had."""

from collections.abc import Mapping
from typing import Final

from netclaim.schema.shape import Fields, ListOf, MapOf, Shape
from netclaim.schema.shapes_meta import (
    ANYTHING,
    FLAG,
    QUANTITY,
    RAW,
    TEXT,
    TEXTS,
    TIME,
    WHOLE,
)

__all__ = ["CLAIM_STATUS", "CLASS_SPEC", "RULE_SPEC", "claim_spec", "slice_spec"]

NODE_SELECTOR: Final = Fields({"nodeSelectorTerms": ListOf(ANYTHING)})
SELECTORS: Final = ListOf(Fields({"cel": Fields({"expression": TEXT})}))
TOLERATIONS: Final = ListOf(
    Fields(
        {
            "key": TEXT,
            "operator": TEXT,
            "value": TEXT,
            "effect": TEXT,
            "tolerationSeconds": WHOLE,
        }
    )
)
OPAQUE: Final = Fields({"driver": TEXT, "parameters": RAW})
CONFIG: Final[Mapping[str, Shape]] = {"requests": TEXTS, "opaque": OPAQUE}

ALTERNATIVE: Final[Mapping[str, Shape]] = {
    "deviceClassName": TEXT,
    "selectors": SELECTORS,
    "allocationMode": TEXT,
    "count": WHOLE,
    "tolerations": TOLERATIONS,
    "capacity": Fields({"requests": MapOf(QUANTITY)}),
    "derivedAttributes": ListOf(Fields({"name": TEXT, "expression": TEXT})),
}
EXACTLY: Final[Mapping[str, Shape]] = {**ALTERNATIVE, "adminAccess": FLAG}
FIRST_AVAILABLE: Final = ListOf(Fields({"name": TEXT, **ALTERNATIVE}))
REQUEST: Final = Fields(
    {"name": TEXT, "exactly": Fields(EXACTLY), "firstAvailable": FIRST_AVAILABLE}
)
FLAT_REQUEST: Final = Fields({"name": TEXT, **EXACTLY, "firstAvailable": FIRST_AVAILABLE})


def claim_spec(*, flat: bool) -> Fields:
    """A claim's spec; a flat one has requests as v1beta1 has them."""
    devices: Mapping[str, Shape] = {
        "requests": ListOf(FLAT_REQUEST if flat else REQUEST),
        "constraints": ListOf(
            Fields({"requests": TEXTS, "matchAttribute": TEXT, "distinctAttribute": TEXT})
        ),
        "config": ListOf(Fields(CONFIG)),
    }
    return Fields({"devices": Fields(devices)})


RESULT: Final = Fields(
    {
        "request": TEXT,
        "driver": TEXT,
        "pool": TEXT,
        "device": TEXT,
        "adminAccess": FLAG,
        "tolerations": TOLERATIONS,
        "bindingConditions": TEXTS,
        "bindingFailureConditions": TEXTS,
        "shareID": TEXT,
        "consumedCapacity": MapOf(QUANTITY),
        "skipNodeOperations": TEXTS,
    }
)
CONDITION: Final = Fields(
    {
        "type": TEXT,
        "status": TEXT,
        "observedGeneration": WHOLE,
        "lastTransitionTime": TIME,
        "reason": TEXT,
        "message": TEXT,
    }
)
DEVICE_STATUS: Final = Fields(
    {
        "driver": TEXT,
        "pool": TEXT,
        "device": TEXT,
        "shareID": TEXT,
        "conditions": ListOf(CONDITION),
        "data": RAW,
        "networkData": Fields({"interfaceName": TEXT, "ips": TEXTS, "hardwareAddress": TEXT}),
    }
)
ALLOCATION: Final = Fields(
    {
        "devices": Fields(
            {"results": ListOf(RESULT), "config": ListOf(Fields({"source": TEXT, **CONFIG}))}
        ),
        "nodeSelector": NODE_SELECTOR,
        "allocationTimestamp": TIME,
    }
)
CONSUMER: Final = Fields({"apiGroup": TEXT, "resource": TEXT, "name": TEXT, "uid": TEXT})
CLAIM_STATUS: Final = Fields(
    {
        "allocation": ALLOCATION,
        "reservedFor": ListOf(CONSUMER),
        "devices": ListOf(DEVICE_STATUS),
    }
)

COUNTERS: Final = MapOf(Fields({"value": QUANTITY}))
VALID_RANGE: Final = Fields({"min": QUANTITY, "max": QUANTITY, "step": QUANTITY})
CAPACITY: Final = Fields(
    {
        "value": QUANTITY,
        "requestPolicy": Fields(
            {"default": QUANTITY, "validValues": ListOf(QUANTITY), "validRange": VALID_RANGE}
        ),
    }
)
ATTRIBUTE: Final = Fields(
    {
        "int": WHOLE,
        "bool": FLAG,
        "string": TEXT,
        "version": TEXT,
        "ints": ListOf(WHOLE),
        "bools": ListOf(FLAG),
        "strings": TEXTS,
        "versions": TEXTS,
    }
)
TAINT: Final = Fields({"key": TEXT, "value": TEXT, "effect": TEXT, "timeAdded": TIME})
MAPPING: Final = Fields({"capacityKey": TEXT, "allocationMultiplier": QUANTITY})  # of 1.36 alone
NODE_RESOURCE: Final = Fields(
    {
        "mapping": Fields(
            {"capacityKey": TEXT, "capacityMultiplier": QUANTITY, "deviceMultiplier": QUANTITY}
        ),
        "overhead": Fields({"perPod": QUANTITY, "perContainer": QUANTITY}),
    }
)
COUNTER_USE: Final = Fields(
    {"counterSet": TEXT, "counters": COUNTERS, "compatibilityGroups": TEXTS}
)
DEVICE: Final[Mapping[str, Shape]] = {
    "attributes": MapOf(ATTRIBUTE),
    "capacity": MapOf(CAPACITY),
    "consumesCounters": ListOf(COUNTER_USE),
    "nodeName": TEXT,
    "nodeSelector": NODE_SELECTOR,
    "allNodes": FLAG,
    "taints": ListOf(TAINT),
    "bindsToNode": FLAG,
    "bindingConditions": TEXTS,
    "bindingFailureConditions": TEXTS,
    "allowMultipleAllocations": FLAG,
    "nodeAllocatableResourceMappings": MapOf(MAPPING),
    "nodeAllocatableResources": MapOf(NODE_RESOURCE),
}


def slice_spec(*, flat: bool) -> Fields:
    """A slice's spec; a flat one has devices as v1beta1 has them."""
    inner: Mapping[str, Shape] = {"basic": Fields(DEVICE)} if flat else DEVICE
    return Fields(
        {
            "driver": TEXT,
            "pool": Fields({"name": TEXT, "generation": WHOLE, "resourceSliceCount": WHOLE}),
            "nodeName": TEXT,
            "nodeSelector": NODE_SELECTOR,
            "allNodes": FLAG,
            "devices": ListOf(Fields({"name": TEXT, **inner})),
            "perDeviceNodeSelection": FLAG,
            "sharedCounters": ListOf(Fields({"name": TEXT, "counters": COUNTERS})),
            "partitionTypeAttribute": TEXT,
            "skipNodeOperations": TEXTS,
        }
    )


RULE_SPEC: Final = Fields(
    {"deviceSelector": Fields({"driver": TEXT, "pool": TEXT, "device": TEXT}), "taint": TAINT}
)
CLASS_SPEC: Final = Fields(
    {
        "selectors": SELECTORS,
        "config": ListOf(Fields({"opaque": OPAQUE})),
        "extendedResourceName": TEXT,
    }
)
