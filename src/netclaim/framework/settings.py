"""What can be set about every driver: each setting once, with the reason for its default.

A setting is a field of `Settings`; see `framework/setting.py` for what its metadata says.
Promise: nothing about a setting is said anywhere else; a value that cannot be is refused by the
reader beside it, whoever said it. Flags, variables and the keys of the file leave out the unit.
"""

import math
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from netclaim.errors import RequestError
from netclaim.framework.setting import Setting, about, declared_in
from netclaim.model.device_name import DNS_SUBDOMAIN

__all__ = [
    "HTTP_ADDRESS",
    "RuntimeHook",
    "Settings",
    "declared",
    "host_name",
    "seconds",
    "subdomain",
]

RuntimeHook: TypeAlias = Literal["nri", "cni", "both"]

CRIO_SOCKET: Final = Path("/var/run/crio/crio.sock")

# Only for processes of the node itself: metrics name claims' drivers and links to nobody else.
HTTP_ADDRESS: Final = "127.0.0.1:9178"
NODE_NAME_MAX: Final = 253  # a DNS subdomain, as the API has it
PORT_MAX: Final = 65535
HOST_PORT: Final = re.compile(r"(?:[^:\s]*|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")
ATTACH_MAX_S: Final = 90  # kubelet gives a container two minutes to start
INSTANCE: Final = re.compile(r"[A-Za-z0-9-]{1,63}")
TWO_DIGITS: Final = re.compile(r"[0-9]{2}")
OF_A_POD: Final = "it differs from node to node, and a file is for all of them"


def host_name() -> str:
    """The node's name where nothing else is said: as kubelet names it."""
    return socket.gethostname().lower()


def subdomain(value: str, longest: int) -> str:
    """Check a name that the API wants to be a DNS subdomain."""
    if not DNS_SUBDOMAIN.fullmatch(value) or len(value) > longest:
        raise RequestError(
            f"{value!r} is not a name of at most {longest} lower-case letters, digits, '-' and '.'"
        )
    return value


def seconds(value: float) -> float:
    """Check a time limit."""
    if not value > 0 or math.isinf(value):
        raise RequestError("must be more than 0 seconds")
    return float(value)


def _node_name(value: str) -> str:
    return subdomain(value or host_name(), NODE_NAME_MAX)


def _instance(value: str) -> str:
    if value and not INSTANCE.fullmatch(value):
        raise RequestError(
            f"{value!r} is not a name of letters, digits and '-'; for example a pod's UID"
        )
    return value


def _nri_index(value: str) -> str:
    if not TWO_DIGITS.fullmatch(value):
        raise RequestError(f"{value!r} must be two digits; for example 50")
    return value


def _attach_seconds(value: float) -> float:
    if seconds(value) > ATTACH_MAX_S:
        raise RequestError(
            f"{value:g} seconds is longer than kubelet waits for a container to start; "
            f"at most {ATTACH_MAX_S}"
        )
    return float(value)


