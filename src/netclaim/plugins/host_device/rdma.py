"""The RDMA devices of a link that is lent.

A node shows its RDMA devices in every network namespace, or each in one alone: in the second case
one has to follow its link, or nobody in the container can use it. One that the kernel makes of a
link in software ends when the link goes anywhere; it is made again when the link is home.

Promise: a device that uses other links too stays where it is. One that moved is home before its
link is; one that is there already is left alone.
Limit: the kernel brings back what a container's end left behind, to the machine's first namespace.
"""

from collections.abc import Collection
from pathlib import Path

import structlog

from netclaim.kernel import KernelError, Link, Netns, read_facts
from netclaim.kernel.host.hardware.rdma import follows_namespaces, is_software, uses_only
from netclaim.kernel.requests.rdma import list_rdma, make_rdma, move_rdma, open_rdma
from netclaim.plugins.engine.errors import PluginError

log = structlog.get_logger(__name__)


def rdma_with(link: Link, sys: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the RDMA devices that have to go where a link goes, and those that end meanwhile."""
    found = read_facts(link.name, link.index, sys).rdma_devices
    ending = tuple(name for name in found if is_software(name, sys))
    if not follows_namespaces(sys):
        return (), ending
    own = (name for name in found if uses_only(name, link.name, sys))
    return tuple(name for name in own if name not in ending), ending


async def lend_rdma(devices: Collection[str], there: Netns) -> None:
    """Move RDMA devices of the host to a container's namespace."""
    if not devices:
        return
    with open_rdma() as host:
        for name in devices:
            if not await move_rdma(host, name, there):
                raise PluginError(f"the RDMA device {name} is not in the host's namespace")


async def return_rdma(devices: Collection[str], there: Netns, home: Netns) -> None:
    """Move RDMA devices back, as far as they are in the container."""
    if not devices:
        return
    with open_rdma(there) as inside:
        for name in devices:
            await move_rdma(inside, name, home)


async def make_rdma_again(devices: Collection[str], link: str) -> None:
    """Make those RDMA devices again that ended while their link was away."""
    if not devices:
        return
    with open_rdma() as host:
        there = await list_rdma(host)
        for name in devices:
            if name not in there:
                try:
                    await make_rdma(host, name, link)
                except KernelError as error:  # the link shall be home all the same
                    log.warning("plugins.link_not_as_it_was", name=link, error=str(error))
