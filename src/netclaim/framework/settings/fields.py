"""What can be set about every driver.

A setting is a field of `Settings`, declared as `framework/settings/declare.py` explains. Promise:
an impossible value is refused by the setting's reader, wherever it was given. Flags, variables and
the keys of the file leave out the unit.
"""

import ipaddress
import math
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from netclaim.errors import RequestError
from netclaim.framework.settings.declare import REQUIRED, setting
from netclaim.model.api.limits import SUBDOMAIN_MAX
from netclaim.model.devices.device_name import DNS_SUBDOMAIN

RuntimeHook: TypeAlias = Literal["nri", "cni", "both"]

CRIO_SOCKET: Final = Path("/var/run/crio/crio.sock")

# Only for processes of the node itself: metrics name claims' drivers and links to nobody else.
HTTP_ADDRESS: Final = "127.0.0.1:9178"
PORT_MAX: Final = 65535
HOST_PORT: Final = re.compile(r"(?:[^:\s]*|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")
ATTACH_MAX_S: Final = 90  # kubelet gives a container two minutes to start
INSTANCE: Final = re.compile(r"[A-Za-z0-9-]{1,63}")
TWO_DIGITS: Final = re.compile(r"[0-9]{2}")
POSITIVE: Final = {"exclusiveMinimum": 0}  # what `seconds` takes
OF_A_POD: Final = "it differs from node to node, and a file is for all of them"


def is_loopback(host: str) -> bool:
    """Whether only the node itself reaches an address; a name is not one, except `localhost`."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def local_address(address: str) -> str:
    """Where the node itself reaches what is served at HOST:PORT, without authentication."""
    host, colon, port = address.rpartition(":")
    return address if not colon or is_loopback(host) else f"127.0.0.1:{port}"


def host_name() -> str:
    """The node's name by default, which is the one that kubelet uses."""
    return socket.gethostname().lower()


def subdomain(value: str, longest: int) -> str:
    """Check a name that must be a DNS subdomain for the API."""
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
    return subdomain(value or host_name(), SUBDOMAIN_MAX)


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
    """Everything that `serve` needs beside the driver."""

    node_name: str = setting(
        REQUIRED,
        "The name of this node's Node object. Slices are published for it and the pool "
        "is named after it. From $NODE_NAME if not given, else the host's name.",
        never_in_file=OF_A_POD,
        read=_node_name,
        variable="NODE_NAME",  # the variable that manifests fill from spec.nodeName
    )
    kubeconfig: str = setting(
        "",
        "The kubeconfig file for the API server. Empty: $KUBECONFIG, else the pod's "
        "service account, else ~/.kube/config.",
    )
    state_dir: Path = setting(
        Path("/var/lib/netclaim"),
        "Where the journal is kept, in a directory named after the driver. It must survive "
        "restarts of the driver and reboots of the node.",
    )
    kubelet_dir: Path = setting(
        Path("/var/lib/kubelet"),
        "Kubelet's root directory. It must be the same path inside and outside the "
        "driver's container, because kubelet connects to a socket in it.",
    )
    runtime_hook: RuntimeHook = setting(
        "both",
        "How the container runtime calls the driver: `nri` by its plugin interface; "
        "`cni` by a plugin at the end of its own network configuration, which the driver "
        "adds and maintains; or `both`, so that no pod starts without its interface even "
        "while the driver or the runtime is being restarted.",
        page="runtime-hook.md",
    )
    run_dir: Path = setting(
        Path("/run/netclaim"),
        "Where the runtime's network plugin finds the driver, in a directory named "
        "after the driver. It must be the same path inside and outside the driver's container.",
    )
    cni_conf_dir: Path = setting(
        Path("/etc/cni/net.d"),
        "The runtime's own network configuration, for `cni` and `both`.",
    )
    cni_program_dir: Path = setting(
        Path("/opt/cni/bin"),
        "Where the runtime looks for network plugins, for `cni` and `both`.",
    )
    instance: str = setting(
        "",
        "Distinguishes two processes of the driver on a node during an update, usually "
        "by the UID of the pod. The newer process takes over as soon as it can be called. "
        "Empty: a second process waits until the first has ended. Needs Kubernetes 1.33.",
        never_in_file=OF_A_POD,
        read=_instance,
    )
    nri_socket: Path = setting(
        Path("/var/run/nri/nri.sock"),
        "The runtime's NRI socket. Mount its directory, not the socket: the runtime "
        "creates a new one whenever it starts.",
    )
    nri_index: str = setting(
        "50",
        "The driver's place among the runtime's plugins, two digits. Lower ones are called first.",
        limits={"pattern": f"^{TWO_DIGITS.pattern}$"},
        read=_nri_index,
    )
    runtime_socket: Path = setting(
        Path("/run/containerd/containerd.sock"),
        "The container runtime's own (CRI) socket: a sandbox that lost its network "
        "namespace is stopped there, so that kubelet creates a new one. If it does not "
        "exist, CRI-O's is used.",
    )
    attach_timeout_s: float = setting(
        30.0,
        "How long attaching a pod's devices may take, in seconds. The runtime's hook "
        "does not wait that long; the pod's first container is held until it is done. "
        "At most 90: kubelet gives a container two minutes to start.",
        limits={**POSITIVE, "maximum": ATTACH_MAX_S},
        read=_attach_seconds,
    )
    cdi_dir: Path = setting(
        Path("/var/run/cdi"),
        "Where the runtime looks for CDI specifications that need not survive a reboot.",
    )
    http_address: str = setting(
        HTTP_ADDRESS,
        "Where to serve /healthz, /readyz and /metrics, as HOST:PORT. Empty: not served. On "
        "another address than a loopback one, requests need a token of an account that may get "
        "the path, and the port is served on 127.0.0.1 as well, without a token. "
        "While another process has the port, the driver works without it and retries.",
        page="observability.md#from-outside-the-node",
        also=("--metrics-address",),
        limits={"pattern": f"^({HOST_PORT.pattern})?$"},
        read=_address,
    )
    http_certificate: str = setting(
        "",
        "A certificate (PEM), with those that lead to its authority, for HTTPS. "
        "Needs --http-key, and is read again when it has changed. Empty: HTTP.",
    )
    http_key: str = setting("", "The key (PEM) of --http-certificate.")
    health_socket: str = setting(
        "",
        "A Unix socket that serves /healthz and /readyz as well, for probes of this process: "
        "the port may be another process's during an update. Empty: none.",
    )
    daemon_set: str = setting(
        "",
        "The DaemonSet that runs the driver, as NAMESPACE/NAME. `netclaim driver retire` asks "
        "the API server whether it still exists. Empty: nothing is asked.",
        page="install.md#uninstall",
    )
    prepare_budget_s: float = setting(
        40.0,
        "How long preparing or releasing a claim may take, retries included. Kubelet "
        "waits 45 s and ignores later answers.",
        limits=POSITIVE,
        read=seconds,
    )
    log_format: Literal["json", "text"] = setting(
        "json",
        "How to write logs: json for machines, text for people.",
        live=True,
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info",
        "How much to log: from `info` on, a line for each claim and pod; `debug` also "
        "says what was checked and left unchanged.",
        live=True,
    )

    @property
    def runtime_sockets(self) -> tuple[Path, ...]:
        """Where the container runtime may be reached; the first socket that exists is used."""
        return (self.runtime_socket, CRIO_SOCKET)
