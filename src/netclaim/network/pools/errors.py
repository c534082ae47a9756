"""Why an interface gets no address of a pool now; each may pass, and is waited for."""

from netclaim.errors import PeerError, Reason
from netclaim.framework import LaterError, NotBegunError


class PoolFullError(NotBegunError, LaterError, PeerError):
    """A pool has no free address; one may be given back any moment."""

    why: Reason = "limit"


class NamespaceFullError(NotBegunError, LaterError, PeerError):
    """A namespace has all addresses of a pool that it may have."""

    why: Reason = "limit"


class PoolNotReadyError(NotBegunError, LaterError, PeerError):
    """A pool is not to be used now; its admin acts."""


class OwnerMissingError(NotBegunError, LaterError, PeerError):
    """What the addresses are to be kept for is not there yet."""


class AddressTakenError(NotBegunError, LaterError, PeerError):
    """Somebody has the address that was chosen; it may be about to be given back."""
