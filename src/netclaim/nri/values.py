"""NRI's messages as our own frozen values, and back: protobuf ends here.

Limit: only what netclaim reads is carried; everything else about a pod or container is dropped.
"""

import enum
from collections.abc import Mapping

import msgspec

from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri.proto import api_pb2 as pb

REQUEST_TIMEOUT_S = 2.0  # containerd's default; for a runtime that does not report its own


class ContainerState(enum.IntEnum):
    """A container's state, as NRI numbers it."""

    UNKNOWN = 0
    CREATED = 1
    PAUSED = 2
    RUNNING = 3
    STOPPED = 4

    @classmethod
    def _missing_(cls, _value: object) -> "ContainerState":
        return cls.UNKNOWN  # a state of a later NRI version


class Container(msgspec.Struct, frozen=True, omit_defaults=True):
    """A container of the sandbox `pod_sandbox_id`; until it is created its state is unknown."""

    id: str
    pod_sandbox_id: str
    name: str
    state: ContainerState = ContainerState.UNKNOWN
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class ContainerHook(msgspec.Struct, frozen=True):
    """A program that runs on the node before a container's own; if it fails, the container fails.

    It is an OCI hook of `createRuntime`; `args` begins with the program's own name.
    """

    path: str
    args: tuple[str, ...]
    timeout_s: int


class RuntimeInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """The runtime's name and version, and how long it waits for the answer to one request.

    `config` is what the node's owner put in the runtime's directory for this plugin.
    """

    name: str
    version: str
    nri_version: str = ""
    request_timeout_s: float = REQUEST_TIMEOUT_S
    config: str = ""


def runtime_from_proto(message: pb.ConfigureRequest) -> RuntimeInfo:
    """Return the runtime that sent this Configure."""
    return RuntimeInfo(
        name=message.runtime_name,
        version=message.runtime_version,
        nri_version=message.NRI_version,
        request_timeout_s=message.request_timeout / 1000
        if message.request_timeout > 0
        else REQUEST_TIMEOUT_S,
        config=message.config,
    )


def pod_from_proto(message: pb.PodSandbox) -> PodSandbox:
    """Read a sandbox; its network namespace is the entry of type "network".

    A pod on the host's network has no such entry.
    """
    paths = [entry.path for entry in message.linux.namespaces if entry.type == "network"]
    return PodSandbox(
        id=message.id,
        uid=message.uid,
        namespace=message.namespace,
        name=message.name,
        netns=(paths[0] or None) if paths else None,
        labels=dict(message.labels),
        annotations=dict(message.annotations),
        ips=tuple(message.ips),
        pid=message.pid,
        runtime_handler=message.runtime_handler,
    )


def pod_to_proto(pod: PodSandbox) -> pb.PodSandbox:
    """Make the message of a sandbox; without a network namespace it has no entry for one.

    That is how containerd does it.
    """
    message = pb.PodSandbox(
        id=pod.id,
        uid=pod.uid,
        namespace=pod.namespace,
        name=pod.name,
        labels=pod.labels,
        annotations=pod.annotations,
        ips=pod.ips,
        pid=pod.pid,
        runtime_handler=pod.runtime_handler,
    )
    if pod.netns is not None:
        message.linux.namespaces.add(type="network", path=pod.netns)
    return message


def container_from_proto(message: pb.Container) -> Container:
    return Container(
        id=message.id,
        pod_sandbox_id=message.pod_sandbox_id,
        name=message.name,
        state=ContainerState(message.state),
        labels=dict(message.labels),
        annotations=dict(message.annotations),
    )


def hooked(hook: ContainerHook | None) -> pb.CreateContainerResponse:
    """Make the answer that allows a container, with a hook or without."""
    answer = pb.CreateContainerResponse()
    if hook is not None:
        timeout = pb.OptionalInt(value=hook.timeout_s)
        answer.adjust.hooks.create_runtime.add(path=hook.path, args=hook.args, timeout=timeout)
    return answer


def container_hooks(message: pb.CreateContainerResponse) -> tuple[ContainerHook, ...]:
    """Return the hooks that a plugin's answer asks for."""
    return tuple(
        ContainerHook(each.path, tuple(each.args), each.timeout.value)
        for each in message.adjust.hooks.create_runtime
    )


def container_to_proto(container: Container) -> pb.Container:
    return pb.Container(
        id=container.id,
        pod_sandbox_id=container.pod_sandbox_id,
        name=container.name,
        state=pb.ContainerState.Name(container.state),
        labels=container.labels,
        annotations=container.annotations,
    )
