"""A DRA driver for GPUs that do not exist: the devices of the Kubernetes example driver.

Shows typed attributes, capacities that claims share, counters that partitions share, taints,
binding conditions, opaque configuration of a kind of its own, and options of its own. Run it on a
node as `python examples/gpu.py --gpus 4`, and try `examples/gpu.yaml`; `examples/gpu-demos.yaml`
says which options it needs.
"""

import argparse
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Final, Literal

import msgspec

from netclaim.errors import RequestError
from netclaim.framework import Driver, add_flags, serve, settings_from
from netclaim.model import (
    AllocatedDevice,
    AttributeValue,
    Capacity,
    Claim,
    ContainerEdits,
    CounterSet,
    CounterUse,
    Device,
    JsonObject,
    Plan,
    Prepared,
    Quantity,
    RequestPolicy,
    Taint,
    ValidRange,
    Version,
)
from netclaim.paths import Key

NAME: Final = "gpu.example.com"
API_VERSION: Final = "gpu.resource.example.com/v1alpha1"
PCIE_ROOT: Final = "resource.kubernetes.io/pcieRoot"  # by which a claim gets a GPU near its NIC


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

    name = NAME
    device_metadata = True  # containers can read the attributes of their GPUs

    def __init__(self, node: str, options: argparse.Namespace) -> None:
        self._offer = tuple(_offer(node, options))

    async def discover(self) -> AsyncIterator[tuple[Device | CounterSet, ...]]:
        """All GPUs; there will be no others."""
        yield self._offer

    async def preflight(self, claim: Claim) -> None:
        """Let no pod be bound to the node for a configuration that cannot work."""
        for device in claim.devices:
            _config(claim, device.request)

    async def prepare(self, claim: Claim) -> Prepared:
        """One environment variable for each fact."""
        return Prepared(claim.ref, tuple(_plan(claim, device) for device in claim.devices))

    async def unprepare(self, prepared: Prepared) -> None:
        """Nothing was done to the node."""


def _offer(node: str, options: argparse.Namespace) -> Iterator[Device | CounterSet]:
    """GPU by GPU: whole, or as parts that share its counters with the whole."""
    for index in range(options.gpus):
        gpu = f"gpu-{index}"
        attributes: dict[str, AttributeValue] = {
            "index": index,
            "uuid": f"gpu-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{node}-{index}')}",
            "model": "LATEST-GPU-MODEL",
            "driverVersion": Version("1.0.0"),
        }
        if options.pcie_root:
            attributes[PCIE_ROOT] = options.pcie_root[index % len(options.pcie_root)]
        unhealthy = Taint(f"{NAME}/unhealthy", "NoSchedule", "true")
        one = Device(
            gpu,
            attributes,
            _capacity("80Gi", "100", shared=gpu in options.shared),
            allow_multiple_allocations=gpu in options.shared,
            taints=(unhealthy,) if gpu in options.unhealthy else (),
            binding_conditions=(f"{NAME}/Fit",) if gpu in options.checked else (),
            binding_failure_conditions=(f"{NAME}/Unfit",) if gpu in options.checked else (),
        )
        if gpu in options.partitioned:
            yield CounterSet(gpu, _amounts("80Gi", "100"))
            yield from _parts(one)
        else:
            yield one


def _parts(gpu: Device) -> Iterator[Device]:
    """Two halves and the whole: a claim on the whole excludes one on a half, and vice versa."""
    for name, memory, compute in (
        ("0", "40Gi", "50"),
        ("1", "40Gi", "50"),
        ("full", "80Gi", "100"),
    ):
        yield msgspec.structs.replace(
            gpu,
            name=f"{gpu.name}-{name}",
            attributes={**gpu.attributes, "full": name == "full"},
            capacity=_capacity(memory, compute, shared=gpu.allow_multiple_allocations),
            consumes=(CounterUse(gpu.name, _amounts(memory, compute)),),
        )


def _amounts(memory: str, compute: str) -> dict[str, Quantity]:
    return {"memory": Quantity.parse(memory), "compute": Quantity.parse(compute)}


def _capacity(memory: str, compute: str, *, shared: bool) -> dict[str, Capacity]:
    """What a GPU has; of one that is shared, a claim gets an eighth unless it asks for more."""
    steps = _amounts("1Gi", "1")
    shares = {
        name: RequestPolicy(default, valid_range=ValidRange(steps[name], step=steps[name]))
        for name, default in _amounts("10Gi", "12").items()
    }
    return {
        name: Capacity(amount, shares[name] if shared else None)
        for name, amount in _amounts(memory, compute).items()
    }


def _plan(claim: Claim, device: AllocatedDevice) -> Plan:
    """What the container sees of a GPU: its name, whose it is, and how much of it."""
    variable = device.device.upper().replace("-", "_").replace("GPU", "GPU_DEVICE", 1)
    env = {variable: device.device, f"{variable}_RESOURCE_CLAIM": claim.uid}
    sharing = _config(claim, device.request).sharing
    env |= {f"{variable}_{name}": value for name, value in _sharing_env(sharing).items()}
    for capacity, amount in device.consumed_capacity.items():
        env[f"{variable}_{capacity.rpartition('/')[2].upper()}"] = amount
    if device.admin_access:
        env["DRA_ADMIN_ACCESS"] = "true"
    return Plan(claim=claim.ref, device=device, edits=ContainerEdits(env=env))


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
    for option, text in (
        ("--shared", "A GPU that claims can share, such as gpu-0. May be repeated."),
        ("--partitioned", "A GPU that is also offered in two parts. May be repeated."),
        ("--unhealthy", "A GPU that is tainted. May be repeated."),
        ("--checked", "A GPU whose claims are checked before pods are bound. May be repeated."),
        ("--pcie-root", "The PCIe roots that the GPUs are on in turn, such as pci0000:3a."),
    ):
        parser.add_argument(option, action="append", default=[], help=text)
    add_flags(parser)
    options = parser.parse_args()
    settings = settings_from(options)
    serve(Gpu(settings.node_name, options), settings)


if __name__ == "__main__":
    main()
