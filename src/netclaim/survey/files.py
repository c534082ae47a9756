"""The objects of files, as `netclaim explain` and `netclaim status` read them.

Promise: every object has a name, and a namespace if its kind has one; a fault is one line that
begins with file and line, and all are raised at once. Statuses stay: they say what is taken.
"""

from collections.abc import Sequence

from netclaim.errors import RequestError
from netclaim.manifests.files import raise_faults, read_files
from netclaim.manifests.objects import Object
from netclaim.manifests.reading import read_objects

__all__ = ["read_own"]


def read_own(
    sources: Sequence[str], namespace: str, *, recursive: bool = False
) -> tuple[Object, ...]:
    """Read files, directories and standard input (`-`); `namespace` is for what names none."""
    objects, findings = read_objects(read_files(sources, recursive=recursive))
    faults = [finding.as_error() for finding in findings]
    there = [one for one in objects if one.object]
    faults += [_nameless(one) for one in there if not one.name]
    raise_faults(faults)
    return tuple(one.in_namespace(namespace) for one in there)


def _nameless(one: Object) -> RequestError:
    return RequestError(f"{one.where()}: metadata.name is missing")
