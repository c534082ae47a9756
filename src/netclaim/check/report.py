"""Check files as one set of objects: each by itself, then what they say of each other."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from netclaim.check.objects import is_looked_at, judged
from netclaim.check.parameters import check_claim, check_class, our_drivers
from netclaim.check.policy import Policy, check_namespace
from netclaim.check.references import check_references
from netclaim.manifests.files import ManifestFile
from netclaim.manifests.finding import Finding, Severity, count
from netclaim.manifests.kinds import API_VERSIONS, CLAIM_SPECS
from netclaim.manifests.objects import Index, Object
from netclaim.manifests.reading import read_objects

__all__ = ["Report", "check_files"]

STANDARD: Final = Policy()  # of drivers without options


@dataclass(frozen=True, slots=True)
class Report:
    """What was looked at and what was found, in the order of the files and their lines."""

    findings: tuple[Finding, ...]
    objects: int
    files: int
    not_checked: Mapping[str, int]  # objects of kinds that nothing is known of, by kind

    @property
    def errors(self) -> int:
        """How many mistakes."""
        return count(self.findings, Severity.ERROR)

    @property
    def warnings(self) -> int:
        """How many doubts."""
        return count(self.findings, Severity.WARNING)


def check_files(
    files: Sequence[ManifestFile], *, policy: Policy = STANDARD, namespace: str = ""
) -> Report:
    """Check files as one set of objects, for drivers with this policy.

    `namespace` is where objects are that do not say.

    What cannot be read is a ManifestError, or an ExceptionGroup of several.
    """
    found_in_files, faults = read_objects(files)
    read = [one.in_namespace(namespace) if namespace else one for one in found_in_files]
    findings = list(faults)
    subjects: list[Object] = []
    for one in read:
        fitting, found = judged(one)
        findings += found
        if fitting is not None:
            subjects.append(fitting)
    findings += _check_together(subjects, policy)
    order = {file.name: number for number, file in enumerate(files)}
    ordered = sorted(dict.fromkeys(findings), key=lambda one: (order[one.file], one.line))
    return Report(tuple(ordered), len(subjects), len(files), _not_checked(read))


def _not_checked(read: Iterable[Object]) -> dict[str, int]:
    """Count what was passed over, by kind; with its group if the kind has the name of ours."""
    kinds = Counter(_full_kind(one) for one in read if not is_looked_at(one))
    return dict(sorted(kinds.items()))


def _full_kind(one: Object) -> str:
    group = str(one.object["apiVersion"]).rpartition("/")[0]
    return f"{one.kind}.{group}" if one.kind in API_VERSIONS else one.kind


def _check_together(subjects: Sequence[Object], policy: Policy) -> Iterator[Finding]:
    """What shows only when objects are seen beside each other."""
    index = Index(subjects)
    drivers = our_drivers(subjects)
    ifnames: dict[Object, frozenset[str]] = {}
    for subject in subjects:
        if subject.kind == "DeviceClass":
            yield from check_class(subject, drivers)
        elif subject.kind == "Namespace":
            yield from check_namespace(subject)
        elif subject.kind in CLAIM_SPECS:
            judgement = check_claim(subject, index, drivers, policy)
            ifnames[subject] = judgement.ifnames
            yield from judgement.findings
    yield from check_references(subjects, index, ifnames)
