"""The runtime's directories as files: what it would load, and how a file is replaced.

Promise: a file is replaced whole, its new content on the disk first, and under no name that the
runtime would load meanwhile. What the operating system says comes out as a HostError.
"""

import base64
import os
import secrets
from pathlib import Path
from typing import Final

import msgspec

from netclaim.errors import HostError

__all__ = ["HostFaults", "Sight", "cached_with", "conf_files", "mentions", "nudge", "read_text",
           "replace_file", "sight_of", "write_draft"]  # fmt: skip

EXTENSIONS: Final = (".conf", ".conflist", ".json")  # what containerd loads; others are passed over


class Sight(msgspec.Struct, frozen=True):
    """What a file was when it was looked at; anything else means that it has changed."""

    name: str
    inode: int
    changed_ns: int
    size: int


def conf_files(directory: Path) -> list[Path]:
    """What the runtime would load, in its order: by bytes; directories are passed over."""
    with HostFaults(directory):
        try:
            with os.scandir(directory) as found:
                names = [
                    entry.name
                    for entry in found
                    if entry.name[max(entry.name.rfind("."), 0) :] in EXTENSIONS
                    and not entry.is_dir(follow_symlinks=False)
                ]
        except FileNotFoundError:
            return []  # the primary network makes it when it comes
    return [directory / name for name in sorted(names, key=os.fsencode)]


def sight_of(path: Path) -> Sight | None:
    """What a path leads to, or None."""
    with HostFaults(path):
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
    return Sight(path.name, status.st_ino, status.st_ctime_ns, status.st_size)


def mentions(path: Path, word: str) -> bool:
    """Whether a file that may be gone by now contains this word."""
    with HostFaults(path):
        try:
            return word.encode() in path.read_bytes()
        except FileNotFoundError:
            return False


class _CachedResult(msgspec.Struct):
    """What CNI's library keeps of an ADD, as far as it matters here."""

    config: str = ""  # the network list, in base64


def cached_with(directory: Path, word: str) -> int:
    """How many of a runtime's cached CNI results are of a list that contains this word.

    What cannot be read is no such result: a runtime that cannot read it does not use it either.
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
    """A file as text."""
    with HostFaults(path):
        try:
            return path.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise HostError(f"{path} is not UTF-8") from error


def write_draft(path: Path, content: bytes, mode: int) -> Path:
    """A file beside `path` with this content, on the disk; the runtime passes its name over."""
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
    """Put a file in place of whatever is there, or of nothing."""
    draft = write_draft(path, content, mode)
    try:
        draft.rename(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def nudge(directory: Path) -> None:
    """Have the runtime read the directory anew: it does when a file in it is removed."""
    draft = write_draft(directory / "nudge", b"", 0o600)
    draft.unlink()


class HostFaults:
    """Around what touches files: turns an OSError into a HostError that names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, OSError):
            where = error.filename or self._path
            raise HostError(f"netclaim-attach: {where}: {error.strerror}") from error
