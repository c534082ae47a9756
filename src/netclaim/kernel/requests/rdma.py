"""RDMA devices over their own netlink protocol: listing those of a namespace, moving, making one.

Promise: a device is known by its name, which it keeps when it moves. Limit: where RDMA devices are
shown in every namespace, all of the machine's are listed, and the kernel moves none; nor those of
drivers that cannot leave their users behind.
"""

import errno
from collections.abc import Mapping
from contextlib import AbstractContextManager

from netclaim.errors import HostError
from netclaim.kernel.host.netns import Netns
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import (
    KernelError,
    MalformedMessageError,
    Request,
    attributes,
    number,
    text,
    text_of,
    u32,
)

SOFTWARE = "rxe"  # RDMA over Converged Ethernet, on any link
NOT_MOVED = (
    "its kernel driver cannot move it to another namespace; show RDMA devices in all of them "
    "instead (`rdma system set netns shared`, before the machine's first pod)"
)


class RdmaStaysError(HostError):
    """An RDMA device cannot be moved to a container's namespace."""


def open_rdma(netns: Netns | None = None) -> AbstractContextManager[Rtnl]:
    """Connect to the kernel's RDMA subsystem in a namespace, or in our own."""
    return Rtnl.open(netns, protocol=uapi.NETLINK_RDMA)


async def list_rdma(client: Rtnl) -> Mapping[str, int]:
    """List the namespace's RDMA devices: their indices by their names."""
    request = Request(_kind(uapi.RDMA_NLDEV_CMD_GET), b"", "list RDMA devices", dump=True)
    found = {}
    for message in await client.dump(request):
        said = dict(attributes(message.payload))
        try:
            name = text_of(said[uapi.RDMA_NLDEV_ATTR_DEV_NAME])
            found[name] = number(said[uapi.RDMA_NLDEV_ATTR_DEV_INDEX])
        except KeyError as error:
            raise MalformedMessageError("an RDMA device without its name or index") from error
    return found


async def move_rdma(client: Rtnl, name: str, netns: Netns) -> bool:
    """Move an RDMA device to another namespace; False if it is not in the client's.

    RdmaStaysError if it cannot be moved.
    """
    index = (await list_rdma(client)).get(name)
    if index is None:
        return False
    try:
        await client.call(moving(index, netns.fd, name))
    except KernelError as error:
        if error.errno == errno.EOPNOTSUPP:
            raise RdmaStaysError(f"the RDMA device {name}: {NOT_MOVED}") from error
        raise
    return True


async def make_rdma(client: Rtnl, name: str, link: str) -> None:
    """Make an RDMA device of a link in software."""
    payload = text(uapi.RDMA_NLDEV_ATTR_DEV_NAME, name)
    payload += text(uapi.RDMA_NLDEV_ATTR_LINK_TYPE, SOFTWARE)
    payload += text(uapi.RDMA_NLDEV_ATTR_NDEV_NAME, link)
    about = f"make the RDMA device {name} of the link {link}"
    await client.call(Request(_kind(uapi.RDMA_NLDEV_CMD_NEWLINK), payload, about))


def moving(index: int, netns_fd: int, name: str) -> Request:
    """Ask for a device to be moved to the namespace of a descriptor."""
    payload = u32(uapi.RDMA_NLDEV_ATTR_DEV_INDEX, index)
    payload += u32(uapi.RDMA_NLDEV_NET_NS_FD, netns_fd)
    return Request(_kind(uapi.RDMA_NLDEV_CMD_SET), payload, f"move the RDMA device {name}")


def _kind(command: int) -> int:
    """The type of a message: whose it is, and what it wants."""
    return (uapi.RDMA_NL_NLDEV << uapi.RDMA_NL_CLIENT_BITS) + command
