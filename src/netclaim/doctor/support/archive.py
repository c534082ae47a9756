"""Write the archive.

Promise: it is written whole or not at all, only its owner can read it, and it replaces an existing
file only if that was asked for.
"""

import gzip
import io
import os
import secrets
import sys
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from netclaim.errors import HostError, RequestError

SUFFIXES: Final = (".tgz", ".tar.gz")
STDOUT: Final = Path("-")  # for an archive out of a container
TOP: Final = "netclaim-support"  # what the archive unpacks to
MODE: Final = 0o600  # names of nodes, pods and networks are nobody else's business


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise if the archive exists already, before anything is collected for it."""
    if path == STDOUT:
        return
    if path.exists() and not force:
        raise RequestError(f"{path} exists; choose another name, or use --force to replace it")
    if not path.absolute().parent.is_dir():
        raise RequestError(f"{path.parent} is not a directory; create it, or choose another name")


def write_archive(path: Path, members: Mapping[str, bytes], *, force: bool) -> None:
    """Write files into an archive, which appears when all of it is on the disk."""
    if path == STDOUT:
        sys.stdout.buffer.write(_packed(members))
        return
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_packed(members))
                file.flush()
                os.fsync(file.fileno())
            if force:
                draft.replace(path)
            else:
                os.link(draft, path)  # fails if somebody made a file of that name meanwhile
        finally:
            draft.unlink(missing_ok=True)
    except FileExistsError:
        refuse_existing(path, force=False)
    except OSError as error:
        raise HostError(f"cannot write {path}: {error.strerror}") from error


def _packed(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as archive,
    ):
        for name, content in members.items():
            entry = tarfile.TarInfo(f"{TOP}/{name}")
            entry.size, entry.mode, entry.mtime = len(content), MODE, int(time.time())
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
