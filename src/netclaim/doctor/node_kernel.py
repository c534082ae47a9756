"""The kernel of a node: privileges, kinds of links, packet rules, namespaces, limits and clock.

What is tried is tried in a new network namespace, and ends with it; the node's own is not touched.
"""

import asyncio
import ctypes
import errno
import os
import resource
from pathlib import Path
from typing import Final

from netclaim.cri import RuntimeCallError
from netclaim.doctor.finding import Finding, check, error, listed, ok, skipped, unknown, warning
from netclaim.doctor.node_sight import NodeSight
from netclaim.errors import HostError
from netclaim.kernel import (
    KernelError,
    Netns,
    Rtnl,
    call_in,
    find_link,
    is_live,
    new_netns,
    nftables,
)
from netclaim.kernel.link_limit import MODULES as LIMIT_MODULES
from netclaim.kernel.link_limit import limit_link
from netclaim.kernel.link_requests import (
    LinkKind,
    bridge,
    create_link,
    dummy,
    ifb,
    ipvlan,
    macvlan,
    veth,
    vlan,
    vrf,
)

__all__ = [
    "clock",
    "limits",
    "link_kinds",
    "link_limits",
    "namespaces",
    "packet_rules",
    "privileges",
]

# linux/capability.h, with what the driver needs them for.
CAPABILITIES: Final = {
    "CAP_NET_ADMIN": 12,  # makes links and addresses
    "CAP_SYS_ADMIN": 21,  # enters the pods' namespaces
}
BASIS: Final = {"veth": veth("netclaim-b"), "bridge": bridge(), "macvlan": macvlan()}
FURTHER: Final = {
    "ipvlan": ipvlan(),
    "vlan": vlan(2),
    "dummy": dummy(),
    "vrf": vrf(10),
    "ifb": ifb(),
}
ON_A_PARENT: Final = ("macvlan", "ipvlan", "vlan")
MODULES: Final = {"vlan": "8021q"}
LIMITED: Final = "netclaim-limit"
FILES_LEAST: Final = 1024  # the driver uses about 30, and a few for each call in progress
NAMESPACES: Final = Path("/run/netns")  # where containerd and CRI-O mount those of pods
TIME_ERROR: Final = 5  # linux/timex.h: the clock is not synchronised
TIMEX_BYTES: Final = 512  # struct timex has 208 on 64-bit machines; the kernel fills its own size


@check(
    "privileges",
    "Privileges",
    why="the driver makes links and enters the namespaces of pods",
)
async def privileges(node: NodeSight) -> Finding:
    """Look at the capabilities of this process: in the driver's container, those of the driver."""
    status = (node.proc / "self/status").read_text()
    held = int(
        next(line for line in status.splitlines() if line.startswith("CapEff")).split()[1], 16
    )
    missing = [name for name, bit in CAPABILITIES.items() if not held >> bit & 1]
    if missing:
        return error(
            f"missing: {listed(missing)}",
            "run this command as root; for the driver's container, add the capabilities to its"
            " securityContext",
        )
    return ok(listed(list(CAPABILITIES)))


@check(
    "kernel-links",
    "Kinds of links",
    why="a claim that asks for a kind that the kernel lacks fails when its pod starts",
)
async def link_kinds(_node: NodeSight) -> Finding:
    """Make a link of each kind in a new namespace."""
    with await asyncio.to_thread(new_netns) as netns:
        missing = await _missing_kinds(netns)
    lost = [name for name in BASIS if name in missing]
    if missing:
        modules = [MODULES.get(name, name) for name in missing]
        tell = error if lost else warning
        return tell(
            f"the kernel has no {listed(missing)}; claims of these types fail",
            f"modprobe -a {' '.join(modules)}, and list them in /etc/modules-load.d/netclaim.conf;"
            " some distributions have them in a package such as linux-modules-extra",
        )
    return ok(listed([*BASIS, *FURTHER]) or "")


async def _missing_kinds(netns: Netns) -> list[str]:
    missing = []
    with Rtnl.open(netns) as rtnl:
        parent = None
        for number, (name, kind) in enumerate({**BASIS, **FURTHER}.items()):
            link = f"netclaim-{number}"
            if await _makes(rtnl, link, kind, parent if name in ON_A_PARENT else None):
                found = await find_link(rtnl, link)
                parent = found.index if name == "veth" and found else parent
            else:
                missing.append(name)
    return missing


async def _makes(rtnl: Rtnl, name: str, kind: LinkKind, parent: int | None) -> bool:
    try:
        await rtnl.call(create_link(name, kind, parent_index=parent))
    except KernelError as fault:
        if fault.errno in (errno.EOPNOTSUPP, errno.ENODEV):
            return False
        raise HostError(f"{name}: {fault}") from fault
    return True


@check(
    "kernel-bandwidth",
    "Limits of bandwidth",
    why="a claim that shares a link of known speed fails if its interface cannot be limited",
)
async def link_limits(_node: NodeSight) -> Finding:
    """Limit a link in a new namespace."""
    with await asyncio.to_thread(new_netns) as netns, Rtnl.open(netns) as rtnl:
        await rtnl.call(create_link(LIMITED, bridge()))
        link = await find_link(rtnl, LIMITED)
        assert link is not None, "it was made a moment ago"
        try:
            await limit_link(rtnl, link.index, 10**9, mtu=link.mtu)
        except KernelError as fault:
            return error(
                f"no link can be limited: {fault}",
                f"modprobe -a {' '.join(LIMIT_MODULES)}, and list them in"
                " /etc/modules-load.d/netclaim.conf; or start the drivers with --link-bandwidth 0,"
                " so that nobody is limited",
            )
    return ok("links can be limited")


@check(
    "kernel-nftables",
    "Packet rules",
    why="ipMasq and macspoofchk of a network are made with nftables",
)
async def packet_rules(_node: NodeSight) -> Finding:
    """Make and list a table in a new namespace."""
    with await asyncio.to_thread(new_netns) as netns:
        try:
            await asyncio.to_thread(
                call_in, netns, lambda: nftables.run("add table inet netclaim_doctor")
            )
        except HostError as fault:
            return warning(
                str(fault),
                "install nftables' library (Debian: apt install libnftables1) and have the kernel"
                " load nf_tables; only claims with ipMasq or macspoofchk need it",
            )
    return ok("nftables works")


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
            f"mount {NAMESPACES} into the driver's container with mountPropagation:"
            " HostToContainer",
        )
    if paths:
        return ok(f"all of {len(paths)}")
    propagation = await asyncio.to_thread(_propagation, node.proc)
    if propagation == "private":
        return warning(
            f"the mount of {NAMESPACES} is private: in a container, namespaces of later pods do"
            " not appear",
            f"mount {NAMESPACES} into the driver's container with mountPropagation:"
            " HostToContainer; on the node itself, mount --make-rshared /run",
        )
    return skipped("no pod with a network of its own runs here")


def _propagation(proc: Path) -> str:
    """Say how the mount that the pods' namespaces are on hears of new mounts."""
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
