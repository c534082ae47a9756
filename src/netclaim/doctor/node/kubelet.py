"""Kubelet on a node: its directories, its health, and whether it has found the driver."""

import asyncio
import stat
from pathlib import Path
from typing import Final

from netclaim.doctor.finding import Finding, check, error, ok, unknown, warning
from netclaim.doctor.node.sight import NodeSight
from netclaim.errors import PeerError
from netclaim.framework.prepare.kubelet_checkpoint import KubeletState
from netclaim.kubelet import DriverInfo, ask_info
from netclaim.screen.words import counted, listed

HEALTH: Final = "127.0.0.1:10248"  # kubelet's healthzBindAddress and healthzPort by default


@check(
    "kubelet-dirs",
    "Kubelet's directories",
    why="kubelet finds drivers by sockets in them",
)
async def kubelet_dirs(node: NodeSight) -> Finding:
    """Look for the directories that kubelet makes when it starts."""
    root = node.settings.kubelet_dir
    wanted = (root / "plugins_registry", root / "plugins")
    missing = [str(each) for each in wanted if not each.is_dir()]
    if missing:
        return error(
            f"missing: {listed(missing)}",
            "start kubelet, or name its root directory with --kubelet-dir; in a container, mount"
            " both directories at the same path",
        )
    return ok(str(root))


@check("kubelet-live", "Kubelet", why="kubelet starts pods and has claims prepared")
async def kubelet_live(node: NodeSight) -> Finding:
    """Ask kubelet's /healthz on its usual port."""
    answer = await node.get(HEALTH, "/healthz")
    if answer is None:
        return warning(
            f"nothing answers at {HEALTH}: kubelet is not running, or healthzPort is another",
            "systemctl status kubelet; journalctl -u kubelet",
        )
    if answer.status != 200:
        return error(f"not healthy: {answer.text}", "journalctl -u kubelet")
    return ok("healthy")


@check(
    "driver-registered",
    "Driver is registered with kubelet",
    why="kubelet prepares claims only of drivers that it has found",
)
async def registered(node: NodeSight) -> Finding:
    """Ask the registration sockets who they are, as kubelet does, and look at the driver's own."""
    registry = node.settings.kubelet_dir / "plugins_registry"
    sockets = await asyncio.to_thread(_sockets, registry)
    found = [each for each in await asyncio.gather(*map(_who, sockets)) if each is not None]
    ours = [each for each in found if each.name == node.driver]
    if not ours:
        others = f"; there are {listed([each.name for each in found])}" if found else ""
        return error(
            f"no driver {node.driver} answers in {registry}{others}",
            "start or restart the driver, which makes a new socket there; in a container, mount"
            f" {registry} from the node",
        )
    absent = [str(each.endpoint) for each in ours if not node.answers(each.endpoint)]
    if absent:
        return error(
            f"the driver names {listed(absent)}, where nobody listens",
            f"restart the driver; in a container, mount {node.settings.kubelet_dir / 'plugins'} at"
            " the same path inside and outside",
        )
    versions = ", ".join(ours[0].supported_versions)
    return ok(f"{counted(len(ours), 'instance')}, {versions}")


@check(
    "kubelet-state",
    "Kubelet's record of claims",
    why="the runtime's network plugin reads it while the driver is not running",
)
async def kubelet_state(node: NodeSight) -> Finding:
    """Read kubelet's checkpoint as the driver does."""
    path = node.places.kubelet_state
    claims = await asyncio.to_thread(KubeletState(path).claims_of, node.driver)
    if claims is None:
        if not path.parent.is_dir():
            return unknown(f"{path.parent} does not exist")
        return warning(
            f"{path} cannot be read",
            f"in a container, mount {node.settings.kubelet_dir}; on the node, restart kubelet",
        )
    return ok(f"{counted(len(claims), 'prepared claim')} of this driver")


def _sockets(registry: Path) -> list[Path]:
    try:
        return sorted(each for each in registry.iterdir() if stat.S_ISSOCK(each.lstat().st_mode))
    except FileNotFoundError:
        return []


async def _who(socket: Path) -> DriverInfo | None:
    try:
        return await ask_info(socket)
    except PeerError:  # a leftover, or no plugin of kubelet's
        return None
