"""A driver that does nothing, to compare with: what claims cost whatever driver serves them.

Kubernetes makes each claim, allocates it and asks for it to be prepared; nothing is attached.
"""

from collections.abc import AsyncIterator
from typing import Final

from netclaim.framework import Driver, serve
from netclaim.model import Claim, Device, Plan, Prepared

__all__ = ["NAME", "IdleDriver"]

NAME: Final = "idle.bench.netclaim"


class IdleDriver(Driver):
    """Offers one device and does nothing with it."""

    name = NAME

    async def discover(self) -> AsyncIterator[tuple[Device, ...]]:
        """Yield one device, named as the link that the demo's claims ask for."""
        yield (Device(name="eth1", attributes={"name": "eth1"}),)

    async def prepare(self, claim: Claim) -> Prepared:
        """Agree, also a second time."""
        return Prepared(claim.ref, tuple(Plan(claim.ref, device) for device in claim.devices))

    async def unprepare(self, prepared: Prepared) -> None:
        """Agree, also a second time."""


if __name__ == "__main__":
    serve(IdleDriver())
