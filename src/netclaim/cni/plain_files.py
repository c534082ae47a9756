"""Our own small files, in directories where others may have put something else.

Promise: only regular files are read or written, and read up to a limit. A symbolic link is not
followed, and nothing waits for the other end of a FIFO or for a device. What `replace_plain` writes
is there whole, or not at all.
Limit: the way to a directory is trusted, its last part and what is in it are not. Nothing is synced
to disk. Everything raises OSError, with words that the node's owner can use.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

# What every file is opened with. O_NONBLOCK is for those that turn out not to be regular ones.
PLAIN: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN
NAME_MAX: Final = 255  # bytes of a file's name
CHUNK: Final = 1 << 16  # bytes; more than nearly all of these files have


def open_directory(path: str) -> int:
    """Open a directory, which must be one itself and not a symbolic link to one."""
    return os.open(_sound(path), DIRECTORY)


def make_directory(path: str, mode: int) -> int:
    """Open a directory; makes it, and those above it, where they are missing."""
    try:
        return open_directory(path)
    except FileNotFoundError:
        os.makedirs(path, mode=mode, exist_ok=True)  # noqa: PTH103 -- as short as the rest
        return open_directory(path)


@contextmanager
def opened_directory(path: str) -> Iterator[int]:
    """Have a directory open for what the block does."""
    fd = open_directory(path)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def made_directory(path: str, mode: int) -> Iterator[int]:
    """The same, with the directory made where it is missing."""
    fd = make_directory(path, mode)
    try:
        yield fd
    finally:
        os.close(fd)


def read_plain(name: str, *, dir_fd: int, size_max: int) -> bytes:
    """Read a regular file of a directory."""
    fd = os.open(name, os.O_RDONLY | PLAIN, dir_fd=dir_fd)
    try:
        require_plain(fd, name)
        return read_all(fd, name, size_max)
    finally:
        os.close(fd)


def replace_plain(name: str, content: bytes, *, dir_fd: int) -> None:
    """Write a file that only its owner can read, in place of whatever bears the name.

    A directory of that name is left alone, and an error. A file's drafts all have one name, which
    starts with a dot, so that a crash leaves one of them.
    """
    draft = _draft_of(name)
    remove_plain(draft, dir_fd=dir_fd)
    fd = os.open(draft, NEW, 0o600, dir_fd=dir_fd)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
        os.rename(draft, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        with suppress(OSError):
            remove_plain(draft, dir_fd=dir_fd)
        raise


def remove_plain(name: str, *, dir_fd: int) -> None:
    """Remove a name from a directory, if it is there, and not what it may lead to."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=dir_fd)


def remove_with_draft(name: str, *, dir_fd: int) -> None:
    """Remove a name, and the draft that a crash may have left of it."""
    remove_plain(name, dir_fd=dir_fd)
    remove_plain(_draft_of(name), dir_fd=dir_fd)


def _draft_of(name: str) -> str:
    draft = f".{name}.draft"
    if len(draft.encode()) > NAME_MAX:
        draft = f".{hashlib.sha256(name.encode()).hexdigest()}.draft"
    return draft


def require_plain(fd: int, name: str) -> os.stat_result:
    """See that what was opened is a regular file; returns what is known of it."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", name)
    return status


def read_all(fd: int, name: str, size_max: int) -> bytes:
    """Read a file to its end, which must come within `size_max` bytes."""
    content = b""
    while len(content) <= size_max:
        more = os.read(fd, min(CHUNK, size_max + 1 - len(content)))
        if not more:
            return content
        content += more
    raise OSError(errno.EFBIG, f"has more than {size_max} bytes", name)


def _sound(path: str) -> str:
    if "\0" in path:
        raise OSError(errno.EINVAL, "a path cannot hold a NUL", path)
    # With a slash or a dot at its end a symbolic link would be followed all the same.
    return str(Path(path)) if path.endswith(("/", "/.")) else path
