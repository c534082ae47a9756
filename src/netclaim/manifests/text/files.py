"""Open the files that a user names with `-f`, as kubectl does: files, directories, standard input.

Promise: every command reads alike. A directory stands for its manifests by name, and with
`recursive` those of the directories in it; a file that is named twice is read once. What cannot be
read is a RequestError of one line that begins with the file; several are reported at once, as an
ExceptionGroup. Limit: no URLs; below a directory, links to directories are not followed; and
kustomizations must be built first.
"""

import os
import shlex
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from netclaim.errors import RequestError
from netclaim.manifests.text.documents import SIZE_MAX, Document, decode, read_documents

STDIN: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json")  # which files of a directory are read, as for kubectl
KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")


@dataclass(frozen=True, slots=True, eq=False)
class ManifestFile:
    """A file and its documents, including empty ones."""

    name: str  # for messages
    documents: tuple[Document, ...]
    path: Path | None = None  # None: standard input
    below: Path = Path()  # its path below the directory that was named, or its own name

    @property
    def text(self) -> str:
        """The whole file."""
        return "".join(document.text for document in self.documents)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a file is, before it is read."""

    path: Path
    below: Path


STANDARD_INPUT: Final = _Place(Path(STDIN), Path())


def read_files(named: Sequence[str], *, recursive: bool = False) -> tuple[ManifestFile, ...]:
    """Read everything that these names stand for, in their order."""
    files, faults = read_readable(named, recursive=recursive)
    raise_faults(faults)
    return files


def read_readable(
    named: Sequence[str], *, recursive: bool = False
) -> tuple[tuple[ManifestFile, ...], list[RequestError]]:
    """Read what can be read of everything that these names stand for, and say what cannot."""
    if not named:
        raise RequestError("name a file or directory with -f, or - for standard input")
    files: dict[object, ManifestFile] = {}  # by what identifies a file, whatever its name
    faults: list[RequestError] = []
    for name in dict.fromkeys(named):
        with noted(faults):
            for place in _places(name, recursive=recursive):
                with noted(faults):
                    identity = _identity(place)
                    if identity not in files:
                        files[identity] = _read(place)
    return tuple(files.values()), faults


def parse_file(content: bytes, name: str) -> ManifestFile:
    """Return the documents of a file's content."""
    return ManifestFile(name, read_documents(decode(content, name), name))


def raise_faults(faults: Sequence[RequestError]) -> None:
    """Raise what was found: nothing, the only one, or all of them together."""
    if len(faults) > 1:
        raise ExceptionGroup("manifests", faults)
    if faults:
        raise faults[0]


@contextmanager
def noted(faults: list[RequestError]) -> Iterator[None]:
    """Go on after a fault, to report all of them."""
    try:
        yield
    except RequestError as fault:
        faults.append(fault)


def _identity(place: _Place) -> object:
    if place is STANDARD_INPUT:
        return place
    try:
        found = place.path.stat()
    except OSError as error:
        raise RequestError(f"{place.path}: {error.strerror}") from error
    return found.st_dev, found.st_ino


def _read(place: _Place) -> ManifestFile:
    """Read one file, only as far as needed to see whether it is too large."""
    if place is STANDARD_INPUT:
        return parse_file(sys.stdin.buffer.read(SIZE_MAX + 1), "stdin")
    try:
        content = _content(place.path)
    except OSError as error:
        raise RequestError(f"{place.path}: {error.strerror}") from error
    return replace(parse_file(content, str(place.path)), path=place.path, below=place.below)


def _content(path: Path) -> bytes:
    """Read a file. A FIFO that nobody has open for writing is refused, for it would never end."""
    with open(path, "rb", buffering=0, opener=_open_at_once) as stream:
        first = stream.read(SIZE_MAX + 1)  # None: a writer is there, and has written nothing yet
        if first == b"" and stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            raise RequestError(f"{path}: a FIFO that nothing writes to")
        os.set_blocking(stream.fileno(), True)
        content = bytearray(first or b"")
        while len(content) <= SIZE_MAX and (more := stream.read(SIZE_MAX + 1 - len(content))):
            content += more
    return bytes(content)


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for the other end of a FIFO."""
    return os.open(path, flags | os.O_NONBLOCK)


def _places(name: str, *, recursive: bool) -> Iterator[_Place]:
    """Yield the files that a name stands for."""
    if name == STDIN:
        yield STANDARD_INPUT
        return
    if not name:
        what = "the name is empty; name a file or directory, or - for stdin"
        raise RequestError(what, path=("-f",))
    if "://" in name:
        raise RequestError(f"{name}: not a file; download it and pipe it into `-f -`")
    path = Path(name)
    try:
        if path.name in KUSTOMIZATIONS and path.is_file():
            raise _kustomization(path.parent)
        if not path.is_dir():
            yield _Place(path, Path(path.name))
            return
        found = list(_manifests(path, recursive=recursive))
        deeper = not recursive and any(one.is_dir() for one in path.iterdir())
    except OSError as error:
        raise RequestError(f"{error.filename or name}: {error.strerror}") from error
    if not found:
        more = "; use -R to read its subdirectories" if deeper else ""
        raise RequestError(f"{name}: no file in it ends with {', '.join(SUFFIXES)}{more}")
    yield from (_Place(one, one.relative_to(path)) for one in found)


def _manifests(directory: Path, *, recursive: bool) -> Iterator[Path]:
    """Yield a directory's manifests by name, each directory in it in its turn."""
    found = sorted(directory.iterdir())
    if any(one.name in KUSTOMIZATIONS for one in found):
        raise _kustomization(directory)
    for one in found:
        if one.is_dir():
            if recursive and not one.is_symlink():  # a link may lead back up
                yield from _manifests(one, recursive=True)
        elif one.name.endswith(SUFFIXES) and one.is_file():
            yield one


def _kustomization(directory: Path) -> RequestError:
    return RequestError(
        f"{directory}: a kustomization must be built first:"
        f" kubectl kustomize {shlex.quote(str(directory))} | netclaim … -f -"
    )
