"""What can go wrong between a claim and an interface, beyond what CNI and the kernel say.

    RequestError
    ├── ParametersError   a claim's parameters have several mistakes; each is in `faults`
    ├── PolicyError       a claim asks for more than its namespace's level, or its link, allows
    ├── PlanRefusedError  a plan that was made before asks for more than is allowed now
    └── NameTakenError    two interfaces of a pod cannot have one name
    PeerError
    └── LinkGoneError     the allocated link is not on the node now; it may come back
    HostError
    ├── NoCarrierError    the allocated link has no carrier, and its pod may go elsewhere
    └── UnfitNodeError    the node lacks something that an admin's network needs

The last three are refusals: where one is raised, nothing was done yet. A plugin's own failure is a
CniError, and goes to the user in the plugin's own words.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from netclaim.errors import (
    HostError,
    NetclaimError,
    PeerError,
    Reason,
    RequestError,
    worst_reason,
)
from netclaim.framework import LaterError, NotBegunError, UnfitError
from netclaim.model.claims.claim import DeviceKey


class ParametersError(RequestError):
    """Several mistakes of one claim, reported together."""

    def __init__(self, faults: Sequence[RequestError]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = tuple(faults)
        self.why = worst_reason(faults)


class PolicyError(RequestError):
    """A claim asks for what an admin has not allowed it."""

    why: Reason = "policy"


class PlanRefusedError(NotBegunError, RequestError):
    """A plan that was made before asks for more than is allowed now."""

    why: Reason = "policy"


@contextmanager
def about(device: DeviceKey) -> Iterator[None]:
    """Have an error of the block say which of a claim's devices it is about."""
    try:
        yield
    except NetclaimError as error:
        error.device = device
        raise


def raise_all(faults: Sequence[RequestError]) -> None:
    """Raise what was found, if anything was: one fault as it is, several as one error."""
    match faults:
        case []:
            return
        case [only]:
            raise only
        case several:
            raise ParametersError(several)


class NoCarrierError(HostError):
    """A link has no carrier; its taint keeps others away."""

    why: Reason = "device"

    def __init__(self, link: str) -> None:
        super().__init__(f"the link {link} has no carrier")


class UnfitNodeError(UnfitError, HostError):
    """The node lacks something that an admin's network needs."""


class NameTakenError(NotBegunError, RequestError):
    """The pod has an interface of this name already."""

    def __init__(self, ifname: str) -> None:
        super().__init__(
            f"the pod already has an interface named {ifname!r}; "
            f"use a different name for each claim of the pod",
            path=("ifName",),
        )
        self.ifname = ifname


class NotUndoneError(NotBegunError, PeerError):
    """A plugin that should undo something could not be started yet."""


class LinkGoneError(NotBegunError, LaterError, PeerError):
    """A link that was allocated is not in the node's namespace."""

    why: Reason = "device"

    def __init__(self, link: str) -> None:
        super().__init__(
            f"the allocated link {link!r} is not on the node; "
            f"it was removed or renamed, or another pod has it"
        )
        self.link = link
