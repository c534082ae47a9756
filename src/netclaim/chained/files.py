"""The runtime's directories as files: what it would load, and how a file is replaced.

Promise: a file is replaced whole, after its new content is on the disk, and no name that the
runtime would load exists meanwhile. An error of the operating system is raised as a HostError.
"""

import base64
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from netclaim.chained.conflist import PLUGIN_TYPE
from netclaim.errors import HostError

EXTENSIONS: Final = (".conf", ".conflist", ".json")  # what containerd loads; it ignores others


class Sight(msgspec.Struct, frozen=True):
    """The state of a file when it was looked at; any difference means that it has changed."""

    name: str
    inode: int
    changed_ns: int
    size: int


def conf_files(directory: Path) -> list[Path]:
    """List what the runtime would load, in its order: by bytes, without directories."""
    with host_errors(PLUGIN_TYPE, directory):
        try:
            with os.scandir(directory) as found:
                names = [
                    entry.name
                    for entry in found
                    if entry.name[max(entry.name.rfind("."), 0) :] in EXTENSIONS
                    and not entry.is_dir(follow_symlinks=False)
                ]
        except FileNotFoundError:
            return []  # the primary network makes it when it is installed
    return [directory / name for name in sorted(names, key=os.fsencode)]


def sight_of(path: Path) -> Sight | None:
    """Return the state of the file behind a path; None if there is none."""
    with host_errors(PLUGIN_TYPE, path):
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
    return Sight(path.name, status.st_ino, status.st_ctime_ns, status.st_size)


def mentions(path: Path, word: str) -> bool:
    """Whether a file that may be gone by now contains this word."""
    with host_errors(PLUGIN_TYPE, path):
        try:
            return word.encode() in path.read_bytes()
        except FileNotFoundError:
            return False


class _CachedResult(msgspec.Struct):
    """The part that matters here of what CNI's library keeps of an ADD."""

    config: str = ""  # the network list, in base64


def cached_with(directory: Path, word: str) -> int:
    """Count a runtime's cached CNI results whose list contains this word.

    A result that cannot be read does not count: a runtime cannot read and use it either.
    """
    count = 0
    for path in directory.glob("*"):
        try:
            cached = msgspec.json.decode(path.read_bytes(), type=_CachedResult)
            count += word.encode() in base64.b64decode(cached.config)
        except (OSError, ValueError, msgspec.MsgspecError):
            continue
    return count


def read_text(path: Path) -> str:
    with host_errors(PLUGIN_TYPE, path):
        try:
            return path.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise HostError(f"{path} is not UTF-8") from error


def write_draft(path: Path, content: bytes, mode: int) -> Path:
    """Write a synced file beside `path` with this content, under a name the runtime ignores."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.netclaim")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(descriptor, mode)
            file.flush()
            os.fsync(descriptor)  # a power failure must not leave an empty network configuration
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Put a file at this path, replacing what may be there."""
    draft = write_draft(path, content, mode)
    try:
        draft.rename(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def nudge(directory: Path) -> None:
    """Have the runtime read the directory again, which it does when a file in it is removed."""
    draft = write_draft(directory / "nudge", b"", 0o600)
    draft.unlink()


@contextmanager
def host_errors(about: str, path: Path) -> Iterator[None]:
    """Raise an OSError of the block as a HostError that names the file, which may be `path`."""
    try:
        yield
    except OSError as error:
        raise HostError(f"{about}: {error.filename or path}: {error.strerror}") from error
