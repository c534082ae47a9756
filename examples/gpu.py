"""A DRA driver for GPUs that do not exist: the devices of the Kubernetes example driver.

Shows typed attributes, capacity, opaque configuration of a kind of its own, and an option of its
own on the command line. Run it on a node as `python examples/gpu.py --gpus 4`, and try
`examples/gpu.yaml`.
"""

import argparse
import uuid
from collections.abc import AsyncIterator
from typing import Final, Literal

import msgspec

from netclaim.errors import RequestError
from netclaim.framework import Driver, add_flags, serve, settings_from
from netclaim.model import (
    Capacity,
    Claim,
    ContainerEdits,
    Device,
    JsonObject,
    Plan,
    Prepared,
    Quantity,
    Version,
)
from netclaim.paths import Key

API_VERSION: Final = "gpu.resource.example.com/v1alpha1"


class TimeSlicing(msgspec.Struct, frozen=True):
    """Pods take turns."""

    interval: Literal["Default", "Short", "Medium", "Long"] = "Default"


class SpacePartitioning(msgspec.Struct, frozen=True, rename="camel"):
    """Each pod has a part of the GPU to itself."""

    partition_count: int = 1


class Sharing(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How containers share a GPU."""

    strategy: Literal["TimeSlicing", "SpacePartitioning"] = "TimeSlicing"
    time_slicing_config: TimeSlicing = TimeSlicing()
    space_partitioning_config: SpacePartitioning = SpacePartitioning()


class GpuConfig(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The opaque parameters, as the claim or the class has them."""

    api_version: Literal["gpu.resource.example.com/v1alpha1"] = API_VERSION
    kind: Literal["GpuConfig"] = "GpuConfig"
    sharing: Sharing = Sharing()


class Gpu(Driver):
    """Hands out GPUs."""

    name = "gpu.example.com"

    def __init__(self, node: str, count: int) -> None:
        self._devices = tuple(_gpu(node, index) for index in range(count))

    async def discover(self) -> AsyncIterator[tuple[Device, ...]]:
        """All GPUs; there will be no others."""
        yield self._devices

    async def prepare(self, claim: Claim) -> Prepared:
        """One environment variable for each fact. Again: the same."""
        plans = []
        for device in claim.devices:
            number = device.device.removeprefix("gpu-")
            env = {
                f"GPU_DEVICE_{number}": device.device,
                f"GPU_DEVICE_{number}_RESOURCE_CLAIM": claim.uid,
            }
            sharing = _config(claim, device.request).sharing
            env |= {f"GPU_DEVICE_{number}_{k}": v for k, v in _sharing_env(sharing).items()}
            plans.append(Plan(claim=claim.ref, device=device, edits=ContainerEdits(env=env)))
        return Prepared(claim.ref, tuple(plans))

    async def unprepare(self, prepared: Prepared) -> None:
        """Nothing was done to the node. Again: the same."""


def _gpu(node: str, index: int) -> Device:
    return Device(
        name=f"gpu-{index}",
        attributes={
            "index": index,
            "uuid": f"gpu-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{node}-{index}')}",
            "model": "LATEST-GPU-MODEL",
            "driverVersion": Version("1.0.0"),
        },
        capacity={"memory": Capacity(Quantity.parse("80Gi"))},
    )


def _config(claim: Claim, request: str) -> GpuConfig:
    """The last that applies: the claim's if it has one, else the class's, else the default."""
    parameters: JsonObject = {}
    for config in claim.configs_for(request):
        parameters = config.parameters
    try:
        return msgspec.convert(parameters, GpuConfig)
    except msgspec.ValidationError as error:
        raise RequestError(str(error), path=("requests", Key(request))) from error


def _sharing_env(sharing: Sharing) -> dict[str, str]:
    if sharing.strategy == "TimeSlicing":
        interval = sharing.time_slicing_config.interval
        return {"SHARING_STRATEGY": "TimeSlicing", "TIMESLICE_INTERVAL": interval}
    count = sharing.space_partitioning_config.partition_count
    return {"SHARING_STRATEGY": "SpacePartitioning", "PARTITION_COUNT": str(count)}


def main() -> None:
    """Serve as many GPUs as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=8, help="How many GPUs this node has.")
    add_flags(parser)
    options = parser.parse_args()
    settings = settings_from(options)
    serve(Gpu(settings.node_name, options.gpus), settings)


if __name__ == "__main__":
    main()
