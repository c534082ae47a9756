"""Remember the host's links that are in containers, as they were.

Promise: a link is known here before it leaves the host and until it is whole again, whatever
becomes of this process. What cannot be read, or is no regular file, counts as unknown: the link's
alias has its name still.
Limit: for as long as the machine runs. What was lent before a reboot is forgotten: all links are
home then, and not as this process left them.
"""

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
import structlog

from netclaim.cni import AttachmentKey
from netclaim.cni.plain_files import (
    made_directory,
    opened_directory,
    read_plain,
    remove_plain,
    replace_plain,
)
from netclaim.errors import HostError
from netclaim.kernel.host.boot import boot_id
from netclaim.kernel.host.hardware.vfio import Binding
from netclaim.kernel.state.copies.address_copies import TakenAddress
from netclaim.kernel.state.copies.belongings import Belongings
from netclaim.kernel.state.copies.link_copies import TakenSettings
from netclaim.kernel.state.copies.rule_copies import TakenRule
from netclaim.plugins.host_device.lent_function import LentFunction

SUFFIX: Final = ".json"
BYTES_MAX: Final = 1 << 20  # an address or a route takes two hundred, the settings ten thousand
ENTRIES_MAX: Final = 1 << 14  # more than any machine has links

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
    kind: str | None = None  # None: remembered by an older version, which did not ask
    perm_mac: str = ""  # what the hardware was made with, if it says so
    device: str = ""  # the hardware in sysfs, which is there for as long as it is plugged in
    settings: TakenSettings | None = None  # None: by an older version, like what follows
    index: int = 0  # in the container; 0: it has not arrived there yet
    netns_cookie: int = 0  # of the namespace that has it: its path may lead to another by now
    belongings: Belongings | None = None
    rules: tuple[TakenRule, ...] = ()  # copied into the container
    function: LentFunction | None = None  # None: its card was not asked for anything
    rdma: tuple[str, ...] = ()  # RDMA devices that go where it goes
    rdma_ended: tuple[str, ...] = ()  # those that ended when it went
    vfio: Binding | None = None  # what it was before a program got its hardware; None: none did

    @property
    def key(self) -> AttachmentKey:
        """The attachment that has it."""
        return AttachmentKey(self.container_id, self.ifname)

    @property
    def unplugged(self) -> bool:
        """Whether it is hardware that the machine no longer has."""
        return bool(self.device) and not Path(self.device).exists()

    @property
    def ended(self) -> bool:
        """Whether its hardware has no link in any namespace, unplugged or without its driver.

        The directory of a device's links is there for as long as there is one, wherever that is;
        what it lists is of one namespace.
        """
        return bool(self.device) and not (Path(self.device) / "net").exists()


def device_of(name: str, sys: Path) -> str:
    """Return where sysfs has the hardware of a link of the host; empty: it is not known."""
    try:
        return str((sys / "class/net" / name / "device").resolve(strict=True))
    except OSError:
        return ""


class _File(msgspec.Struct, frozen=True):
    boot: str
    lent: LentLink


class LentLinks:
    """One file for each lent link, in `directory`."""

    def __init__(self, directory: Path, *, boot: Callable[[], str] = boot_id) -> None:
        self._directory = str(directory)
        self._boot = boot

    def keep(self, lent: LentLink) -> None:
        """Remember a link, in place of what was known of it."""
        content = msgspec.json.encode(_File(self._boot(), lent))
        if len(content) > BYTES_MAX:
            raise HostError(
                f"the link {lent.name} has too many routes, neighbours or addresses to be given "
                "back as it was; remove some, or choose another link"
            )
        try:
            with made_directory(self._directory, 0o700) as directory:
                replace_plain(_name(lent.key), content, dir_fd=directory)
        except OSError as error:
            raise HostError(f"cannot save the record of the link {lent.name}: {error}") from error

    def find(self, key: AttachmentKey) -> LentLink | None:
        """Return the link that an attachment has, as it was."""
        return self._read(_name(key))

    def drop(self, key: AttachmentKey) -> None:
        """Forget a link, if it is known."""
        try:
            with opened_directory(self._directory) as directory:
                remove_plain(_name(key), dir_fd=directory)
        except FileNotFoundError:
            return
        except OSError as error:
            raise HostError(f"cannot remove the record of a link: {error}") from error

    def all(self) -> list[LentLink]:
        """Return every link that is remembered."""
        try:
            with opened_directory(self._directory) as directory, os.scandir(directory) as found:
                names = [entry.name for entry in islice(found, ENTRIES_MAX)]
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("plugins.lent_links_unreadable", path=self._directory, error=str(error))
            return []
        ours = (name for name in sorted(names) if name.endswith(SUFFIX) and name[0] != ".")
        read = (self._read(name) for name in ours)
        return [lent for lent in read if lent is not None]

    def written(self, key: AttachmentKey) -> float | None:
        """When a link was remembered, in seconds since 1970; None if it is not."""
        try:
            with opened_directory(self._directory) as directory:
                return os.stat(_name(key), dir_fd=directory, follow_symlinks=False).st_mtime
        except OSError:
            return None

    def _read(self, name: str) -> LentLink | None:
        try:
            with opened_directory(self._directory) as directory:
                content = read_plain(name, dir_fd=directory, size_max=BYTES_MAX)
            file = msgspec.json.decode(content, type=_File)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            path = f"{self._directory}/{name}"
            log.warning("plugins.lent_link_unreadable", path=path, error=str(error))
            return None
        return file.lent if file.boot == self._boot() else None


def _name(key: AttachmentKey) -> str:
    # An id cannot hold '@', so no two attachments share a file.
    return f"{key.container_id}@{key.ifname}{SUFFIX}"
