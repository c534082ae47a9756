"""What makes an allocation impossible everywhere, not only on one node.

RequestError
├── ObjectError          an object that cannot be what the API server sent
└── AllocationError      the scheduler would fail the pod: a selector, a class, a claim
└── NotModelledError what it asks for is not counted here; the scheduler's answer may differ
"""

from netclaim.errors import RequestError

__all__ = ["AllocationError", "NotModelledError", "ObjectError"]


class ObjectError(RequestError):
    """An object that lacks what the API requires of it."""


class AllocationError(RequestError):
    """No node can help: the claim, its class or a selector has to change."""


class NotModelledError(AllocationError):
    """A claim asks for something whose use is not counted here."""
