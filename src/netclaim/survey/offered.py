"""PodNetworks and AddressPools, as their controller reports them: what is wrong with one. No I/O.

Promise: every command that shows a cluster judges them alike. What an admin switched off or deleted
is as somebody wants it. A report about an earlier version of an object is none.
"""

from dataclasses import dataclass
from typing import Final

from netclaim.model.api.own_kinds.address_pool import AddressPool
from netclaim.model.api.own_kinds.pod_network import PodNetwork

MEANT: Final = ("Disabled", "Deleted")  # reasons of an admin
UNSEEN: Final = "the controller has not looked at it as it is now"
NEARLY_FULL: Final = 10  # less than a tenth is free; as the alert that the chart has


@dataclass(frozen=True, slots=True)
class Fault:
    """Why new pods do not get what is offered, or soon will not, and what to do about it."""

    message: str
    hint: str
    is_error: bool


def network_fault(network: PodNetwork) -> Fault | None:
    """Return why new pods cannot use a network although an admin meant them to."""
    ready = network.ready
    if ready is None:
        return _unseen()
    if ready.status == "True" or ready.reason in MEANT:
        return None
    return Fault(ready.message, f"kubectl describe podnetwork {network.name}", is_error=True)


def pool_fault(pool: AddressPool) -> Fault | None:
    """Return why nobody gets addresses of a pool although an admin meant them to, or soon."""
    ready, size, free = pool.ready, pool.status.size, pool.status.free
    if ready is None:
        return _unseen()
    if ready.status != "True":
        return Fault(ready.message, f"kubectl describe addresspool {pool.name}", is_error=True)
    who = f"`netclaim status pool/{pool.name}` shows who has its addresses"
    grow = f"add a range to it, or end pods; {who}"
    if ready.reason not in MEANT and not free:
        return Fault(f"full: all {size} addresses are used", grow, is_error=False)
    if ready.reason not in MEANT and free * NEARLY_FULL < size:
        return Fault(f"nearly full: {free} of {size} addresses are free", grow, is_error=False)
    return None


def _unseen() -> Fault:
    return Fault(
        UNSEEN, "the check `controller` of `netclaim doctor` shows whether it runs", is_error=False
    )
