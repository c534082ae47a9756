"""`netclaim driver`: the network driver of one node, until SIGTERM.

Promise: a bad value is refused before anything starts, in one line that names its option. Limit:
only reads options; what each setting means, and its default, stands with the settings.
"""

import ipaddress
import re
import socket
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import typer

from netclaim.cli.link_patterns import link_patterns
from netclaim.cli.policy_options import POLICY_HELP, PolicyName, level_of, listed
from netclaim.cni.conflist import PLAIN_NAME
from netclaim.errors import RequestError
from netclaim.framework import Settings, serve
from netclaim.framework.settings import RuntimeHook
from netclaim.model.device import DNS_SUBDOMAIN, DOMAIN_MAX
from netclaim.network import LinkSettings, link_driver
from netclaim.plugins import PLUGIN_TYPES

__all__ = ["DriverName", "RunDir", "command", "driver_name_of"]

DEFAULTS: Final = Settings(node_name="")
LINK_DEFAULTS: Final = LinkSettings(state_dir=DEFAULTS.state_dir)
TEXTS: Final[dict[str, str]] = {s.name: s.metadata["text"] for s in fields(Settings)}

NODE_NAME_MAX: Final = 253  # a DNS subdomain, as the API has it
PORT_MAX: Final = 65535
HOST_PORT: Final = re.compile(r"(?:[^:\s]*|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")
ATTACH_MAX_S: Final = 90  # kubelet gives a container two minutes to start
INSTANCE: Final = re.compile(r"[A-Za-z0-9-]{1,63}")
TWO_DIGITS: Final = re.compile(r"[0-9]{2}")

DriverName: TypeAlias = Annotated[
    str,
    typer.Option(
        envvar="NETCLAIM_DRIVER_NAME",
        help="The driver's name, by which classes, claims and slices refer to it.",
    ),
]
NodeName: TypeAlias = Annotated[
    str, typer.Option(envvar="NODE_NAME", help=TEXTS["node_name"], show_default=False)
]
Kubeconfig: TypeAlias = Annotated[
    str, typer.Option(envvar="NETCLAIM_KUBECONFIG", help=TEXTS["kubeconfig"], show_default=False)
]
StateDir: TypeAlias = Annotated[
    Path, typer.Option(envvar="NETCLAIM_STATE_DIR", help=TEXTS["state_dir"])
]
LeaseDir: TypeAlias = Annotated[
    Path,
    typer.Option(
        envvar="NETCLAIM_LEASE_DIR",
        help="Where plugins record the addresses leased to claims, in a subdirectory named after "
        "the driver. It must survive restarts and reboots. Keep it outside the state directory, so "
        "that losing the state does not free addresses in use.",
    ),
]
KubeletDir: TypeAlias = Annotated[
    Path, typer.Option(envvar="NETCLAIM_KUBELET_DIR", help=TEXTS["kubelet_dir"])
]
RuntimeHookOption: TypeAlias = Annotated[
    RuntimeHook, typer.Option(envvar="NETCLAIM_RUNTIME_HOOK", help=TEXTS["runtime_hook"])
]
RunDir: TypeAlias = Annotated[Path, typer.Option(envvar="NETCLAIM_RUN_DIR", help=TEXTS["run_dir"])]
CniConfDir: TypeAlias = Annotated[
    Path, typer.Option(envvar="NETCLAIM_CNI_CONF_DIR", help=TEXTS["cni_conf_dir"])
]
CniProgramDir: TypeAlias = Annotated[
    Path, typer.Option(envvar="NETCLAIM_CNI_PROGRAM_DIR", help=TEXTS["cni_program_dir"])
]
Instance: TypeAlias = Annotated[
    str,
    typer.Option(envvar="NETCLAIM_INSTANCE", help=TEXTS["instance"], show_default=False),
]
RuntimeSocket: TypeAlias = Annotated[
    Path, typer.Option(envvar="NETCLAIM_RUNTIME_SOCKET", help=TEXTS["runtime_socket"])
]
AttachTimeout: TypeAlias = Annotated[
    float, typer.Option(envvar="NETCLAIM_ATTACH_TIMEOUT", help=TEXTS["attach_timeout_s"])
]
NriSocket: TypeAlias = Annotated[
    Path, typer.Option(envvar="NETCLAIM_NRI_SOCKET", help=TEXTS["nri_socket"])
]
NriIndex: TypeAlias = Annotated[
    str, typer.Option(envvar="NETCLAIM_NRI_INDEX", help=TEXTS["nri_index"])
]
CdiDir: TypeAlias = Annotated[Path, typer.Option(envvar="NETCLAIM_CDI_DIR", help=TEXTS["cdi_dir"])]
CniBinDir: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        envvar="NETCLAIM_CNI_BIN_DIR",
        help="A directory of CNI plugins. May be given several times: the first that has a plugin "
        f"serves it. Default: {', '.join(LINK_DEFAULTS.cni_path)}",
        show_default=False,
    ),
]
ExecPlugins: TypeAlias = Annotated[
    str,
    typer.Option(
        envvar="NETCLAIM_EXEC_PLUGINS",
        metavar="TYPE,…",
        help="CNI plugin types to execute as programs although the driver has them in process: "
        f"{', '.join(sorted(PLUGIN_TYPES))}; or `all`.",
        show_default=False,
    ),
]
CniTimeout: TypeAlias = Annotated[
    float,
    typer.Option(
        envvar="NETCLAIM_CNI_TIMEOUT",
        help="How many seconds a CNI ADD may take. Keep it below --attach-timeout, so that the "
        "error names the plugin.",
    ),
]
PodNetwork: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        envvar="NETCLAIM_POD_NETWORK",
        metavar="CIDR",
        help="A range of the node's pod addresses: links that have one are not offered. May be "
        "given several times.",
        show_default=False,
    ),
]
SharedLink: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        envvar="NETCLAIM_SHARED_LINK",
        metavar="NAME",
        help="A link by its kernel name, or a pattern such as `ens*`, that any number of claims "
        "may have at a time: each puts a link of its own on it, as macvlan does. May be given "
        "several times. Needs Kubernetes 1.36, or the feature DRAConsumableCapacity.",
        show_default=False,
    ),
]
GenericDevice: TypeAlias = Annotated[
    bool,
    typer.Option(
        envvar="NETCLAIM_GENERIC_DEVICE",
        help="Offer a device `cni` that is no particular link, for claims that ask for none.",
    ),
]
Policy: TypeAlias = Annotated[PolicyName, typer.Option(envvar="NETCLAIM_POLICY", help=POLICY_HELP)]
PolicyCeiling: TypeAlias = Annotated[
    PolicyName,
    typer.Option(
        envvar="NETCLAIM_POLICY_CEILING",
        help="The highest policy level on this node, whatever a namespace's label says.",
    ),
]
ClaimPlugins: TypeAlias = Annotated[
    str,
    typer.Option(
        envvar="NETCLAIM_CLAIM_PLUGINS",
        metavar="TYPE,…",
        help="CNI plugin types, beyond the driver's own, that claims may use below the policy "
        "level `privileged`. They are programs on the node and run as root with the claim's "
        "configuration.",
        show_default=False,
    ),
]
HttpAddress: TypeAlias = Annotated[
    str,
    typer.Option(
        "--http-address",
        "--metrics-address",
        envvar="NETCLAIM_HTTP_ADDRESS",
        help=TEXTS["http_address"],
    ),
]
PrepareBudget: TypeAlias = Annotated[
    float, typer.Option(envvar="NETCLAIM_PREPARE_BUDGET", help=TEXTS["prepare_budget_s"])
]
LogFormat: TypeAlias = Annotated[
    Literal["json", "text"],
    typer.Option(envvar="NETCLAIM_LOG_FORMAT", help=TEXTS["log_format"]),
]

