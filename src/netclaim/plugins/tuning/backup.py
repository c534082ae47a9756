"""How a link was before it was tuned, kept until it is so again.

    DIRECTORY/CONTAINER-ID_IFNAME.json    as the reference plugin writes it, and reads it

Promise: only what was tuned is kept, and put back. A file is there whole or not at all. What is no
regular file, or makes no sense as a link's settings, counts as absent: a container must be able to
go.
Limit: for as long as the machine runs, by default; links do not survive it either.
"""

import errno
from dataclasses import dataclass
from typing import Final

import msgspec

from netclaim.cni import AttachmentKey
from netclaim.cni.plain_files import (
    made_directory,
    opened_directory,
    read_plain,
    remove_plain,
    replace_plain,
)
from netclaim.errors import HostError
from netclaim.kernel import Link, Request
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.links import set_link
from netclaim.plugins.engine.conf import U32
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.shared.mac import chosen_mac

BYTES_MAX: Final = 4096  # five settings take a hundred
# What says that a path does not lead to our directory, so that nothing was ever kept there.
NOWHERE: Final = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL}
)


class LinkTuning(
    msgspec.Struct, frozen=True, omit_defaults=True, rename={"txqlen": "txQLen"}, kw_only=True
):
    """Settings of a link; what is not given is not touched."""

    mac: str = ""
    promisc: bool | None = None
    mtu: U32 = 0
    allmulti: bool | None = None
    txqlen: U32 | None = None

    def now(self, link: Link, *, promiscuous: bool) -> "LinkTuning":
        """Return the same settings, with the values that they have now."""
        return LinkTuning(
            mac=link.mac if self.mac else "",
            promisc=promiscuous if self.promisc is not None else None,
            mtu=link.mtu if self.mtu else 0,
            allmulti=bool(link.flags & uapi.IFF_ALLMULTI) if self.allmulti is not None else None,
            txqlen=link.txqlen if self.txqlen is not None else None,
        )

    def request(self, link: Link) -> Request:
        """Give a link all these settings."""
        return set_link(
            link.index,
            mac=self.mac,
            promiscuous=self.promisc,
            mtu=self.mtu or None,
            all_multicast=self.allmulti,
            txqlen=self.txqlen,
        )

    def written(self) -> str:
        """Return the settings as the reference plugin writes them."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1).decode()

    def each(self) -> list["LinkTuning"]:
        """Return the settings one by one: one that is refused shall not keep back the others."""
        given = msgspec.structs.asdict(self)
        nothing = msgspec.structs.asdict(LinkTuning())
        return [
            LinkTuning(**{name: value}) for name, value in given.items() if value != nothing[name]
        ]


@dataclass(frozen=True, slots=True)
class Backup:
    """The file of one attachment."""

    directory: str
    key: AttachmentKey

    def keep(self, before: LinkTuning) -> None:
        """Write down how the link is, in place of what was written before."""
        try:
            with made_directory(self.directory, 0o700) as directory:
                replace_plain(self._name, before.written().encode(), dir_fd=directory)
        except OSError as error:
            raise HostError(f"cannot save the settings of {self.key.ifname}: {error}") from error

    def read(self) -> LinkTuning | None:
        """Return how the link was; None where nothing was tuned, or nobody can read it any more."""
        try:
            with opened_directory(self.directory) as directory:
                content = read_plain(self._name, dir_fd=directory, size_max=BYTES_MAX)
            before = msgspec.json.decode(content, type=LinkTuning)
            return msgspec.structs.replace(before, mac=chosen_mac(before.mac))
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, PluginError):
            return None

    def drop(self) -> None:
        """Remove the file, if there is one."""
        try:
            with opened_directory(self.directory) as directory:
                remove_plain(self._name, dir_fd=directory)
        except OSError as error:
            if error.errno not in NOWHERE:
                raise HostError(
                    f"cannot remove the saved settings of {self.key.ifname}: {error}"
                ) from error

    @property
    def _name(self) -> str:
        return f"{self.key.container_id}_{self.key.ifname}.json"
