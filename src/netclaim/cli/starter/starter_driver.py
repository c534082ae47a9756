"""A DRA driver: publishes the node's devices, and hands those of a claim to its pod.

Change `discover` to find your devices, and `prepare` to say what a container gets of them. Run it
on a node as `python starter_driver.py`. To try it on this machine, without a cluster:

    netclaim try --driver-program starter.example.com=starter_driver.py -f starter.yaml
"""

from collections.abc import AsyncIterator
from typing import Final

from netclaim.errors import RequestError
from netclaim.framework import Driver, serve
from netclaim.model import Claim, ContainerEdits, Device, Plan, Prepared

MODES: Final = ("quiet", "fast")  # what a claim may set as `mode` in its parameters; first: default


class Starter(Driver):
    """Hands out devices, each to one claim at a time."""

    name = "starter.example.com"

    async def discover(self) -> AsyncIterator[tuple[Device, ...]]:
        """All devices of the node, with what claims may select them by.

        Yield the whole list again whenever something has changed; the names stay the same.
        """
        yield tuple(
            Device(name=f"starter-{number}", attributes={"index": number, "model": "example"})
            for number in range(2)
        )

    async def prepare(self, claim: Claim) -> Prepared:
        """What containers of the pod get for each device; a second call returns the same."""
        plans = [
            Plan(
                claim=claim.ref,
                device=device,
                edits=ContainerEdits(
                    env={
                        f"STARTER_{number}": device.device,
                        f"STARTER_{number}_MODE": _mode(claim, device.request),
                    }
                ),
            )
            for number, device in enumerate(claim.devices)
        ]
        return Prepared(claim.ref, tuple(plans))

    async def unprepare(self, prepared: Prepared) -> None:
        """Undo what `prepare` did on the node; a second call changes nothing."""


def _mode(claim: Claim, request: str) -> str:
    """What the DeviceClass says, or the claim, which goes first."""
    mode = MODES[0]
    for config in claim.configs_for(request):
        mode = config.parameters.get("mode", mode)
    if mode not in MODES:
        raise RequestError(f"mode {mode!r} is unknown: use one of {', '.join(MODES)}")
    return mode


if __name__ == "__main__":
    serve(Starter())
