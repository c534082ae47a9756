"""A DRA driver for toasters: each has two bun slots and a slot for a hot dog.

A pod asks for a slot, not for a toaster; the scheduler finds one, and another pod may have the slot
beside it. The container learns what it got from its environment. Run it on a node as
`python examples/toaster.py`, and try `examples/toaster.yaml`.
"""

from collections.abc import AsyncIterator
from typing import Final

from netclaim.errors import RequestError
from netclaim.framework import Driver, serve
from netclaim.model import Claim, ContainerEdits, Device, Plan, Prepared

TOASTERS: Final = 2  # plugged into every node
DARKNESS: Final = range(1, 8)  # what the dial says
DARKNESS_DEFAULT: Final = 4


class Toaster(Driver):
    """Hands out toaster slots."""

    name = "toaster.burntek.io"

    async def discover(self) -> AsyncIterator[tuple[Device, ...]]:
        """All slots, once: nobody carries toasters in and out."""
        yield tuple(
            Device(
                name=f"toaster-{toaster}-{slot}",
                attributes={
                    "toaster": toaster,
                    "slot": slot.partition("-")[0],
                    "bagel": toaster == 1,  # the other one has narrow slots
                },
            )
            for toaster in range(TOASTERS)
            for slot in ("bun-0", "bun-1", "hotdog")
        )

    async def prepare(self, claim: Claim) -> Prepared:
        """Set the dial. Nothing is switched on before the pod runs."""
        plans = [
            Plan(
                claim=claim.ref,
                device=device,
                edits=ContainerEdits(
                    env={
                        f"TOASTER_{number}_SLOT": device.device,
                        f"TOASTER_{number}_DARKNESS": str(_darkness(claim, device.request)),
                    }
                ),
            )
            for number, device in enumerate(claim.devices)
        ]
        return Prepared(claim.ref, tuple(plans))

    async def unprepare(self, prepared: Prepared) -> None:
        """A slot needs no cleaning that the next guest would notice."""


def _darkness(claim: Claim, request: str) -> int:
    """What the class says, or the claim, which goes first."""
    darkness = DARKNESS_DEFAULT
    for config in claim.configs_for(request):
        darkness = config.parameters.get("darkness", darkness)
    if darkness not in DARKNESS:
        raise RequestError(f"darkness {darkness!r} is not on the dial: use 1 to 7")
    return darkness


if __name__ == "__main__":
    serve(Toaster())
