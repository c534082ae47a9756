"""Read files into objects, for all commands that take manifests.

Promise: objects of any version of resource.k8s.io come out as v1, with what does not survive that.
All faults are found before anything is refused: what is no YAML or no manifest at all is raised,
for all files at once; what is wrong with one object is returned as a finding, with its line.
Limit: which fields a kind has is not checked here but in `schema`.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from netclaim.manifests.fields import ShapeError
from netclaim.manifests.finding import Finding
from netclaim.manifests.kinds import kind_fault
from netclaim.manifests.near import near
from netclaim.manifests.objects import Object
from netclaim.manifests.text.documents import NO_MANIFEST, Document, ManifestError
from netclaim.manifests.text.files import ManifestFile, raise_faults
from netclaim.manifests.text.json_only import not_json
from netclaim.manifests.versions.migration import migrate
from netclaim.paths import Path

HEAD: Final = ("apiVersion", "kind")
ALIKE: Final = 0.8  # how alike a key must be to one of these to be meant
FAULTS_MAX: Final = 100  # per object; a user who has more looks at the first ones anyway


def read_objects(files: Iterable[ManifestFile]) -> tuple[tuple[Object, ...], tuple[Finding, ...]]:
    """Return the objects of files, and what is wrong with the others.

    What cannot be read is a ManifestError, or an ExceptionGroup of several.
    """
    objects: list[Object] = []
    findings: list[Finding] = []
    unreadable: list[ManifestError] = []
    for document in (document for file in files for document in file.documents):
        try:
            for at, entry in document.entries():
                for one in _read_entry(document, at, entry):
                    if isinstance(one, Object):
                        objects.append(one)
                    else:
                        findings.append(one)
        except ManifestError as error:
            unreadable.append(error)
    raise_faults(unreadable)
    return tuple(objects), tuple(findings)


def _read_entry(document: Document, at: Path, entry: Any) -> Iterator[Object | Finding]:
    """Yield an object, or what is wrong with it."""
    written = entry if isinstance(entry, dict) else {}
    one = Object(written, written, document, at)
    odd = [one.error(path, text) for path, text in islice(not_json(written), FAULTS_MAX)]
    if odd:
        yield from odd
        return
    api_version, kind = written.get("apiVersion"), written.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not (api_version and kind):
        yield _no_manifest(one)
    elif fault := kind_fault(api_version, kind):
        yield one.error(*fault)
    else:
        yield _migrated(one)


def _no_manifest(one: Object) -> Finding:
    """Say what is missing, or which key was probably meant to be it."""
    for wanted in HEAD:
        guess = near(wanted, (str(key) for key in one.written if key not in HEAD), cutoff=ALIKE)
        if wanted not in one.written and guess:
            return one.error((guess,), f'unknown key "{guess}"; did you mean "{wanted}"?')
    return one.error((), NO_MANIFEST)


def _migrated(one: Object) -> Object | Finding:
    try:
        migrated = migrate(one.written, "v1")
    except ShapeError as error:
        return one.error(error.path, error.message)
    return Object(one.written, migrated.object or {}, one.document, one.at, migrated.remarks)
