"""What makes an allocation impossible everywhere, not only on one node."""

from netclaim.errors import RequestError


class AllocationError(RequestError):
    """The scheduler would fail the pod: the claim, its class or a selector has to change."""
