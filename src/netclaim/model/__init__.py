"""Frozen values that travel between the stages: no I/O, no behaviour but reading and checking.

devices   what a driver offers
claims    what a driver is given
on_node   what becomes of it on the node: plan, pod, attachment, what is left over
pools     pools of addresses
api       the API's objects as JSON has them
quantity  amounts
text      text within a limit
"""

from netclaim.model.api.dra.device_json import device_json
from netclaim.model.claims.claim import (
    AllocatedDevice,
    Claim,
    ClaimError,
    Consumer,
    DeviceKey,
    JsonObject,
    OpaqueConfig,
    ReportedDevice,
    parse_claim,
)
from netclaim.model.devices.counter import CounterSet, CounterUse
from netclaim.model.devices.device import (
    AttributeValue,
    Capacity,
    Device,
    DeviceError,
    RequestPolicy,
    Taint,
    ValidRange,
    Version,
)
from netclaim.model.on_node.attachment import Attachment, AttachmentKey, Interface
from netclaim.model.on_node.leftover import Leftover, Living
from netclaim.model.on_node.node import NodeFacts
from netclaim.model.on_node.plan import ContainerEdits, DeviceNode, Mount, Plan, Prepared
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer, PreparedDevice
from netclaim.model.quantity import Quantity, QuantityError

__all__ = [
    "AllocatedDevice",
    "Attachment",
    "AttachmentKey",
    "AttributeValue",
    "Capacity",
    "Claim",
    "ClaimError",
    "ClaimRef",
    "Consumer",
    "ContainerEdits",
    "CounterSet",
    "CounterUse",
    "Device",
    "DeviceError",
    "DeviceKey",
    "DeviceNode",
    "Interface",
    "JsonObject",
    "Leftover",
    "Living",
    "Mount",
    "NodeFacts",
    "OpaqueConfig",
    "Plan",
    "PodSandbox",
    "PrepareAnswer",
    "Prepared",
    "PreparedDevice",
    "Quantity",
    "QuantityError",
    "ReportedDevice",
    "RequestPolicy",
    "Taint",
    "ValidRange",
    "Version",
    "device_json",
    "parse_claim",
]
