"""Remember the host's links that are in containers, as they were.

Promise: a link is known here before it leaves the host and until it is whole again, whatever
becomes of this process. What cannot be read counts as unknown: the link's alias has its name still.
Limit: for as long as the machine runs. What was lent before a reboot is forgotten: all links are
home then, and not as this process left them.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog

from netclaim.cni import AttachmentKey
from netclaim.errors import HostError
from netclaim.kernel.address_copies import TakenAddress

__all__ = ["LentLink", "LentLinks"]

log = structlog.get_logger(__name__)


class LentLink(msgspec.Struct, frozen=True):
    """A link as it was on the host."""

    network: str
    container_id: str
    netns: str  # where it is now
    ifname: str  # what it is called there
    name: str
    mac: str
    mtu: int
    up: bool
    hardware: bool  # the kernel returns it when the namespace ends; others end with it
    alias: str = ""
    addresses: tuple[TakenAddress, ...] = ()

    @property
    def key(self) -> AttachmentKey:
        """The attachment that has it."""
        return AttachmentKey(self.container_id, self.ifname)


def boot_id() -> str:
    """Return what tells this run of the machine from others."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class _File(msgspec.Struct, frozen=True):
    boot: str
    lent: LentLink


class LentLinks:
    """One file for each lent link, in `directory`."""

    def __init__(self, directory: Path, *, boot: Callable[[], str] = boot_id) -> None:
        self._directory = directory
        self._boot = boot

    def keep(self, lent: LentLink) -> None:
        """Remember a link. Again: replaces what was known of it."""
        path = self._path(lent.key)
        draft = path.with_suffix(".draft")
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.encode(_File(self._boot(), lent)))
            draft.replace(path)
        except OSError as error:
            raise HostError(f"cannot remember the link {lent.name}: {error}") from error

    def find(self, key: AttachmentKey) -> LentLink | None:
        """Return the link that an attachment has, as it was."""
        return self._read(self._path(key))

    def drop(self, key: AttachmentKey) -> None:
        """Forget a link. Again: does nothing."""
        try:
            self._path(key).unlink(missing_ok=True)
        except OSError as error:
            raise HostError(f"cannot forget a link: {error}") from error

    def all(self) -> list[LentLink]:
        """Return every link that is remembered."""
        read = (self._read(path) for path in sorted(self._directory.glob("*.json")))
        return [lent for lent in read if lent is not None]

    def _path(self, key: AttachmentKey) -> Path:
        # An id cannot hold '@', so no two attachments share a file.
        return self._directory / f"{key.container_id}@{key.ifname}.json"

    def _read(self, path: Path) -> LentLink | None:
        try:
            file = msgspec.json.decode(path.read_bytes(), type=_File)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            log.warning("plugins.lent_link_unreadable", path=str(path), error=str(error))
            return None
        return file.lent if file.boot == self._boot() else None
