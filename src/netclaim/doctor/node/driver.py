"""The driver's process on a node: whether it lives and is ready, its journal and its disk."""

import asyncio
import os
from pathlib import Path
from typing import Final

from netclaim.doctor.finding import Finding, check, error, ok, skipped, unknown, warning
from netclaim.doctor.node.sight import NO_CNI, NodeSight
from netclaim.framework.journal.read_only import Glimpse, peek
from netclaim.framework.journal.store import JournalError
from netclaim.framework.settings.fields import local_address
from netclaim.model.on_node.attachment import AttachmentKey
from netclaim.screen.words import counted

START: Final = (
    "start the driver on this node; its log says why it ended: `kubectl -n netclaim-system logs"
    " --previous POD`, or the log of whatever runs it"
)
FREE_MIN: Final = 100 << 20  # bytes; a journal of a busy node has a few MiB
FREE_LEAST: Final = 10 << 20  # a transaction may need as much as the journal has
INODES_MIN: Final = 1000  # a lease or a cached result is a file each
UNDO_S: Final = 3.0  # a pod that is ending right now is undone in that time


@check(
    "driver-live",
    "Driver process",
    why="without it, claims of pods on this node are not prepared",
)
async def driver_live(node: NodeSight) -> Finding:
    """Ask /healthz."""
    address = local_address(node.settings.http_address)
    if not address:
        return skipped("--http-address is empty: the driver serves no health")
    answer = await node.get(address, "/healthz")
    if answer is None:
        return error(
            f"nothing answers at {address}: the driver is not running, or has another"
            " --http-address",
            START,
        )
    if answer.status != 200:
        return error(f"not healthy: {answer.text}", "restart the driver, and keep its log")
    return ok(f"healthy at {address}")


@check(
    "driver-ready",
    "Driver is ready",
    why="a driver that is not ready cannot be called by kubelet or by the runtime",
)
async def driver_ready(node: NodeSight) -> Finding:
    """Ask /readyz, which says in words what is missing."""
    address = local_address(node.settings.http_address)
    answer = await node.get(address, "/readyz") if address else None
    if answer is None:
        return skipped("the driver does not answer; see driver-live")
    if answer.status != 200:
        return error(
            f"not ready: {' '.join(answer.text.split())}",
            "see the other findings of this node; the driver's log has the details",
        )
    return ok("ready")


@check(
    "driver-socket",
    "Socket for the runtime's network plugin",
    why="the runtime's network plugin refuses pods with claims while nobody listens there",
)
async def driver_socket(node: NodeSight) -> Finding:
    """Look for who listens on the socket that netclaim-attach calls."""
    if not node.uses_cni:
        return skipped(NO_CNI)
    path = node.places.socket
    if not path.exists():
        return error(
            f"{path} does not exist",
            f"start the driver; if it runs in a container, mount {node.settings.run_dir} at the"
            " same path inside and outside",
        )
    if not node.answers(path):
        return error(f"nobody listens on {path}", START)
    return ok(str(path))


@check(
    "journal",
    "Journal",
    why="it holds what has to be undone; the driver does not start with a damaged one",
)
async def journal(node: NodeSight) -> Finding:
    """Open the journal for reading, and look twice for what could not be undone."""
    if not await asyncio.to_thread(node.journal.exists):
        return skipped(f"{node.journal} does not exist: the driver has not run here yet")
    try:
        found = await asyncio.to_thread(peek, node.journal)
        stuck = _undone(found)
        if stuck:
            await asyncio.sleep(UNDO_S)
            stuck &= _undone(await asyncio.to_thread(peek, node.journal))
    except JournalError as fault:
        return error(
            str(fault),
            "run the version of the driver that wrote it; if it is damaged, drain the node, move"
            " the file away and start the driver again",
        )
    if stuck:
        return warning(
            f"{counted(len(stuck), 'attachment')} could not be undone yet",
            "look for detach.failed in the driver's log; `netclaim driver gc --dry-run` lists what"
            " is left over",
        )
    claims = counted(len(found.bookings), "claim")
    return ok(f"{claims}, {counted(sum(each.done for each in found.leases), 'attachment')}")


def _undone(found: Glimpse) -> set[AttachmentKey]:
    """Return the attachments that are still to be undone."""
    return {each.attachment.key for each in found.leases if each.state == "detaching"}


@check(
    "state-disk",
    "Disk of the driver's state",
    why="claims are refused when the journal or a lease cannot be written",
)
async def state_disk(node: NodeSight) -> Finding:
    """Look at the free space where the journal and the leases are."""
    return await asyncio.to_thread(_disk, (node.settings.state_dir, node.lease_dir))


def _disk(directories: tuple[Path, ...]) -> Finding:
    shown = []
    for directory in directories:
        there = next((each for each in (directory, *directory.parents) if each.exists()), None)
        if there is None:
            return unknown(f"{directory} cannot be found")
        status = os.statvfs(there)
        free = status.f_bavail * status.f_frsize
        if status.f_flag & os.ST_RDONLY:
            return error(f"{directory} is on a read-only file system", "mount it for writing")
        if free < FREE_LEAST:
            return error(f"{directory} has {free >> 20} MiB left", "free some space on that disk")
        if free < FREE_MIN or (status.f_files > 0 and status.f_favail < INODES_MIN):
            return warning(
                f"{directory} has {free >> 20} MiB and {status.f_favail} files left",
                "free some space on that disk",
            )
        shown.append(f"{directory} has {free >> 20} MiB left")
    return ok("; ".join(shown))
