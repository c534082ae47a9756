"""`netclaim driver`: the network driver of one node, until SIGTERM.

Promise: a bad value is refused before anything starts, in one line that names its option. Limit:
only reads options; what each setting means, and its default, stands with the settings.
"""

import asyncio
import ipaddress
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from netclaim.cli.link_patterns import link_patterns
from netclaim.cli.policy_options import POLICY_HELP, PolicyName, level_of, listed
from netclaim.cli.setting_options import takes_settings
from netclaim.cli.uninstalling import remove_traces
from netclaim.cni.conflist import PLAIN_NAME
from netclaim.errors import RequestError
from netclaim.framework import Settings, serve
from netclaim.framework.settings import host_name
from netclaim.kernel.proc_sys import make_sysctls_writable
from netclaim.model.device import DNS_SUBDOMAIN, DOMAIN_MAX
from netclaim.network import LinkSettings, link_driver
from netclaim.plugins import PLUGIN_TYPES

__all__ = ["LINK_DEFAULTS", "DriverName", "LeaseDir", "command", "driver_name_of"]

LINK_DEFAULTS: Final = LinkSettings(state_dir=Settings(node_name="").state_dir)

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
LeaseDir: TypeAlias = Annotated[
    Path,
    typer.Option(
        envvar="NETCLAIM_LEASE_DIR",
        help="Where plugins record the addresses leased to claims, in a subdirectory named after "
        "the driver. It must survive restarts and reboots. Keep it outside the state directory, so "
        "that losing the state does not free addresses in use.",
    ),
]
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


@takes_settings()
def command(
    settings: Settings,
    *,
    driver_name: DriverName = LINK_DEFAULTS.name,
    lease_dir: LeaseDir = LINK_DEFAULTS.lease_dir,
    cni_bin_dir: CniBinDir = None,
    exec_plugins: ExecPlugins = "",
    cni_timeout: CniTimeout = LINK_DEFAULTS.add_s,
    pod_network: PodNetwork = None,
    shared_link: SharedLink = None,
    generic_device: GenericDevice = LINK_DEFAULTS.generic_device,
    policy: Policy = "baseline",
    policy_ceiling: PolicyCeiling = "privileged",
    claim_plugins: ClaimPlugins = "",
) -> None:
    """Run the network driver of one node.

    Publishes the node's links as devices, prepares claims on them for kubelet, and attaches them
    to pods as the container runtime starts them; runs until SIGTERM. Needs root, the node's
    network namespace and its NRI socket. Every option can also be set by the environment variable
    beside it.

    `netclaim driver gc` has the running driver remove what is left over on the node; `netclaim
    driver retire` is for the end of its pod; `netclaim driver uninstall` removes what a retired
    driver left there.
    """
    settings = _checked(settings)
    if level_of(policy) > level_of(policy_ceiling):
        raise RequestError(
            f"{policy} is higher than --policy-ceiling, {policy_ceiling}", path=("--policy",)
        )
    name = driver_name_of(driver_name)
    link_settings = LinkSettings(
        name=name,
        state_dir=settings.state_dir / name,
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
    make_sysctls_writable()
    if serve(link_driver(link_settings), settings):
        for line in asyncio.run(remove_traces(settings, name, lease_dir)):
            print(line)


def driver_name_of(value: str) -> str:
    """Return the driver's name, or say what is wrong with it."""
    return _subdomain("--driver-name", value, DOMAIN_MAX)


def _checked(settings: Settings) -> Settings:
    """Refuse what cannot be, and fill in the node's name where it is not said."""
    name = _subdomain("--node-name", settings.node_name or host_name(), NODE_NAME_MAX)
    _check_instance(settings.instance)
    _check_attach_seconds(settings.attach_timeout_s)
    _check_index(settings.nri_index)
    _check_address(settings.http_address)
    _seconds("--prepare-budget", settings.prepare_budget_s)
    return replace(settings, node_name=name)


def _subdomain(option: str, value: str, longest: int) -> str:
    if not DNS_SUBDOMAIN.fullmatch(value) or len(value) > longest:
        raise RequestError(
            f"{value!r} is not a name of at most {longest} lower-case letters, digits, '-' and '.'",
            path=(option,),
        )
    return value


def _plugin_types(value: str) -> tuple[str, ...]:
    return tuple(sorted(PLUGIN_TYPES)) if value == "all" else listed(value)


def _claim_plugins(value: str) -> frozenset[str]:
    types = frozenset(listed(value))
    for name in sorted(types):
        if not PLAIN_NAME.fullmatch(name):
            raise RequestError(
                f"{name!r} is not a plugin type; for example sriov", path=("--claim-plugins",)
            )
        if name in PLUGIN_TYPES:
            raise RequestError(
                f"{name} is one of the driver's own types, which the policy's table covers; "
                f"list other types only",
                path=("--claim-plugins",),
            )
    return types


def _check_index(value: str) -> None:
    if not TWO_DIGITS.fullmatch(value):
        raise RequestError(f"{value!r} must be two digits; for example 50", path=("--nri-index",))


def _seconds(option: str, value: float) -> float:
    if not value > 0:
        raise RequestError("must be more than 0 seconds", path=(option,))
    return value


def _check_attach_seconds(value: float) -> None:
    if _seconds("--attach-timeout", value) > ATTACH_MAX_S:
        raise RequestError(
            f"{value:g} seconds is longer than kubelet waits for a container to start; "
            f"at most {ATTACH_MAX_S}",
            path=("--attach-timeout",),
        )


def _check_instance(value: str) -> None:
    if value and not INSTANCE.fullmatch(value):
        raise RequestError(
            f"{value!r} is not a name of letters, digits and '-'; for example a pod's UID",
            path=("--instance",),
        )


def _check_address(value: str) -> None:
    port = value.rpartition(":")[2]
    if value and not (HOST_PORT.fullmatch(value) and int(port) <= PORT_MAX):
        raise RequestError(
            f"{value!r} is not an address; for example 127.0.0.1:9178", path=("--http-address",)
        )


def _network(value: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(value)
    except ValueError as error:
        raise RequestError(str(error), path=("--pod-network",)) from error
