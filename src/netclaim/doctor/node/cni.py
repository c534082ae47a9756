"""Network plugins on a node: the runtime's own list, our entry in it, and the programs."""

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from netclaim.chained import program_path
from netclaim.chained.conflist import PLUGIN_TYPE
from netclaim.chained.files import conf_files
from netclaim.doctor.finding import Finding, check, error, ok, skipped, unknown, warning
from netclaim.doctor.node.network_types import types_in, types_of_claims
from netclaim.doctor.node.sight import NO_CNI, NodeSight
from netclaim.errors import HostError, NetclaimError
from netclaim.framework.journal.read_only import peek
from netclaim.framework.journal.store import JournalError
from netclaim.plugins import PLUGIN_TYPES
from netclaim.screen.words import listed


@check(
    "cni-list",
    "Driver in the runtime's network list",
    why="the runtime asks the driver by the last plugin of its own list, and waits for the answer",
)
async def cni_list(node: NodeSight) -> Finding:
    """Look for our entry in the list that the runtime uses."""
    if not node.uses_cni:
        return skipped(NO_CNI)
    directory = node.settings.cni_conf_dir
    files = await asyncio.to_thread(conf_files, directory)
    if not files:
        return error(
            f"there is no network configuration in {directory}",
            "install the cluster's primary network, or name the runtime's directory with"
            " --cni-conf-dir",
        )
    if (used := await _used_by_runtime(node)) and used.resolve() != directory.resolve():
        return error(
            f"the runtime reads {used}, and not {directory}",
            f"run the driver with --cni-conf-dir={used}",
        )
    return await asyncio.to_thread(_entry, files[0], node)


def _entry(path: Path, node: NodeSight) -> Finding:
    """Look for our entry in a list."""
    if path.suffix != ".conflist":
        return error(
            f"{path} is a single plugin, to which nothing can be added",
            "write it as a network list (.conflist), or run the driver with --runtime-hook=nri",
        )
    plugins = _plugins(path)
    ours = [n for n, each in enumerate(plugins) if _is_ours(each, node.driver)]
    if not ours:
        return error(
            f"{path} does not list {PLUGIN_TYPE} for {node.driver}",
            "start the driver, which adds it within a second; docs/runtime-hook.md says how to add"
            " it by hand",
        )
    others = [str(each.get("type")) for each in plugins[ours[0] + 1 :]]
    others = [kind for kind in others if kind != PLUGIN_TYPE]
    if others:
        return warning(
            f"{path} has {listed(others)} behind {PLUGIN_TYPE}, which runs after the interfaces"
            " are attached",
            f"move {PLUGIN_TYPE} to the end of the list",
        )
    if plugins[ours[0]] != node.places.entry(node.driver).to_json():
        return warning(
            f"the entry in {path} is not the one that this version writes for these settings",
            "restart the driver, or give this command the driver's own settings",
        )
    return ok(str(path))


@check(
    "cni-attach-program",
    "Program of the driver's network plugin",
    why="the runtime fails every pod whose list names a program that is not there",
)
async def cni_program(node: NodeSight) -> Finding:
    """Look for netclaim-attach where the runtime looks, and compare it with ours."""
    if not node.uses_cni:
        return skipped(NO_CNI)
    path = node.settings.cni_program_dir / PLUGIN_TYPE
    if not os.access(path, os.X_OK):
        return error(
            f"{path} is {'not executable' if path.exists() else 'missing'}",
            f"restart the driver, which installs it; or cp {program_path()} {path}",
        )
    if await asyncio.to_thread(lambda: path.read_bytes() != program_path().read_bytes()):
        return warning(
            f"{path} is of another version", "restart the driver, which installs its own"
        )
    return ok(str(path))


@check(
    "cni-primary-programs",
    "Programs of the primary network",
    why="a pod's primary network fails if a plugin of its list is missing",
)
async def cni_programs(node: NodeSight) -> Finding:
    """Look for the program of each plugin in the runtime's list, and of its IPAM."""
    files = await asyncio.to_thread(conf_files, node.settings.cni_conf_dir)
    if not files:
        return unknown(f"there is no network configuration in {node.settings.cni_conf_dir}")
    config = await node.cri_config()
    directories = [Path(each) for each in _cni(config, "binDirs") or ()]
    directories = directories or [node.settings.cni_program_dir]
    types = sorted(set(types_in({"plugins": _plugins(files[0])})) - {PLUGIN_TYPE})
    missing = [kind for kind in types if not _is_there(kind, directories, unseen=node.in_pod)]
    if missing:
        return error(
            f"{files[0]} names {listed(missing)}, which {_shown(directories)} does not have",
            "install the CNI plugins there again, for example with the primary network's installer",
        )
    return ok(listed(types))


@check(
    "cni-claim-programs",
    "Programs that claims name",
    why="claims may name plugins that the driver does not have in process",
)
async def claim_programs(node: NodeSight) -> Finding:
    """Look for the programs of the types that claims of this node, or of the cluster, name."""
    used = set(await asyncio.to_thread(_types_in_journal, node.journal))
    if node.cluster is not None:
        with suppress(NetclaimError):  # what is wrong there is said there
            objects = [
                *await node.cluster.dra("DeviceClass"),
                *await node.cluster.dra("ResourceClaim"),
            ]
            used |= set(types_of_claims(objects, node.driver))
    wanted = sorted(used - PLUGIN_TYPES)
    missing = [kind for kind in wanted if not _is_there(kind, node.cni_path)]
    if missing:
        return error(
            f"claims name {listed(missing)}, which {_shown(node.cni_path)} does not have",
            f"install {' '.join(missing)} in {node.cni_path[0]}, or name another directory with"
            " --cni-bin-dir; the types in docs/cni.md need no program",
        )
    return ok(listed(wanted) if wanted else "claims name only types that need no program")


def _types_in_journal(path: Path) -> Iterator[str]:
    """Yield the types in the plans of prepared claims; a journal that cannot be read has none."""
    with suppress(JournalError):
        for booking in peek(path).bookings:
            for plan in booking.prepared.plans if booking.prepared else ():
                yield from types_in((plan.network or {}).get("config"))


async def _used_by_runtime(node: NodeSight) -> Path | None:
    """Return the directory of network lists that the runtime says it reads."""
    found = _cni(await node.cri_config(), "confDir")
    return Path(found) if found else None


def _cni(config: Any, key: str) -> Any:
    settings = config.get("cni") or {}
    if key == "binDirs" and "binDirs" not in settings and settings.get("binDir"):
        return [settings["binDir"]]  # containerd before 2.1 has one
    return settings.get(key)


def _plugins(path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(path.read_text())
        plugins = found.get("plugins", [found])
        return [dict(each) for each in plugins]
    except (ValueError, AttributeError, TypeError) as fault:
        raise HostError(f"{path} is not a network list: {fault}") from fault


def _is_ours(plugin: dict[str, Any], driver: str) -> bool:
    return plugin.get("type") == PLUGIN_TYPE and plugin.get("driver") == driver


def _is_there(kind: str, directories: Sequence[Path], *, unseen: bool = False) -> bool:
    """Whether a program exists; with `unseen`, a symbolic link may lead anywhere."""
    return any(
        os.access(each / kind, os.X_OK) or (unseen and (each / kind).is_symlink())
        for each in directories
    )


def _shown(paths: Sequence[Path]) -> str:
    return listed([str(each) for each in paths])
