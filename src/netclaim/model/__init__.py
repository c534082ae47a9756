"""Frozen values that travel between the stages: no I/O, no behaviour but reading and checking.

device, counter, device_name      what a driver offers
link_name                         what the name of a device says of its link
claim, opaque_config              what a driver is given
claim_text, unreadable            the same from text, and what stands for parameters that are none
plan, attachment, pod, prepared   what becomes of it on the node
leftover, node                    what garbage collection and discovery go by
quantity                          amounts
api                               the API's objects as JSON has them
address_space                     the addresses of a pool, as numbers
counted_pool                      what a pool of addresses is called among devices
named_pools                       which pools of addresses a CNI configuration names
named_drivers                     which drivers a selector names
text                              text within a limit
"""

from netclaim.model.api.device_json import device_json
from netclaim.model.attachment import Attachment, AttachmentKey, Interface
from netclaim.model.claim import (
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
from netclaim.model.counter import CounterSet, CounterUse
from netclaim.model.device import (
    AttributeValue,
    Capacity,
    Device,
    DeviceError,
    RequestPolicy,
    Taint,
    ValidRange,
    Version,
)
from netclaim.model.leftover import Leftover, Living
from netclaim.model.node import NodeFacts
from netclaim.model.plan import ContainerEdits, DeviceNode, Mount, Plan, Prepared
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef, PrepareAnswer, PreparedDevice
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