LogLevel: TypeAlias = Annotated[
    Literal["debug", "info", "warning", "error"],
    typer.Option(envvar="NETCLAIM_LOG_LEVEL", help=TEXTS["log_level"]),
]


def command(
    *,
    driver_name: DriverName = LINK_DEFAULTS.name,
    node_name: NodeName = "",
    kubeconfig: Kubeconfig = DEFAULTS.kubeconfig,
    state_dir: StateDir = DEFAULTS.state_dir,
    lease_dir: LeaseDir = LINK_DEFAULTS.lease_dir,
    kubelet_dir: KubeletDir = DEFAULTS.kubelet_dir,
    runtime_hook: RuntimeHookOption = DEFAULTS.runtime_hook,
    run_dir: RunDir = DEFAULTS.run_dir,
    cni_conf_dir: CniConfDir = DEFAULTS.cni_conf_dir,
    cni_program_dir: CniProgramDir = DEFAULTS.cni_program_dir,
    instance: Instance = DEFAULTS.instance,
    runtime_socket: RuntimeSocket = DEFAULTS.runtime_socket,
    attach_timeout: AttachTimeout = DEFAULTS.attach_timeout_s,
    nri_socket: NriSocket = DEFAULTS.nri_socket,
    nri_index: NriIndex = DEFAULTS.nri_index,
    cdi_dir: CdiDir = DEFAULTS.cdi_dir,
    cni_bin_dir: CniBinDir = None,
    exec_plugins: ExecPlugins = "",
    cni_timeout: CniTimeout = LINK_DEFAULTS.add_s,
    pod_network: PodNetwork = None,
    shared_link: SharedLink = None,
    generic_device: GenericDevice = LINK_DEFAULTS.generic_device,
    policy: Policy = "baseline",
    policy_ceiling: PolicyCeiling = "privileged",
    claim_plugins: ClaimPlugins = "",
    http_address: HttpAddress = DEFAULTS.http_address,
    prepare_budget: PrepareBudget = DEFAULTS.prepare_budget_s,
    log_format: LogFormat = DEFAULTS.log_format,
    log_level: LogLevel = DEFAULTS.log_level,
) -> None:
    """Run the network driver of one node.

    Publishes the node's links as devices, prepares claims on them for kubelet, and attaches them
    to pods as the container runtime starts those; runs until SIGTERM. Needs root, the node's
    network namespace and its NRI socket. Every option can be given by the variable beside it.

    `netclaim driver gc` has the running driver remove what is left over on the node; `netclaim
    driver uninstall` takes away what a driver that is given up left there.
    """
    settings = Settings(
        node_name=_subdomain("--node-name", node_name or _host_name(), NODE_NAME_MAX),
        kubeconfig=kubeconfig,
        state_dir=state_dir,
        kubelet_dir=kubelet_dir,
        runtime_hook=runtime_hook,
        run_dir=run_dir,
        cni_conf_dir=cni_conf_dir,
        cni_program_dir=cni_program_dir,
        instance=_instance(instance),
        runtime_socket=runtime_socket,
        attach_timeout_s=_attach_seconds(attach_timeout),
        nri_socket=nri_socket,
        nri_index=_index(nri_index),
        cdi_dir=cdi_dir,
        http_address=_address(http_address),
        prepare_budget_s=_seconds("--prepare-budget", prepare_budget),
        log_format=log_format,
        log_level=log_level,
    )
    if level_of(policy) > level_of(policy_ceiling):
        raise RequestError(
            f"{policy} is higher than --policy-ceiling, {policy_ceiling}", field="--policy"
        )
    name = driver_name_of(driver_name)
    link_settings = LinkSettings(
        name=name,
        state_dir=state_dir / name,
        lease_dir=lease_dir,
        cni_path=tuple(map(str, cni_bin_dir or ())) or LINK_DEFAULTS.cni_path,
        exec_plugins=_plugin_types(exec_plugins),
        add_s=_seconds("--cni-timeout", cni_timeout),
        pod_networks=tuple(map(_network, pod_network or ())),
        shared_links=link_patterns(shared_link or ()),
        generic_device=generic_device,
        policy=level_of(policy),
        policy_ceiling=level_of(policy_ceiling),
        claim_plugins=_claim_plugins(claim_plugins),
    )
    serve(link_driver(link_settings), settings)