def _address(value: str) -> str:
    port = value.rpartition(":")[2]
    if value and not (HOST_PORT.fullmatch(value) and int(port) <= PORT_MAX):
        raise RequestError(f"{value!r} is not an address; for example 127.0.0.1:9178")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything `serve` needs beside the driver."""

    node_name: str = field(
        metadata=about(
            "NODE_NAME",  # the variable that manifests fill from spec.nodeName
            "The name of this node's Node object. Slices are published for it and the pool "
            "is named after it. From $NODE_NAME if not given, else the host's name.",
            never_in_file=OF_A_POD,
            read=_node_name,
        )
    )
    kubeconfig: str = field(
        default="",
        metadata=about(
            "NETCLAIM_KUBECONFIG",
            "The kubeconfig file for the API server. Empty: $KUBECONFIG, else the pod's "
            "service account, else ~/.kube/config.",
        ),
    )
    state_dir: Path = field(
        default=Path("/var/lib/netclaim"),
        metadata=about(
            "NETCLAIM_STATE_DIR",
            "Where the journal is kept, in a directory named after the driver. It must survive "
            "restarts of the driver and reboots of the node.",
        ),
    )
    kubelet_dir: Path = field(
        default=Path("/var/lib/kubelet"),
        metadata=about(
            "NETCLAIM_KUBELET_DIR",
            "Kubelet's root directory. It must be the same path inside and outside the "
            "driver's container, because kubelet connects to a socket in it.",
        ),
    )
    runtime_hook: RuntimeHook = field(
        default="both",
        metadata=about(
            "NETCLAIM_RUNTIME_HOOK",
            "How the container runtime calls the driver: `nri` by its plugin interface; "
            "`cni` by a plugin at the end of its own network configuration, which the driver "
            "adds and maintains; or `both`, so that no pod starts without its interface even "
            "while the driver or the runtime is being restarted.",
        ),
    )
    run_dir: Path = field(
        default=Path("/run/netclaim"),
        metadata=about(
            "NETCLAIM_RUN_DIR",
            "Where the runtime's network plugin finds the driver, in a directory named "
            "after the driver. It must be the same path inside and outside the driver's container.",
        ),
    )
    cni_conf_dir: Path = field(
        default=Path("/etc/cni/net.d"),
        metadata=about(
            "NETCLAIM_CNI_CONF_DIR",
            "The runtime's own network configuration, for `cni` and `both`.",
        ),
    )
    cni_program_dir: Path = field(
        default=Path("/opt/cni/bin"),
        metadata=about(
            "NETCLAIM_CNI_PROGRAM_DIR",
            "Where the runtime looks for network plugins, for `cni` and `both`.",
        ),
    )
    instance: str = field(
        default="",
        metadata=about(
            "NETCLAIM_INSTANCE",
            "Distinguishes two processes of the driver on a node during an update, usually "
            "by the UID of the pod. The newer process takes over as soon as it can be called. "
            "Empty: a second process waits until the first has ended. Needs Kubernetes 1.33.",
            never_in_file=OF_A_POD,
            read=_instance,
        ),
    )
    nri_socket: Path = field(
        default=Path("/var/run/nri/nri.sock"),
        metadata=about(
            "NETCLAIM_NRI_SOCKET",
            "The runtime's NRI socket. Mount its directory, not the socket: the runtime "
            "creates a new one whenever it starts.",
        ),
    )
    nri_index: str = field(
        default="50",
        metadata=about(
            "NETCLAIM_NRI_INDEX",
            "The driver's place among the runtime's plugins, two digits. Lower ones are "
            "called first.",
            read=_nri_index,
        ),
    )
    runtime_socket: Path = field(
        default=Path("/run/containerd/containerd.sock"),
        metadata=about(
            "NETCLAIM_RUNTIME_SOCKET",
            "The container runtime's own (CRI) socket: a sandbox that lost its network "
            "namespace is stopped there, so that kubelet creates a new one. If it does not "
            "exist, CRI-O's is used.",
        ),
    )
    attach_timeout_s: float = field(
        default=30.0,
        metadata=about(
            "NETCLAIM_ATTACH_TIMEOUT",
            "How long attaching a pod's devices may take, in seconds. The runtime's hook "
            "does not wait that long; the pod's first container is held until it is done. "
            "At most 90: kubelet gives a container two minutes to start.",
            read=_attach_seconds,
        ),
    )
    cdi_dir: Path = field(
        default=Path("/var/run/cdi"),
        metadata=about(
            "NETCLAIM_CDI_DIR",
            "Where the runtime looks for CDI specifications that need not survive a reboot.",
        ),
    )
    http_address: str = field(
        default=HTTP_ADDRESS,
        metadata=about(
            "NETCLAIM_HTTP_ADDRESS",
            "Where to serve /healthz, /readyz and /metrics, as HOST:PORT. Empty: not served. "
            "While another process has the port, the driver works without it and retries.",
            also=("--metrics-address",),
            read=_address,
        ),
    )
    health_socket: str = field(
        default="",
        metadata=about(
            "NETCLAIM_HEALTH_SOCKET",
            "A Unix socket that serves /healthz and /readyz as well, for probes of this process: "
            "the port may be another process's during an update. Empty: none.",
        ),
    )
    daemon_set: str = field(
        default="",
        metadata=about(
            "NETCLAIM_DAEMON_SET",
            "The DaemonSet that runs the driver, as NAMESPACE/NAME. `netclaim driver retire` asks "
            "the API server whether it still exists. Empty: nothing is asked.",
        ),
    )
    prepare_budget_s: float = field(
        default=40.0,
        metadata=about(
            "NETCLAIM_PREPARE_BUDGET",
            "How long preparing or releasing a claim may take, retries included. Kubelet "
            "waits 45 s and ignores later answers.",
            read=seconds,
        ),
    )
    log_format: Literal["json", "text"] = field(
        default="json",
        metadata=about(
            "NETCLAIM_LOG_FORMAT",
            "How to write logs: json for machines, text for people.",
            live=True,
        ),
    )
    log_level: Literal["debug", "info", "warning", "error"] = field(
        default="info",
        metadata=about(
            "NETCLAIM_LOG_LEVEL",
            "How much to log: from `info` on, a line for each claim and pod; `debug` also "
            "says what was checked and left unchanged.",
            live=True,
        ),
    )

    @property
    def runtime_sockets(self) -> tuple[Path, ...]:
        """Where the container runtime may be reached; the first that exists counts."""
        return (self.runtime_socket, CRIO_SOCKET)


def declared() -> tuple[Setting, ...]:
    """All settings of every driver, in the order in which they are explained."""
    return declared_in(Settings)
