"""The archive that a kernel starts from: files in, bytes out, in cpio's "newc" form.

Promise: the same files give the same bytes. Limit: plain files and directories, all of root.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath

__all__ = ["archive"]

MAGIC = b"070701"
END = "TRAILER!!!"  # the name of the entry that ends an archive
DIRECTORY_MODE = 0o040755
PROGRAM_MODE = 0o100755  # all may be run; nobody else is there to mind


def archive(files: Mapping[str, bytes], directories: tuple[str, ...] = ()) -> bytes:
    """Pack files, by their paths below the root, and the directories that they need."""
    parents = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    needed = sorted({*parents, *directories} - {"."})
    entries = [(path, DIRECTORY_MODE, b"") for path in needed]
    entries += [(path, PROGRAM_MODE, content) for path, content in sorted(files.items())]
    packed = [_entry(number, *entry) for number, entry in enumerate(entries, 1)]
    return b"".join([*packed, _entry(0, END, 0, b"")])


def _entry(inode: int, path: str, mode: int, content: bytes) -> bytes:
    name = path.encode() + b"\0"
    # uid, gid; links, time; size; devices of the file and of what it stands for; name; checksum
    numbers = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
    header = MAGIC + b"".join(b"%08x" % number for number in numbers) + name
    return _aligned(header) + _aligned(content)


def _aligned(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
