"""The DHCP leases that attachments have, one file for each.

Promise: a lease is in a file before its interface has the address, and until it was given back;
what a process finds there after another was killed is enough to renew it and to give it back.
Limit: for as long as the machine runs: after a reboot there is no interface to renew a lease for,
and the server's end of it runs out by itself.
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
    remove_with_draft,
    replace_plain,
)
from netclaim.dhcp.client import Identity
from netclaim.dhcp.granted import Granted
from netclaim.errors import HostError
from netclaim.kernel.host.boot import boot_id

SUFFIX: Final = ".json"
BYTES_MAX: Final = 1 << 16  # a lease with as many routes as it may have takes six thousand
ENTRIES_MAX: Final = 1 << 14  # more than any machine has interfaces in pods

log = structlog.get_logger(__name__)


class LeaseRecord(msgspec.Struct, frozen=True):
    """A lease, who has it, and who the client is."""

    network: str
    container_id: str
    netns: str
    ifname: str
    mac: str
    client_id: bytes
    broadcast: bool
    wanted: tuple[int, ...]
    provided: dict[int, bytes]
    granted: Granted
    bound_s: float  # by the clock of this boot, which goes on while the machine sleeps
    server_mac: str  # where the server's answer came from; it may be a router's
    ended: str = ""  # why the address may not be used any more; empty: it may

    @property
    def key(self) -> AttachmentKey:
        """The attachment that has it."""
        return AttachmentKey(self.container_id, self.ifname)

    @property
    def identity(self) -> Identity:
        """Who the client is, to the server."""
        mac = bytes.fromhex(self.mac.replace(":", ""))
        return Identity(mac, self.client_id, self.broadcast, self.wanted, self.provided)


class _File(msgspec.Struct, frozen=True):
    boot: str
    lease: LeaseRecord


class LeaseRecords:
    """The files in `directory`."""

    def __init__(self, directory: Path, *, boot: Callable[[], str] = boot_id) -> None:
        self._directory = str(directory)
        self._boot = boot

    def keep(self, record: LeaseRecord) -> None:
        """Remember a lease, in place of what was known of the attachment."""
        try:
            with made_directory(self._directory, 0o700) as directory:
                content = msgspec.json.encode(_File(self._boot(), record))
                replace_plain(_name(record.key), content, dir_fd=directory)
        except OSError as error:
            raise HostError(f"cannot save the DHCP lease of {record.ifname}: {error}") from error

    def find(self, key: AttachmentKey) -> LeaseRecord | None:
        """Return the lease of an attachment."""
        return self._read(_name(key))

    def drop(self, key: AttachmentKey) -> None:
        """Forget a lease, if it is known."""
        try:
            with opened_directory(self._directory) as directory:
                remove_with_draft(_name(key), dir_fd=directory)
        except FileNotFoundError:
            return
        except OSError as error:
            raise HostError(f"cannot remove the record of a DHCP lease: {error}") from error

    def all(self) -> list[LeaseRecord]:
        """Return every lease that is remembered."""
        try:
            with opened_directory(self._directory) as directory, os.scandir(directory) as found:
                names = [entry.name for entry in islice(found, ENTRIES_MAX)]
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("plugins.dhcp_leases_unreadable", path=self._directory, error=str(error))
            return []
        ours = (name for name in sorted(names) if name.endswith(SUFFIX) and name[0] != ".")
        read = (self._read(name) for name in ours)
        return [record for record in read if record is not None]

    def _read(self, name: str) -> LeaseRecord | None:
        try:
            with opened_directory(self._directory) as directory:
                content = read_plain(name, dir_fd=directory, size_max=BYTES_MAX)
            file = msgspec.json.decode(content, type=_File)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            path = f"{self._directory}/{name}"
            log.warning("plugins.dhcp_leases_unreadable", path=path, error=str(error))
            return None
        return file.lease if file.boot == self._boot() else None


def _name(key: AttachmentKey) -> str:
    # An id cannot hold '@', so no two attachments share a file.
    return f"{key.container_id}@{key.ifname}{SUFFIX}"
