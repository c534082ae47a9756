"""What the kernel of a node can do: privileges, kinds of links, limits of bandwidth, packet rules.

Promise: what is tried is tried in a new network namespace, and ends with it; the node's own network
is not touched.
"""

import asyncio
import errno
from typing import Final

from netclaim.doctor.finding import Finding, check, error, ok, warning
from netclaim.doctor.node.sight import NodeSight
from netclaim.errors import HostError
from netclaim.kernel import (
    KernelError,
    Netns,
    Rtnl,
    call_in,
    find_link,
    new_netns,
)
from netclaim.kernel.host import nftables
from netclaim.kernel.requests.classes import from_mac
from netclaim.kernel.requests.links import (
    MODULES,
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
from netclaim.kernel.state.link_classes import MODULES as KEEP_MODULES
from netclaim.kernel.state.link_classes import Kept, keep
from netclaim.kernel.state.link_limit import MODULES as LIMIT_MODULES
from netclaim.kernel.state.link_limit import limit_link
from netclaim.screen.words import listed

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
LIMITED: Final = "netclaim-limit"
KEPT: Final = "netclaim-kept"
KEPT_QUEUE: Final = 0x4000_0000  # any handle


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
        grave = error if lost else warning
        return grave(
            f"the kernel has no {listed(missing)}; claims of these types fail",
            f"modprobe -a {' '.join(modules)}, and list them in /etc/modules-load.d/netclaim.conf;"
            " some distributions have them in a package such as linux-modules-extra",
        )
    return ok(listed([*BASIS, *FURTHER]))


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
    why="a claim that asks for bandwidth fails if its interface cannot be limited, and is not"
    " protected from others if a link cannot be queued",
)
async def link_limits(_node: NodeSight) -> Finding:
    """Limit a link in a new namespace, and keep a part of another."""
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
        try:
            await rtnl.call(create_link(KEPT, bridge()))
            kept = await find_link(rtnl, KEPT)
            assert kept is not None, "it was made a moment ago"
            await keep(rtnl, kept.index, Kept(10**9, 10**8, (from_mac(bytes(6)),)), KEPT_QUEUE)
        except KernelError as fault:
            return warning(
                f"links can be limited, but nothing can be kept of them: {fault}",
                f"modprobe -a {' '.join(KEEP_MODULES)}, and list them in"
                " /etc/modules-load.d/netclaim.conf; or start the drivers with"
                " --no-protect-bandwidth",
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
