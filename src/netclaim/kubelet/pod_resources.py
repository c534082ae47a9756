"""Ask kubelet which pods have which devices, by its PodResources service on the node.

Promise: whatever goes wrong is a PeerError, or a HostError if there is no socket to ask. Changes
nothing. Limit: kubelet lists a claim only under the containers that name it in their resources.
"""

from pathlib import Path
from typing import Final

import msgspec
from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.exceptions import GRPCError, StreamTerminatedError

from netclaim.errors import HostError, PeerError
from netclaim.kubelet.proto import pod_resources_pb2 as pb

LIST: Final = f"/{pb.DESCRIPTOR.services_by_name['PodResourcesLister'].full_name}/List"
LIST_S: Final = 10.0  # kubelet answers from memory


class HeldDevice(msgspec.Struct, frozen=True):
    driver: str
    pool: str
    device: str
    share_id: str = ""
    cdi_devices: tuple[str, ...] = ()


class KubeletClaim(msgspec.Struct, frozen=True):
    """A claim, with its devices and the containers of the pod that name it."""

    namespace: str
    name: str
    containers: tuple[str, ...]
    devices: tuple[HeldDevice, ...]


class KubeletPod(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    claims: tuple[KubeletClaim, ...] = ()


def socket_below(kubelet_dir: Path) -> Path:
    """Return the socket of this service, below kubelet's root directory."""
    return kubelet_dir / "pod-resources" / "kubelet.sock"


async def list_pod_resources(socket: Path) -> tuple[KubeletPod, ...]:
    """Return kubelet's pods, also those without claims."""
    try:
        async with Channel(path=str(socket)) as channel:
            method = UnaryUnaryMethod(
                channel, LIST, pb.ListPodResourcesRequest, pb.ListPodResourcesResponse
            )
            answer = await method(pb.ListPodResourcesRequest(), timeout=LIST_S)
    except FileNotFoundError as error:
        raise HostError(
            f"{socket} does not exist: this is for a node with kubelet, as root; --kubelet-dir"
            " names kubelet's root directory"
        ) from error
    except PermissionError as error:
        raise HostError(f"{socket}: {error.strerror}; run this as root") from error
    except GRPCError as error:
        raise PeerError(f"kubelet refused: {error.status.name}: {error.message}") from error
    except (OSError, StreamTerminatedError, TimeoutError) as error:
        raise PeerError(f"kubelet does not answer at {socket}: {error}") from error
    return tuple(map(_pod, answer.pod_resources))


def _pod(pod: pb.PodResources) -> KubeletPod:
    containers: dict[tuple[str, str], list[str]] = {}
    devices: dict[tuple[str, str], dict[HeldDevice, None]] = {}
    for container in pod.containers:
        for one in container.dynamic_resources:
            key = (one.claim_namespace, one.claim_name)
            containers.setdefault(key, []).append(container.name)
            devices.setdefault(key, {}).update(dict.fromkeys(map(_device, one.claim_resources)))
    claims = (
        KubeletClaim(*key, tuple(names), tuple(devices[key])) for key, names in containers.items()
    )
    return KubeletPod(pod.namespace, pod.name, tuple(claims))


def _device(held: pb.ClaimResource) -> HeldDevice:
    return HeldDevice(
        driver=held.driver_name,
        pool=held.pool_name,
        device=held.device_name,
        share_id=held.share_id,
        cdi_devices=tuple(one.name for one in held.cdi_devices),
    )
