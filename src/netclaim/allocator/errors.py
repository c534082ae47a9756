"""What makes an allocation impossible everywhere, not only on one node.

RequestError
├── ObjectError          an object that cannot be what the API server sent
└── AllocationError      the scheduler would fail the pod: a selector, a class, a claim
"""

from netclaim.errors import RequestError

__all__ = ["AllocationError", "ObjectError"]


class ObjectError(RequestError):
    """An object that lacks what the API requires of it."""


class AllocationError(RequestError):
    """No node can help: the claim, its class or a selector has to change."""
