"""The container runtime on a node: its version, its network, NRI and CDI."""

import stat
from pathlib import Path
from typing import Any, Final

from netclaim.cri import RuntimeCallError
from netclaim.doctor.finding import Finding, check, error, ok, skipped, unknown, warning
from netclaim.doctor.node.sight import NO_NRI, NodeSight, seconds_of
from netclaim.doctor.releases import has_nri_off
from netclaim.framework.attach.nri_hooks import TIMEOUT_MIN_S

DEFAULT_TIMEOUT: Final = "2s"  # containerd's and CRI-O's
ENABLE_NRI: Final = (
    'set `disable = false` in [plugins."io.containerd.nri.v1.nri"] of /etc/containerd/config.toml'
    " (CRI-O: `enable_nri = true` in [crio.nri]) and restart the runtime; or run the driver with"
    " --runtime-hook=cni"
)


@check(
    "runtime",
    "Container runtime",
    why="the driver asks it which pods there are, and has a sandbox stopped that lost its network",
)
async def runtime(node: NodeSight) -> Finding:
    """Ask the runtime for its version over its CRI socket."""
    try:
        found = await node.cri.version()
    except RuntimeCallError as fault:
        return error(
            str(fault),
            "start the runtime (systemctl status containerd), or name its socket with"
            " --runtime-socket; in a container, mount the socket's directory",
        )
    said = f"{found.name} {found.version}"
    if has_nri_off(found.name, found.version):
        return warning(f"{said} has NRI off by default", f"upgrade containerd, or {ENABLE_NRI}")
    return ok(said)


@check(
    "runtime-network",
    "Primary network of pods",
    why="the driver attaches interfaces after the pod's primary network is up",
)
async def runtime_network(node: NodeSight) -> Finding:
    """Look at the runtime's own condition NetworkReady."""
    try:
        status = await node.cri.runtime_status()
    except RuntimeCallError as fault:
        return unknown(str(fault), "see runtime")
    for condition in status.conditions:
        if condition.type == "NetworkReady" and not condition.holds:
            return error(
                f"{condition.reason}: {condition.message}",
                f"install a primary network; its list belongs into {node.settings.cni_conf_dir}",
            )
    return ok("the runtime says NetworkReady")


@check(
    "nri-socket",
    "NRI socket",
    why="the runtime calls the driver by NRI; without it, a pod may start before its interface",
)
async def nri_socket(node: NodeSight) -> Finding:
    """Look at the socket, and in the kernel's list for who listens; see `NodeSight.listens`."""
    if not node.uses_nri:
        return skipped(NO_NRI)
    path = node.settings.nri_socket
    try:
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
    except FileNotFoundError:
        return error(f"{path} does not exist", ENABLE_NRI)
    if not is_socket:
        return error(
            f"{path} is not a socket", f"remove it and restart the runtime, or {ENABLE_NRI}"
        )
    if not node.listens(path):
        return error(
            f"nobody listens on {path}",
            "restart the runtime; in a container, use the host's network and mount the socket's"
            " directory instead of the socket, because the runtime makes a new one when it starts",
        )
    return ok(f"the runtime listens on {path}")


@check(
    "nri-config",
    "NRI configuration",
    why="the runtime goes on without a plugin that does not answer in time",
)
async def nri_config(node: NodeSight) -> Finding:
    """Read the runtime's configuration file."""
    if not node.uses_nri:
        return skipped(NO_NRI)
    config = node.runtime_config()
    if config is None:
        return skipped(f"neither {node.containerd_config} nor {node.crio_config} is here")
    if config.nri_is_off:
        return error(f"{config.path} switches NRI off", ENABLE_NRI)
    timeout = config.nri_timeout or DEFAULT_TIMEOUT
    seconds = seconds_of(timeout)
    if seconds is None:
        return unknown(f"{config.path}: {timeout} is not a duration")
    if seconds < TIMEOUT_MIN_S:
        return warning(
            f"the runtime waits {timeout} for a plugin, less than {TIMEOUT_MIN_S:g} s",
            f'set `plugin_request_timeout = "{DEFAULT_TIMEOUT}"` in'
            f' [plugins."io.containerd.nri.v1.nri"] of {config.path} and restart the runtime',
        )
    return ok(f"the runtime waits {timeout} for a plugin")


@check(
    "cdi-dirs",
    "CDI directories",
    why="the runtime reads there what containers get of a claim",
)
async def cdi_dirs(node: NodeSight) -> Finding:
    """Compare the driver's directory with those that the runtime reads."""
    wanted = node.settings.cdi_dir
    config = await node.cri_config()
    read = [Path(each) for each in _found(config, "cdiSpecDirs") or ()]
    if _found(config, "enableCDI") is False:
        grave = error if node.settings.runtime_hook == "nri" else warning
        return grave(
            "the runtime has CDI switched off",
            'set `enable_cdi = true` in [plugins."io.containerd.cri.v1.runtime"] of'
            " /etc/containerd/config.toml and restart containerd",
        )
    if read and wanted.resolve() not in {each.resolve() for each in read}:
        return error(
            f"the runtime reads {', '.join(map(str, read))}, and not {wanted}",
            f"run the driver with --cdi-dir={read[-1]}",
        )
    if not wanted.is_dir() and node.settings.runtime_hook == "nri":
        return warning(f"{wanted} does not exist", f"mkdir -p {wanted}")
    return ok(f"{wanted}{' is read by the runtime' if read else ''}")


def _found(config: Any, key: str) -> Any:
    """Return a setting, whichever case the release writes it in."""
    return config.get(key, config.get(key[0].upper() + key[1:]))
