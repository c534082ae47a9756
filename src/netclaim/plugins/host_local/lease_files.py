"""The files of a lease store, for the holder of its lock.

    DIRECTORY/lock                  held (flock) by those who read or change the others
    DIRECTORY/10.1.0.7              a lease: container id, CR LF, interface name
    DIRECTORY/last_reserved_ip.0    the address of the last lease from the first set of ranges

Promise: only regular files in a real directory are opened. What else lies there (a symbolic link, a
FIFO, a device, a directory) is passed over; it is an error where we would have to write to it.
Limit: waits for nothing but the disk. As durable as the reference program's files, that is, not
synced. A crash can leave a lease without content; nobody has that address, and it is free again.
"""

import errno
import fcntl
import os
import re
from dataclasses import dataclass
from itertools import islice
from typing import Final

from netclaim.cni import AttachmentKey
from netclaim.cni.plain_files import PLAIN, make_directory, require_plain
from netclaim.errors import HostError
from netclaim.kernel.requests.ip import IpAddress
from netclaim.plugins.engine.conf import read_ip
from netclaim.plugins.engine.errors import PluginError

LOCK: Final = "lock"
LOCK_FLAGS: Final = os.O_RDONLY | os.O_CREAT | PLAIN
LAST: Final = "last_reserved_ip."
# What a store's files are called. A file of another name is not touched, whatever it says.
OURS: Final = re.compile(r"[0-9a-f.:]+|last_reserved_ip\.[0-9]+").fullmatch
READ: Final = os.O_RDONLY | PLAIN
WRITE: Final = os.O_WRONLY | os.O_CREAT | PLAIN
LEASE_BYTES_MAX: Final = 4096  # an id and a name take a hundred; what is longer is nobody's


@dataclass(frozen=True, slots=True)
class OpenStore:
    """A store's directory and lock as descriptors. The lock is held until the last copy closes."""

    path: str  # for messages
    directory: int
    lock: int

    def copy(self) -> "OpenStore":
        """Return descriptors that somebody else can close."""
        opened: list[int] = []
        try:
            opened.append(os.dup(self.directory))
            opened.append(os.dup(self.lock))
        except OSError as error:
            for fd in opened:
                os.close(fd)
            raise HostError(f"cannot open the leases in {self.path}: {error}") from error
        return OpenStore(self.path, *opened)

    def close(self) -> None:
        """Close this copy."""
        os.close(self.lock)
        os.close(self.directory)

    def try_lock(self) -> bool:
        """Take the lock, unless somebody has it."""
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise HostError(f"cannot lock the leases in {self.path}: {error}") from error
        return True

    def is_forgotten(self) -> bool:
        """Whether somebody removed the store as unused, between our opening and our locking it.

        Who removes a store has its lock, so that after we have it nobody does.
        """
        return os.fstat(self.lock).st_nlink == 0

    def names(self, entries_max: int) -> list[str] | None:
        """Return the names of the store's files; None where the directory has too many entries."""
        try:
            with os.scandir(self.directory) as entries:
                seen = list(islice(entries, entries_max + 1))
            if len(seen) > entries_max:
                return None
            return [
                entry.name
                for entry in seen
                if OURS(entry.name) and entry.is_file(follow_symlinks=False)
            ]
        except OSError as error:
            raise HostError(f"cannot list the leases in {self.path}: {error}") from error

    def read(self, names: list[str]) -> "Leases":
        """Read the store's files; those that cannot be read are passed over."""
        read = ((name, _read(self.directory, name)) for name in names)
        return Leases(self.directory, {name: said for name, said in read if said is not None})


def open_store(path: str) -> OpenStore:
    """Open a store; makes it if there is none."""
    try:
        try:
            return _made(path)
        except FileNotFoundError:  # somebody removed it as unused, in just this moment
            return _made(path)
    except OSError as error:
        raise HostError(f"cannot open the leases in {path}: {error}") from error


