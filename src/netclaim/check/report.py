"""Check files as one set of objects: each by itself, then what they say of each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from netclaim.check.finding import Finding, Severity, count
from netclaim.check.objects import read_document
from netclaim.check.parameters import check_claim, check_class, our_drivers
from netclaim.check.policy import Policy, check_namespace
from netclaim.check.references import check_references
from netclaim.check.subject import CLAIM_SPECS, Index, Subject
from netclaim.manifests.documents import ManifestError
from netclaim.manifests.files import ManifestFile, raise_faults

__all__ = ["Report", "check_files"]

STANDARD: Final = Policy()  # of drivers without options


@dataclass(frozen=True, slots=True)
class Report:
    """What was looked at and what was found, in the order of the files and their lines."""

    findings: tuple[Finding, ...]
    objects: int
    files: int

    @property
    def errors(self) -> int:
        """How many mistakes."""
        return count(self.findings, Severity.ERROR)

    @property
    def warnings(self) -> int:
        """How many doubts."""
        return count(self.findings, Severity.WARNING)


def check_files(files: Sequence[ManifestFile], *, policy: Policy = STANDARD) -> Report:
    """Check files as one set of objects, for drivers with this policy.

    What cannot be read is a ManifestError, or an ExceptionGroup of several.
    """
    subjects: list[Subject] = []
    findings: list[Finding] = []
    unreadable: list[ManifestError] = []
    for file in files:
        try:
            for document in file.documents:
                found, faults = read_document(document)
                subjects += found
                findings += faults
        except ManifestError as error:
            unreadable.append(error)
    raise_faults(unreadable)
    findings += _check_together(subjects, policy)
    order = {file.name: number for number, file in enumerate(files)}
    ordered = sorted(dict.fromkeys(findings), key=lambda one: (order[one.file], one.line))
    return Report(tuple(ordered), len(subjects), len(files))


def _check_together(subjects: Sequence[Subject], policy: Policy) -> Iterator[Finding]:
    """What shows only when objects are seen beside each other."""
    index = Index(subjects)
    drivers = our_drivers(subjects)
    ifnames: dict[Subject, frozenset[str]] = {}
    for subject in subjects:
        if subject.kind == "DeviceClass":
            yield from check_class(subject, drivers)
        elif subject.kind == "Namespace":
            yield from check_namespace(subject)
        elif subject.kind in CLAIM_SPECS:
            judged = check_claim(subject, index, drivers, policy)
            ifnames[subject] = judged.ifnames
            yield from judged.findings
    yield from check_references(subjects, index, ifnames)