def driver_name_of(value: str) -> str:
    """Return the driver's name, or say what is wrong with it."""
    return _subdomain("--driver-name", value, DOMAIN_MAX)


def _host_name() -> str:
    return socket.gethostname().lower()  # as kubelet names its node where nothing else is said


def _subdomain(option: str, value: str, longest: int) -> str:
    if not DNS_SUBDOMAIN.fullmatch(value) or len(value) > longest:
        raise RequestError(
            f"{value!r} is not a name of at most {longest} lower-case letters, digits, '-' and '.'",
            field=option,
        )
    return value


def _plugin_types(value: str) -> tuple[str, ...]:
    return tuple(sorted(PLUGIN_TYPES)) if value == "all" else listed(value)


def _claim_plugins(value: str) -> frozenset[str]:
    types = frozenset(listed(value))
    for name in sorted(types):
        if not PLAIN_NAME.fullmatch(name):
            raise RequestError(
                f"{name!r} is not a plugin type, such as sriov", field="--claim-plugins"
            )
        if name in PLUGIN_TYPES:
            raise RequestError(
                f"{name} is one of the driver's own types, for which the policy's table holds; "
                f"list other types only",
                field="--claim-plugins",
            )
    return types


def _index(value: str) -> str:
    if not TWO_DIGITS.fullmatch(value):
        raise RequestError(f"{value!r} is not two digits, such as 50", field="--nri-index")
    return value


def _seconds(option: str, value: float) -> float:
    if not value > 0:
        raise RequestError(f"{value:g} is not more than 0 seconds", field=option)
    return value


def _attach_seconds(value: float) -> float:
    if _seconds("--attach-timeout", value) > ATTACH_MAX_S:
        raise RequestError(
            f"{value:g} seconds is longer than kubelet waits for a container to start; "
            f"at most {ATTACH_MAX_S}",
            field="--attach-timeout",
        )
    return value


def _instance(value: str) -> str:
    if value and not INSTANCE.fullmatch(value):
        raise RequestError(
            f"{value!r} is not a name of letters, digits and '-', such as a pod's UID",
            field="--instance",
        )
    return value


def _address(value: str) -> str:
    port = value.rpartition(":")[2]
    if value and not (HOST_PORT.fullmatch(value) and int(port) <= PORT_MAX):
        raise RequestError(
            f"{value!r} is not an address such as 127.0.0.1:9178", field="--http-address"
        )
    return value


def _network(value: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(value)
    except ValueError as error:
        raise RequestError(str(error), field="--pod-network") from error
