"""What can be set about a driver, with the reason for each default; also as command-line flags."""

import argparse
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

__all__ = [
    "HTTP_ADDRESS",
    "RuntimeHook",
    "Settings",
    "add_flags",
    "settings_from",
    "settings_from_command_line",
]

RuntimeHook: TypeAlias = Literal["nri", "cni", "both"]

CRIO_SOCKET: Final = Path("/var/run/crio/crio.sock")

# Only for processes of the node itself: metrics name claims' drivers and links to nobody else.
HTTP_ADDRESS: Final = "127.0.0.1:9178"
NODE_NAME_VARIABLE: Final = "NODE_NAME"  # what manifests fill from spec.nodeName


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything `serve` needs beside the driver."""

    node_name: str = field(
        metadata={
            "text": "The name of this node's Node object. Slices are published for it and the pool "
            "is named after it. From $NODE_NAME if not given, else the host's name."
        }
    )
    kubeconfig: str = field(
        default="",
        metadata={
            "text": "A kubeconfig to reach the API server with. Empty: $KUBECONFIG, else the pod's "
            "service account, else ~/.kube/config."
        },
    )
    state_dir: Path = field(
        default=Path("/var/lib/netclaim"),
        metadata={
            "text": "Where the journal lives, in a directory of the driver's name. It must survive "
            "restarts of the driver and reboots of the node."
        },
    )
    kubelet_dir: Path = field(
        default=Path("/var/lib/kubelet"),
        metadata={
            "text": "Kubelet's root directory. It has to be the same path inside and outside the "
            "driver's container, since kubelet is told the path of a socket in it."
        },
    )
    runtime_hook: RuntimeHook = field(
        default="both",
        metadata={
            "text": "How the container runtime calls the driver: `nri` by its plugin interface; "
            "`cni` by a plugin at the end of its own network configuration, which the driver puts "
            "there and keeps there; or `both`, so that no pod starts without its interface even "
            "while the driver or the runtime is being restarted."
        },
    )
    run_dir: Path = field(
        default=Path("/run/netclaim"),
        metadata={
            "text": "Where the runtime's network plugin finds the driver, in a directory of the "
            "driver's name. It has to be the same path inside and outside the driver's container."
        },
    )
    cni_conf_dir: Path = field(
        default=Path("/etc/cni/net.d"),
        metadata={"text": "The runtime's own network configuration, for `cni` and `both`."},
    )
    cni_program_dir: Path = field(
        default=Path("/opt/cni/bin"),
        metadata={"text": "Where the runtime looks for network plugins, for `cni` and `both`."},
    )
    instance: str = field(
        default="",
        metadata={
            "text": "Tells apart two processes of the driver on a node while it is updated, "
            "usually the UID of its pod. The newer one takes over as soon as it can be called. "
            "Empty: there is one, and a second waits for it to end. Needs Kubernetes 1.33."
        },
    )
    nri_socket: Path = field(
        default=Path("/var/run/nri/nri.sock"),
        metadata={
            "text": "The runtime's NRI socket. Mount its directory, not the socket: the runtime "
            "makes a new one whenever it starts."
        },
    )
    nri_index: str = field(
        default="50",
        metadata={
            "text": "The driver's place among the runtime's plugins, two digits. Lower ones are "
            "called first."
        },
    )
    runtime_socket: Path = field(
        default=Path("/run/containerd/containerd.sock"),
        metadata={
            "text": "The container runtime's own (CRI) socket: a sandbox that lost its network "
            "namespace is stopped there, so that kubelet makes a new one. If it is not there, "
            "CRI-O's is used."
        },
    )
    attach_timeout_s: float = field(
        default=30.0,
        metadata={
            "text": "How long attaching a pod's devices may take, in seconds. The runtime's hook "
            "does not wait that long; the pod's first container is held meanwhile. At most 90: "
            "kubelet gives a container two minutes to start."
        },
    )
    cdi_dir: Path = field(
        default=Path("/var/run/cdi"),
        metadata={
            "text": "Where the runtime looks for CDI specifications that need not survive a reboot."
        },
    )
    http_address: str = field(
        default=HTTP_ADDRESS,
        metadata={
            "text": "Where to serve /healthz, /readyz and /metrics, as HOST:PORT. Empty: nowhere. "
            "While another process has the port, the driver works without and tries again."
        },
    )
    prepare_budget_s: float = field(
        default=40.0,
        metadata={
            "text": "How long preparing or releasing a claim may take, retries included. Kubelet "
            "waits 45 s and does not hear an answer that comes later."
        },
    )
    log_format: Literal["json", "text"] = field(
        default="json", metadata={"text": "How to write logs: json for machines, text for people."}
    )
    log_level: Literal["debug", "info", "warning", "error"] = field(
        default="info",
        metadata={
            "text": "How much to log: from `info` on, a line for each claim and pod; `debug` also "
            "says what was looked at and left as it is."
        },
    )

    @property
    def runtime_sockets(self) -> tuple[Path, ...]:
        """Where the container runtime may be reached; the first that exists counts."""
        return (self.runtime_socket, CRIO_SOCKET)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each setting: `--node-name` for `node_name`."""
    for setting in fields(Settings):
        required = setting.default is MISSING
        parser.add_argument(
            f"--{setting.name.replace('_', '-')}",
            type=setting.type if isinstance(setting.type, type) else str,
            choices=get_args(setting.type) or None,
            default=None if required else setting.default,
            help=setting.metadata["text"] + ("" if required else " Default: %(default)s"),
        )


def settings_from(options: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings that `add_flags` added."""
    values = {setting.name: getattr(options, setting.name) for setting in fields(Settings)}
    values["node_name"] = (
        values["node_name"] or environ.get(NODE_NAME_VARIABLE) or socket.gethostname().lower()
    )
    return Settings(**values)


def settings_from_command_line(
    description: str, argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Read the settings of a program that has no other options."""
    parser = argparse.ArgumentParser(description=description)
    add_flags(parser)
    return settings_from(parser.parse_args(argv), environ)
