"""Settings of a link beyond those of `Link`: those of its kind, and how many capture its frames.

Promise: they are read anew each time. They are not in `Link`, since only checks of a link need
them.
"""

import errno

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import KernelError, attributes, number, text_of
from netclaim.kernel.requests.links import IFINFOMSG, get_link


class LinkSettings(msgspec.Struct, frozen=True):
    kind: str
    data: dict[int, bytes]  # IFLA_INFO_DATA, by the numbers of this kind
    promiscuity: int  # how many want it to receive every frame

    def number(self, attribute: int) -> int:
        """Return a setting that is a number; 0 if the kernel does not report it."""
        return number(self.data.get(attribute, b""))


async def link_settings(rtnl: Rtnl, name: str) -> LinkSettings | None:
    """Look up the settings of a link; None if the link does not exist."""
    try:
        replies = await rtnl.call(get_link(name))
    except KernelError as error:
        if error.errno == errno.ENODEV:
            return None
        raise
    found = dict(attributes(replies[0].payload, IFINFOMSG.size))
    info = dict(attributes(found.get(uapi.IFLA_LINKINFO, b"")))
    return LinkSettings(
        kind=text_of(info.get(uapi.IFLA_INFO_KIND, b"")),
        data=dict(attributes(info.get(uapi.IFLA_INFO_DATA, b""))),
        promiscuity=number(found.get(uapi.IFLA_PROMISCUITY, b"")),
    )
