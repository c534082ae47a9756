"""The objects of files, as `netclaim explain` and `netclaim status` read them.

Promise: every object has a name, and a namespace if its kind has one; a fault is one line that
begins with file and line, and all are raised at once. Statuses stay: they say what is taken. Limit:
of a dump in JSON, which may be as large as a cluster, a fault is reported without its line, and its
objects come before those of other files.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from netclaim.errors import RequestError
from netclaim.json_text import UNREADABLE
from netclaim.manifests.fields import ShapeError
from netclaim.manifests.objects import Object
from netclaim.manifests.reading import read_objects
from netclaim.manifests.text.documents import SIZE_MAX
from netclaim.manifests.text.files import STDIN, ManifestFile, parse_file, raise_faults, read_files
from netclaim.manifests.versions.migration import migrate

DUMP_MAX: Final = 512 << 20  # bytes: 100,000 pods as kubectl prints them
# Bytes: many times a large manifest, and a second of reading with lines.
LINES_MAX: Final = 256 << 10


def read_own(
    sources: Sequence[str], namespace: str, *, recursive: bool = False
) -> tuple[Object, ...]:
    """Read files, directories and standard input (`-`); `namespace` is for what names none.

    JSON that is larger than what people write is read as a dump.
    """
    return _read(sources, namespace, recursive=recursive, with_lines=LINES_MAX)


def read_dump(
    sources: Sequence[str], namespace: str, *, recursive: bool = False
) -> tuple[Object, ...]:
    """Read the same, and all JSON as what `kubectl get -o json` prints of a large cluster."""
    return _read(sources, namespace, recursive=recursive, with_lines=0)


def _read(
    sources: Sequence[str], namespace: str, *, recursive: bool, with_lines: int
) -> tuple[Object, ...]:
    """Read files; JSON of more than `with_lines` bytes quickly, but without its lines."""
    quick: list[Object] = []
    slow: list[str] = []
    files: list[ManifestFile] = []
    for source in dict.fromkeys(sources):
        content = _content(source)
        found = None
        if content is not None and len(content) > with_lines:
            found = _decoded(content)
        if found is None:
            _check_size(source, content)
        if found is not None:
            quick += [_named(one, source).in_namespace(namespace) for one in found]
        elif source == STDIN and content is not None:
            files.append(parse_file(content, "stdin"))
        else:
            slow.append(source)
    files += read_files(slow, recursive=recursive) if slow else ()
    return (*quick, *_objects(files, namespace))


def _objects(files: Iterable[ManifestFile], namespace: str) -> tuple[Object, ...]:
    objects, findings = read_objects(files)
    faults = [finding.as_error() for finding in findings]
    there = [one for one in objects if one.object]
    faults += [_nameless(one) for one in there if not one.name]
    raise_faults(faults)
    return tuple(one.in_namespace(namespace) for one in there)


def _nameless(one: Object) -> RequestError:
    return RequestError(f"{one.where()}: metadata.name is missing")


def _content(source: str) -> bytes | None:
    """Return standard input, or a file that begins like JSON; None for what is read elsewhere."""
    if source == STDIN:
        return sys.stdin.buffer.read(DUMP_MAX)
    path = Path(source)
    try:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            return stream.read(DUMP_MAX) if stream.read(1) == b"{" and not stream.seek(0) else None
    except OSError:
        return None


def _check_size(source: str, content: bytes | None) -> None:
    """Refuse YAML that would take too long to read, and say what is read quickly."""
    path = Path(source)
    size = len(content) if content is not None else path.stat().st_size if path.is_file() else 0
    if size > SIZE_MAX:
        name = "stdin" if source == STDIN else source
        raise RequestError(
            f"{name}: YAML of more than {SIZE_MAX >> 20} MiB; save it as JSON, with -o json"
        )


def _decoded(content: bytes) -> list[dict[str, Any]] | None:
    """Return the objects of a JSON document; None if it is not one, which is reported elsewhere."""
    try:
        return list(_unfolded(msgspec.json.decode(content, type=dict[str, Any])))
    except UNREADABLE:
        return None


def _unfolded(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    items = found.get("items")
    if not isinstance(items, list):
        yield found
        return
    kind = str(found.get("kind")).removesuffix("List")  # what the server sends names no items
    for item in items:
        if isinstance(item, dict):
            yield {"apiVersion": found.get("apiVersion"), "kind": kind, **item}


def _named(found: dict[str, Any], source: str) -> Object:
    try:
        moved = migrate(found, "v1").object or found
    except ShapeError as error:
        raise RequestError(f"{source}: {error.message}", path=error.path) from error
    one = Object(found, moved)
    if not one.name:
        raise RequestError(f"{source}: {one.kind}: metadata.name is missing")
    return one