def _made(path: str) -> OpenStore:
    directory = make_directory(path, 0o755)
    try:
        return OpenStore(path, directory, _open_lock(directory))
    except OSError:
        os.close(directory)
        raise


@dataclass(frozen=True, slots=True)
class Leases:
    """The leases while the store is locked. Nothing here waits for anything but the disk."""

    directory: int
    files: dict[str, str]  # every file's content, by name, as it was when the lock was taken

    def of(self, key: AttachmentKey) -> list[str]:
        """Return the names of an attachment's files.

        The oldest stores have leases without an interface name: they count where nothing else does.
        """
        return self._with(_content(key)) or self._with(key.container_id)

    def addresses(self, key: AttachmentKey) -> list[IpAddress]:
        """Return the addresses that an attachment has."""
        return [read_ip(name) for name in self.of(key)]

    def holders(self) -> dict[str, AttachmentKey]:
        """Return who has each address, by file name; where only an id is known, without ifname."""
        return {
            name: AttachmentKey(*(part.strip() for part in content.partition("\n")[::2]))
            for name, content in self.files.items()
            if _address(name) is not None
        }

    def last(self, set_index: int) -> IpAddress | None:
        """Return the address of the last lease from a set of ranges, if known."""
        return _address(self.files.get(f"{LAST}{set_index}", ""))

    def reserve(self, address: IpAddress, key: AttachmentKey, set_index: int) -> bool:
        """Write a lease; False: someone has the address."""
        name = str(address)
        if self.files.get(name):
            return False
        # A file without content is overwritten; one that we could not even read is left alone.
        exclusive = 0 if name in self.files else os.O_EXCL
        try:
            _write(self.directory, name, _content(key), flags=exclusive)
            _write(self.directory, f"{LAST}{set_index}", name)
        except FileExistsError:
            return False
        except OSError as error:
            self.remove(name)
            raise HostError(f"cannot write the lease of {address}: {error}") from error
        return True

    def remove(self, name: str) -> None:
        """Remove a lease, if it is there."""
        try:
            os.unlink(name, dir_fd=self.directory)
        except FileNotFoundError:
            return
        except OSError as error:
            raise HostError(f"cannot remove the lease {name}: {error}") from error

    def _with(self, content: str) -> list[str]:
        found = [name for name, said in self.files.items() if said == content]
        return [name for name in found if _address(name) is not None]


def _content(key: AttachmentKey) -> str:
    return f"{key.container_id.strip()}\r\n{key.ifname}"


def _address(name: str) -> IpAddress | None:
    try:
        return read_ip(name)
    except PluginError:
        return None


def _open_lock(directory: int) -> int:
    fd = os.open(LOCK, LOCK_FLAGS, 0o750, dir_fd=directory)
    try:
        require_plain(fd, LOCK)
    except OSError:
        os.close(fd)
        raise
    return fd


def _read(directory: int, name: str) -> str | None:
    try:
        fd = os.open(name, READ, dir_fd=directory)
    except OSError:
        return None
    try:
        return os.read(fd, LEASE_BYTES_MAX).decode(errors="replace").strip()
    except OSError:
        return None
    finally:
        os.close(fd)


def _write(directory: int, name: str, content: str, *, flags: int = 0) -> None:
    """Write a small file over what it holds.

    It is cut only where it has to be: emptied first, ext4 would put it on disk at once.
    """
    data = content.encode()
    fd = os.open(name, WRITE | flags, 0o600, dir_fd=directory)
    try:
        size = 0 if flags & os.O_EXCL else _size(fd, name)
        if os.write(fd, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        if size > len(data):
            os.ftruncate(fd, len(data))
    finally:
        os.close(fd)


def _size(fd: int, name: str) -> int:
    """Return a file's size; the file must be ours alone."""
    status = require_plain(fd, name)
    if status.st_nlink != 1:  # another name for it may be anywhere
        raise OSError(errno.EMLINK, "the file has a second name", name)
    return status.st_size
