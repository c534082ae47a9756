"""Find pods that name networks in Multus' annotation where nothing of netclaim reads it.

Such a pod starts without its interfaces on a cluster without Multus, and nothing says why. Promise:
a namespace that the files have is judged by its labels; of any other the warning says what it
would need. Limit: what the annotation says is not looked at here; `netclaim convert` does.
"""

from collections.abc import Iterator
from typing import Final

from netclaim.manifests.finding import Finding
from netclaim.manifests.kinds import POD_SPECS
from netclaim.manifests.objects import Index, Object, inside
from netclaim.schema.annotated import ANNOTATION, NAMESPACE_LABEL, NAMESPACE_VALUE

ANNOTATIONS: Final = ("metadata", "annotations")


def check_annotated(subject: Object, index: Index) -> Iterator[Finding]:
    """Yield a warning if a pod, or a template of pods, has the annotation for nothing."""
    path = (*POD_SPECS[subject.kind][:-1], *ANNOTATIONS)
    annotations = inside(subject.object, path)
    if not annotations.get(ANNOTATION):
        return
    found = index.find("Namespace", subject.namespace, near=subject)
    labels = inside(found.object, ("metadata", "labels")) if found is not None else {}
    if labels.get(NAMESPACE_LABEL) == NAMESPACE_VALUE:
        return
    where = f"Namespace {subject.namespace} has no label"
    if found is None:
        where = f"unless namespace {subject.namespace} has the label"
    label = f"{NAMESPACE_LABEL}={NAMESPACE_VALUE}"
    yield subject.warning(
        (*path, ANNOTATION),
        f"only Multus reads this: {where} {label}; `netclaim convert` makes claims of it",
    )
