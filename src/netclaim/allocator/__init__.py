"""Structured allocation as kube-scheduler does it: which devices claims get, where, and why not.

cel                       selectors: compiled, evaluated, explained
device, node, claim       what is on offer, where, and what is asked for, read from v1 objects
pool, holders, match      what a node can use, what is taken, what a request can take
constraint, search        picking devices, with a way back
result, allocate          the outcome as the scheduler writes it
reason, explain           why a claim cannot be had, in a pass of its own
"""

from netclaim.allocator.allocate import Allocator, Decision, Placement
from netclaim.allocator.claim import Claim, Constraint, DeviceClass, Request, Toleration
from netclaim.allocator.device import Device, DeviceId, PoolId, Slice
from netclaim.allocator.errors import AllocationError, NotModelledError, ObjectError
from netclaim.allocator.explain import explain
from netclaim.allocator.holders import Holders
from netclaim.allocator.node import Node, NodeChoice
from netclaim.allocator.reason import (
    CapacityAsked,
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
    Uncounted,
)
from netclaim.allocator.result import Allocation

__all__ = [
    "Allocation",
    "AllocationError",
    "Allocator",
    "CapacityAsked",
    "Claim",
    "Conflict",
    "Constraint",
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
    "NotModelledError",
    "NotSelected",
    "ObjectError",
    "Placement",
    "PoolId",
    "PoolReport",
    "Reason",
    "Request",
    "RequestReport",
    "Slice",
    "Tainted",
    "Toleration",
    "Uncounted",
    "explain",
]
