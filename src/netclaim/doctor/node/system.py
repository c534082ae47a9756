"""What the driver shares a node with: namespaces of pods, limits of open files, the clock."""

import asyncio
import ctypes
import os
import resource
from pathlib import Path
from typing import Final

from netclaim.cri import RuntimeCallError
from netclaim.doctor.finding import Finding, check, error, ok, skipped, unknown, warning
from netclaim.doctor.node.sight import NodeSight
from netclaim.kernel import is_live

NAMESPACES: Final = Path("/run/netns")  # where containerd and CRI-O mount those of pods
PROPAGATE: Final = (
    f"mount {NAMESPACES} into the driver's container with mountPropagation: HostToContainer"
)
FILES_LEAST: Final = 1024  # the driver uses about 30, and a few for each call in progress
TIME_ERROR: Final = 5  # linux/timex.h: the clock is not synchronised
TIMEX_BYTES: Final = 512  # struct timex has 208 on 64-bit machines; the kernel fills its own size


@check(
    "netns-visible",
    "Namespaces of pods are visible",
    why="the driver attaches by the path of the pod's network namespace",
)
async def namespaces(node: NodeSight) -> Finding:
    """Look for the namespace of each running pod, where the runtime says that it is."""
    try:
        sandboxes = [each for each in await node.cri.list() if each.ready]
        states = [await node.cri.status(each.id) for each in sandboxes]
    except RuntimeCallError as fault:
        return unknown(str(fault), "see runtime")
    paths = [each.netns for each in states if each is not None and each.ready and each.netns]
    hidden = [path for path in paths if not is_live(path)]
    if hidden:
        return error(
            f"{len(hidden)} of {len(paths)} cannot be seen, for example {hidden[0]}",
            PROPAGATE,
        )
    if paths:
        return ok(f"all of {len(paths)}")
    propagation = await asyncio.to_thread(_propagation, node.proc)
    if propagation == "private":
        return warning(
            f"the mount of {NAMESPACES} is private: in a container, namespaces of later pods do"
            " not appear",
            f"{PROPAGATE}; on the node itself, mount --make-rshared /run",
        )
    return skipped("no pod with a network of its own runs here")


def _propagation(proc: Path) -> str:
    """Return whether the mount of the pods' namespaces sees new mounts: `heard`, or `private`."""
    best, found = "", "private"
    where = str(NAMESPACES.resolve())
    for line in (proc / "self/mountinfo").read_text().splitlines():
        fields = line.split()
        point, optional = fields[4], fields[6 : fields.index("-")]
        if (where == point or where.startswith(point.rstrip("/") + "/")) and len(point) >= len(
            best
        ):
            best = point
            heard = any(each.startswith(("shared:", "master:")) for each in optional)
            found = "heard" if heard else "private"
    return found


@check(
    "limits",
    "Limits",
    why="kubelet does not find a driver when no more file watches can be made",
)
async def limits(node: NodeSight) -> Finding:
    """Make a file watch, and look at the number of files that a process may open."""
    descriptor = ctypes.CDLL(None, use_errno=True).inotify_init1(os.O_CLOEXEC)
    if descriptor < 0:
        return error(
            f"no file watch can be made: {os.strerror(ctypes.get_errno())}",
            "sysctl fs.inotify.max_user_instances=1024, and set it in /etc/sysctl.d",
        )
    os.close(descriptor)
    used, _, most = (node.proc / "sys/fs/file-nr").read_text().split()
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES_LEAST:
        return warning(
            f"a process may open {soft} files",
            f"ulimit -n {FILES_LEAST}, or LimitNOFILE= in a unit",
        )
    if int(used) > int(most) * 0.9:
        return warning(f"{used} of {most} files are open on this node", "sysctl fs.file-max")
    return ok(f"{soft} files a process, file watches can be made")


@check(
    "clock-synchronised",
    "Clock is synchronised",
    why="a node whose clock drifts is refused by the API server one day",
)
async def clock(_node: NodeSight) -> Finding:
    """Ask the kernel whether something synchronises the clock."""
    buffer = ctypes.create_string_buffer(TIMEX_BYTES)  # modes 0: only look
    state = ctypes.CDLL(None, use_errno=True).adjtimex(buffer)
    if state < 0:
        return unknown(f"adjtimex: {os.strerror(ctypes.get_errno())}")
    if state == TIME_ERROR:
        return warning(
            "the kernel says that nothing synchronises it",
            "timedatectl set-ntp true, or run chrony; on a virtual machine whose host keeps the"
            " time, this can be ignored",
        )
    return ok("the kernel says that it is")
