"""A driver with more devices than a slice can hold; run by a test as a program."""

from collections.abc import AsyncIterator

from netclaim.framework import Driver, serve
from netclaim.model import Claim, Device, Plan, Prepared

COUNT = 300  # five slices: four of 64, and 44


class Many(Driver):
    """Offers plenty and does nothing with it."""

    name = "many.test.netclaim.dev"

    async def discover(self) -> AsyncIterator[tuple[Device, ...]]:
        """All at once."""
        yield tuple(Device(name=f"d{n}", attributes={"index": n}) for n in range(COUNT))

    async def prepare(self, claim: Claim) -> Prepared:
        """Do nothing, however often it is called."""
        return Prepared(claim.ref, tuple(Plan(claim=claim.ref, device=d) for d in claim.devices))

    async def unprepare(self, prepared: Prepared) -> None:
        """Undo nothing, however often it is called."""


if __name__ == "__main__":
    serve(Many())
