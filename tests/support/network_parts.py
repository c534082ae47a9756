"""Claims and links for the tests of the network driver."""

from typing import Any, Literal

from netclaim.kernel.state.links import Link
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig

DRIVER = "cni.dra.networking.x-k8s.io"
WHERE = "spec.devices.config[net].opaque.parameters"

MACVLAN: dict[str, Any] = {
    "cniVersion": "1.0.0",
    "name": "macvlan-eth1",
    "plugins": [
        {
            "type": "macvlan",
            "master": "eth1",
            "mode": "bridge",
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]},
        }
    ],
}
TYPED: dict[str, Any] = {
    "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
    "kind": "CNI",
    "ifName": "net1",
    "config": MACVLAN,
}


def config_of(
    parameters: dict[str, Any],
    *requests: str,
    source: Literal["FromClass", "FromClaim"] = "FromClaim",
) -> OpaqueConfig:
    """Parameters for some requests; for all if none is named."""
    return OpaqueConfig(source=source, driver=DRIVER, parameters=parameters, requests=requests)


def device_of(request: str, device: str = "eth1") -> AllocatedDevice:
    """A link of kind-worker, given to a request."""
    return AllocatedDevice(request=request, driver=DRIVER, pool="kind-worker", device=device)


def claim_of(*configs: OpaqueConfig, devices: tuple[AllocatedDevice, ...] = ()) -> Claim:
    """A claim with these configurations; for one request called `net` unless told."""
    return Claim(
        uid="80067ad8-ba85-4230-bc4a-ee3e1e1c4a2b",
        namespace="default",
        name="macvlan-eth1-attachment",
        allocated=True,
        devices=devices or (device_of("net"),),
        configs=configs,
    )


def link_of(name: str, index: int = 2, **facts: Any) -> Link:
    """A link that is up."""
    return Link(index=index, name=name, arphrd=1, flags=1, **facts)
