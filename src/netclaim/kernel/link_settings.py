"""What a link has beyond what every link has: the settings of its kind, who listens to it all.

Promise: read afresh each time. Limit: apart from `Link`, since only those who check a link want it.
"""

import errno

import msgspec

from netclaim.kernel import uapi
from netclaim.kernel.link_requests import IFINFOMSG, get_link
from netclaim.kernel.netlink import KernelError, attributes, number, text_of
from netclaim.kernel.rtnl import Rtnl

__all__ = ["LinkSettings", "link_settings"]


class LinkSettings(msgspec.Struct, frozen=True):
    """The settings of one link."""

    kind: str
    data: dict[int, bytes]  # IFLA_INFO_DATA, by the numbers of this kind
    promiscuity: int  # how many want it to take in every frame

    def number(self, attribute: int) -> int:
        """Return a setting that is a number; 0 where the kernel does not say."""
        return number(self.data.get(attribute, b""))


async def link_settings(rtnl: Rtnl, name: str) -> LinkSettings | None:
    """Look the settings of a link up; None: there is no such link."""
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
