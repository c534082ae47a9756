"""What can be set about a driver: each setting once, with the reason for its default.

A setting is a field of `Settings`: its name, type and default, and in its metadata the environment
variable and the help text. `declared()` reads them; the options of `netclaim driver`, the flags of
a driver that an author builds on the framework, and docs/driver.md come from it. Promise: nothing
about a setting is said anywhere else.
Limit: an author's flags are named after the fields (`--attach-timeout-s`) and only the node's name
has a variable there, NODE_NAME; `netclaim driver` leaves out the unit and has a variable for each.
"""

import argparse
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

__all__ = [
    "HTTP_ADDRESS",
    "RuntimeHook",
    "Setting",
    "Settings",
    "add_flags",
    "declared",
    "host_name",
    "settings_from",
    "settings_from_command_line",
]

RuntimeHook: TypeAlias = Literal["nri", "cni", "both"]

CRIO_SOCKET: Final = Path("/var/run/crio/crio.sock")

# Only for processes of the node itself: metrics name claims' drivers and links to nobody else.
HTTP_ADDRESS: Final = "127.0.0.1:9178"
NODE_NAME: Final = "NODE_NAME"  # the variable that manifests fill from spec.nodeName


def _about(variable: str, text: str, *, also: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """What a field says beyond itself; `also` are further flags of `netclaim driver`."""
    return {"variable": variable, "text": text, "also": also}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything `serve` needs beside the driver."""

    node_name: str = field(
        metadata=_about(
            NODE_NAME,
            "The name of this node's Node object. Slices are published for it and the pool "
            "is named after it. From $NODE_NAME if not given, else the host's name.",
        )
    )
    kubeconfig: str = field(
        default="",
        metadata=_about(
            "NETCLAIM_KUBECONFIG",
            "The kubeconfig file for the API server. Empty: $KUBECONFIG, else the pod's "
            "service account, else ~/.kube/config.",
        ),
    )
    state_dir: Path = field(
        default=Path("/var/lib/netclaim"),
        metadata=_about(
            "NETCLAIM_STATE_DIR",
            "Where the journal is kept, in a directory named after the driver. It must survive "
            "restarts of the driver and reboots of the node.",
        ),
    )
    kubelet_dir: Path = field(
        default=Path("/var/lib/kubelet"),
        metadata=_about(
            "NETCLAIM_KUBELET_DIR",
            "Kubelet's root directory. It must be the same path inside and outside the "
            "driver's container, because kubelet connects to a socket in it.",
        ),
    )
    runtime_hook: RuntimeHook = field(
        default="both",
        metadata=_about(
            "NETCLAIM_RUNTIME_HOOK",
            "How the container runtime calls the driver: `nri` by its plugin interface; "
            "`cni` by a plugin at the end of its own network configuration, which the driver "
            "adds and maintains; or `both`, so that no pod starts without its interface even "
            "while the driver or the runtime is being restarted.",
        ),
    )
    run_dir: Path = field(
        default=Path("/run/netclaim"),
        metadata=_about(
            "NETCLAIM_RUN_DIR",
            "Where the runtime's network plugin finds the driver, in a directory named "
            "after the driver. It must be the same path inside and outside the driver's container.",
        ),
    )
    cni_conf_dir: Path = field(
        default=Path("/etc/cni/net.d"),
        metadata=_about(
            "NETCLAIM_CNI_CONF_DIR",
            "The runtime's own network configuration, for `cni` and `both`.",
        ),
    )
    cni_program_dir: Path = field(
        default=Path("/opt/cni/bin"),
        metadata=_about(
            "NETCLAIM_CNI_PROGRAM_DIR",
            "Where the runtime looks for network plugins, for `cni` and `both`.",
        ),
    )
    instance: str = field(
        default="",
        metadata=_about(
            "NETCLAIM_INSTANCE",
            "Distinguishes two processes of the driver on a node during an update, usually "
            "by the UID of the pod. The newer process takes over as soon as it can be called. "
            "Empty: a second process waits until the first has ended. Needs Kubernetes 1.33.",
        ),
    )
    nri_socket: Path = field(
        default=Path("/var/run/nri/nri.sock"),
        metadata=_about(
            "NETCLAIM_NRI_SOCKET",
            "The runtime's NRI socket. Mount its directory, not the socket: the runtime "
            "creates a new one whenever it starts.",
        ),
    )
    nri_index: str = field(
        default="50",
        metadata=_about(
            "NETCLAIM_NRI_INDEX",
            "The driver's place among the runtime's plugins, two digits. Lower ones are "
            "called first.",
        ),
    )
    runtime_socket: Path = field(
        default=Path("/run/containerd/containerd.sock"),
        metadata=_about(
            "NETCLAIM_RUNTIME_SOCKET",
            "The container runtime's own (CRI) socket: a sandbox that lost its network "
            "namespace is stopped there, so that kubelet creates a new one. If it does not "
            "exist, CRI-O's is used.",
        ),
    )
    attach_timeout_s: float = field(
        default=30.0,
        metadata=_about(
            "NETCLAIM_ATTACH_TIMEOUT",
            "How long attaching a pod's devices may take, in seconds. The runtime's hook "
            "does not wait that long; the pod's first container is held until it is done. "
            "At most 90: kubelet gives a container two minutes to start.",
        ),
    )
    cdi_dir: Path = field(
        default=Path("/var/run/cdi"),
        metadata=_about(
            "NETCLAIM_CDI_DIR",
            "Where the runtime looks for CDI specifications that need not survive a reboot.",
        ),
    )
    http_address: str = field(
        default=HTTP_ADDRESS,
        metadata=_about(
            "NETCLAIM_HTTP_ADDRESS",
            "Where to serve /healthz, /readyz and /metrics, as HOST:PORT. Empty: not served. "
            "While another process has the port, the driver works without it and retries.",
            also=("--metrics-address",),
        ),
    )
    health_socket: str = field(
        default="",
        metadata=_about(
            "NETCLAIM_HEALTH_SOCKET",
            "A Unix socket that serves /healthz and /readyz as well, for probes of this process: "
            "the port may be another process's during an update. Empty: none.",
        ),
    )
    daemon_set: str = field(
        default="",
        metadata=_about(
            "NETCLAIM_DAEMON_SET",
            "The DaemonSet that runs the driver, as NAMESPACE/NAME. `netclaim driver retire` asks "
            "the API server whether it still exists. Empty: nothing is asked.",
        ),
    )
    prepare_budget_s: float = field(
        default=40.0,
        metadata=_about(
            "NETCLAIM_PREPARE_BUDGET",
            "How long preparing or releasing a claim may take, retries included. Kubelet "
            "waits 45 s and ignores later answers.",
        ),
    )
    log_format: Literal["json", "text"] = field(
        default="json",
        metadata=_about(
            "NETCLAIM_LOG_FORMAT", "How to write logs: json for machines, text for people."
        ),
    )
    log_level: Literal["debug", "info", "warning", "error"] = field(
        default="info",
        metadata=_about(
            "NETCLAIM_LOG_LEVEL",
            "How much to log: from `info` on, a line for each claim and pod; `debug` also "
            "says what was checked and left unchanged.",
        ),
    )

    @property
    def runtime_sockets(self) -> tuple[Path, ...]:
        """Where the container runtime may be reached; the first that exists counts."""
        return (self.runtime_socket, CRIO_SOCKET)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as it is declared."""

    name: str
    kind: Any  # its type: one that a text is turned into, or a Literal
    default: Any  # of a setting that has none: nothing, and `required`
    required: bool
    variable: str  # of the environment
    text: str
    option: str  # of `netclaim driver`, which leaves out the unit
    also: tuple[str, ...]

    @property
    def flag(self) -> str:
        """Of a driver that is built on the framework."""
        return f"--{self.name.replace('_', '-')}"


def declared() -> tuple[Setting, ...]:
    """All settings, in the order in which they are explained."""
    return tuple(map(_setting, fields(Settings)))


def _setting(each: Field[Any]) -> Setting:
    assert each.metadata, f"give Settings.{each.name} metadata=_about(VARIABLE, TEXT)"
    return Setting(
        name=each.name,
        kind=each.type,
        default="" if each.default is MISSING else each.default,
        required=each.default is MISSING,
        variable=each.metadata["variable"],
        text=each.metadata["text"],
        option=f"--{each.name.removesuffix('_s').replace('_', '-')}",
        also=each.metadata["also"],
    )


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each setting: `--node-name` for `node_name`."""
    for each in declared():
        parser.add_argument(
            each.flag,
            type=each.kind if isinstance(each.kind, type) else str,
            choices=get_args(each.kind) or None,
            default=None if each.required else each.default,
            help=each.text + ("" if each.required else " Default: %(default)s"),
        )


def settings_from(options: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings that `add_flags` added."""
    values = {each.name: getattr(options, each.name) for each in declared()}
    values["node_name"] = values["node_name"] or environ.get(NODE_NAME) or host_name()
    return Settings(**values)


def host_name() -> str:
    """The node's name where nothing else is said: as kubelet names it."""
    return socket.gethostname().lower()


def settings_from_command_line(
    description: str, argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Read the settings of a program that has no other options."""
    parser = argparse.ArgumentParser(description=description)
    add_flags(parser)
    return settings_from(parser.parse_args(argv), environ)
