"""Structured allocation as kube-scheduler does it: which devices claims get, where, and why not.

allocate  where the claims of a pod can get their devices, and which
result    the outcome as the scheduler writes it
errors    what makes an allocation impossible everywhere

objects   what is on offer, where, and what is asked for
search    picking devices on one node
why       why a claim cannot be had
cel       selectors: compiled, evaluated, explained
"""

from netclaim.allocator.allocate import Allocator, Decision
from netclaim.allocator.errors import AllocationError
from netclaim.allocator.objects.claim import Claim, Request
from netclaim.allocator.objects.device import Device, Slice
from netclaim.allocator.objects.node import Node
from netclaim.allocator.objects.taint_rule import with_rules
from netclaim.allocator.result import Allocation
from netclaim.allocator.search.holders import Holders
from netclaim.allocator.why.addresses import addresses_short
from netclaim.allocator.why.explain import explain
from netclaim.allocator.why.reason import (
    DeviceReport,
    Held,
    NoAnswer,
    NodeReport,
    NotHere,
    NotSelected,
    Reason,
    RequestReport,
    Tainted,
)
from netclaim.allocator.why.shortage import Part, Room, Shortage

__all__ = [
    "Allocation",
    "AllocationError",
    "Allocator",
    "Claim",
    "Decision",
    "Device",
    "DeviceReport",
    "Held",
    "Holders",
    "NoAnswer",
    "Node",
    "NodeReport",
    "NotHere",
    "NotSelected",
    "Part",
    "Reason",
    "Request",
    "RequestReport",
    "Room",
    "Shortage",
    "Slice",
    "Tainted",
    "addresses_short",
    "explain",
    "with_rules",
]
