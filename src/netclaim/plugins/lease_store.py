"""The leases of one network, in files as host-local keeps them.

    DIRECTORY/lock                  held (flock) by whoever reads or changes the others
    DIRECTORY/10.1.0.7              a lease: container id, CR LF, interface name
    DIRECTORY/last_reserved_ip.0    the address of the last lease from the first set of ranges

Promise: works beside the reference program, and any number of processes, on one directory. Nobody
is handed an address that a lease file has. Waiting for the lock does not hold up the event loop.
Limit: as durable as the reference program's, that is, not synced to disk. A crash can leave a lease
file without content; nobody has that address, and it is free again.
"""

import asyncio
import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from netclaim.cni import AttachmentKey
from netclaim.errors import HostError
from netclaim.plugins.conf import IpAddress, read_ip
from netclaim.plugins.errors import PluginError

__all__ = ["LeaseStore", "Leases"]

T = TypeVar("T")

LOCK: Final = "lock"
LOCK_FLAGS: Final = os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC
LAST: Final = "last_reserved_ip."
LEASE_BYTES_MAX: Final = 4096  # an id and a name take a hundred
MANY: Final = 400  # files; reading one takes 2.5 us: with more, a thread keeps the event loop free


class LeaseStore:
    """A directory of leases; tasks of this process take turns before processes do."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock_path = str(directory / LOCK)
        self._turn = asyncio.Lock()

    async def transact(self, action: Callable[["Leases"], T]) -> T:
        """Do something with the leases while nobody else does; makes the store if there is none."""
        async with self._turn:
            lock = self._open()
            try:
                await _lock(lock)
                names = os.listdir(self._directory)  # noqa: PTH208 -- names are all we want
                work = partial(_read_and_do, self._directory, names, action)
                if len(names) <= MANY:
                    return work()
                return await _in_thread(lock, lambda _: work())
            finally:
                os.close(lock)

    def _open(self) -> int:
        try:
            try:
                return os.open(self._lock_path, LOCK_FLAGS, 0o750)
            except FileNotFoundError:
                self._directory.mkdir(mode=0o755, parents=True, exist_ok=True)
                return os.open(self._lock_path, LOCK_FLAGS, 0o750)
        except OSError as error:
            raise HostError(f"cannot open the leases: {error}") from error


@dataclass(frozen=True, slots=True)
class Leases:
    """The leases while the store is locked. Nothing here waits for anything but the disk."""

    directory: Path
    files: dict[str, str]  # every file's content, by name, as it was when the lock was taken

    def of(self, key: AttachmentKey) -> list[str]:
        """Return the names of an attachment's files.

        The oldest stores have leases without an interface name: they count where nothing else does.
        """
        return self._with(_content(key)) or self._with(key.container_id)

    def addresses(self, key: AttachmentKey) -> list[IpAddress]:
        """Return the addresses that an attachment has."""
        found = (_address(name) for name in self.of(key))
        return [address for address in found if address is not None]

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
        last = f"{LAST}{set_index}"
        try:
            _write(f"{self.directory}/{name}", _content(key), flags=exclusive)
            _write(f"{self.directory}/{last}", name, before=self.files.get(last, ""))
        except FileExistsError:
            return False
        except OSError as error:
            self.remove(name)
            raise HostError(f"cannot write the lease of {address}: {error}") from error
        return True

    def remove(self, name: str) -> None:
        """Remove a lease. Again: does nothing."""
        try:
            os.unlink(f"{self.directory}/{name}")  # noqa: PTH108 -- a Path takes longer than this
        except FileNotFoundError:
            return
        except OSError as error:
            raise HostError(f"cannot remove the lease {name}: {error}") from error

    def _with(self, content: str) -> list[str]:
        return [name for name, found in self.files.items() if found == content]


async def _lock(fd: int) -> None:
    """Take the lock; a thread waits for it while another process has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        await _in_thread(fd, lambda own: fcntl.flock(own, fcntl.LOCK_EX))


async def _in_thread(lock: int, work: Callable[[int], T]) -> T:
    """Have a thread do something with the lock.

    It works on a descriptor of its own and closes it when it is done; so the lock does not open too
    early, nor stay shut for ever, should we be cancelled meanwhile.
    """
    return await asyncio.get_running_loop().run_in_executor(None, _closing, os.dup(lock), work)


def _closing(fd: int, work: Callable[[int], T]) -> T:
    try:
        return work(fd)
    finally:
        os.close(fd)


def _read_and_do(directory: Path, names: list[str], action: Callable[[Leases], T]) -> T:
    read = ((name, _read(f"{directory}/{name}")) for name in names if name != LOCK)
    return action(Leases(directory, {name: said for name, said in read if said is not None}))


def _content(key: AttachmentKey) -> str:
    return f"{key.container_id.strip()}\r\n{key.ifname}"


def _address(name: str) -> IpAddress | None:
    try:
        return read_ip(name)
    except PluginError:
        return None


def _read(path: str) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(fd, LEASE_BYTES_MAX).decode(errors="replace").strip()
    except OSError:  # a directory
        return None
    finally:
        os.close(fd)


def _write(path: str, content: str, *, before: str = "", flags: int = 0) -> None:
    """Write a small file over what it held `before`.

    It is cut only where it has to be: emptied first, ext4 would put it on disk at once.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    try:
        written = os.write(fd, content.encode())
        if len(before) >= written:
            os.ftruncate(fd, written)
    finally:
        os.close(fd)
