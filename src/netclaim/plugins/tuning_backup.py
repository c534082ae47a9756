"""How a link was before it was tuned, kept until it is so again.

    DIRECTORY/CONTAINER-ID_IFNAME.json    as the reference plugin writes it, and reads it

Promise: only what was tuned is kept, and put back.
Limit: for as long as the machine runs, by default; links do not survive it either.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from netclaim.cni import AttachmentKey
from netclaim.errors import HostError
from netclaim.kernel import Link, Request, uapi
from netclaim.kernel.link_requests import set_link

__all__ = ["Backup", "LinkTuning"]


class LinkTuning(
    msgspec.Struct, frozen=True, omit_defaults=True, rename={"txqlen": "txQLen"}, kw_only=True
):
    """Settings of a link; what is not given is not touched."""

    mac: str = ""
    promisc: bool | None = None
    mtu: int = 0
    allmulti: bool | None = None
    txqlen: int | None = None

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

    directory: Path
    key: AttachmentKey

    def keep(self, before: LinkTuning) -> None:
        """Write down how the link is. Again: replaces what is written."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            self._path.write_text(before.written())
        except OSError as error:
            raise HostError(f"cannot keep how {self.key.ifname} is: {error}") from error

    def read(self) -> LinkTuning | None:
        """Return how the link was; None where nothing was tuned, or nobody can read it any more."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=LinkTuning)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None

    def drop(self) -> None:
        """Forget it. Again: does nothing."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise HostError(f"cannot forget how {self.key.ifname} was: {error}") from error

    @property
    def _path(self) -> Path:
        return self.directory / f"{self.key.container_id}_{self.key.ifname}.json"
