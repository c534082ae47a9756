"""Structured allocation as kube-scheduler does it: which devices claims get, where, and why not.

cel                       selectors: compiled, evaluated, explained
device, node, claim       what is on offer, where, and what is asked for, read from v1 objects
capacity, counters        what there is of a device or of a pool, and what a request consumes
pool, holders, match      what a node can use, what is taken, what a request can take
taint_rule                taints by an admin, beside those of drivers
need                      what a request takes of a device, worked out once
constraint, search        picking devices, with a way back
result, allocate          the outcome as the scheduler writes it
reason, shortage, explain why a claim cannot be had, in a pass of its own
"""

from netclaim.allocator.allocate import Allocator, Decision, Placement
from netclaim.allocator.capacity import Asked, Capacity, Policy
from netclaim.allocator.claim import Claim, Constraint, DeviceClass, Request, Toleration
from netclaim.allocator.device import CounterId, Device, DeviceId, PoolId, Slice
from netclaim.allocator.errors import AllocationError, ObjectError
from netclaim.allocator.explain import explain
from netclaim.allocator.holders import Holders, Share
from netclaim.allocator.node import Node, NodeChoice
from netclaim.allocator.reason import (
    Conflict,
    DeviceReport,
    Held,
    NoAnswer,
    NodeReport,
    NotHere,
    NotSelected,
    PoolReport,
    Reason,
    RequestReport,
    Tainted,
)
from netclaim.allocator.result import Allocation
from netclaim.allocator.shortage import CounterShort, Part, Room, TooSmall, UsedUp
from netclaim.allocator.taint_rule import TaintRule, with_rules

__all__ = [
    "Allocation",
    "AllocationError",
    "Allocator",
    "Asked",
    "Capacity",
    "Claim",
    "Conflict",
    "Constraint",
    "CounterId",
    "CounterShort",
    "Decision",
    "Device",
    "DeviceClass",
    "DeviceId",
    "DeviceReport",
    "Held",
    "Holders",
    "NoAnswer",
    "Node",
    "NodeChoice",
    "NodeReport",
    "NotHere",
    "NotSelected",
    "ObjectError",
    "Part",
    "Placement",
    "Policy",
    "PoolId",
    "PoolReport",
    "Reason",
    "Request",
    "RequestReport",
    "Room",
    "Share",
    "Slice",
    "TaintRule",
    "Tainted",
    "Toleration",
    "TooSmall",
    "UsedUp",
    "explain",
    "with_rules",
]
