"""What is wrong with the network parameters of what is explained, in the words of `netclaim check`.

A claim that fits is allocated whatever its parameters say, and only then refused by the driver on
the node. Promise: a line for each mistake, with file and line, or for a cluster's object with its
name; doubts are left to `netclaim check`. Limit: an object that the API server would refuse for the
type of a field is not looked at further.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netclaim.check.objects import fitted
from netclaim.check.parameters import Judged, check_claim, our_drivers
from netclaim.check.references import check_pod
from netclaim.explain.subject import Subject
from netclaim.manifests.finding import Finding, Severity
from netclaim.manifests.objects import Index, Key, Object

__all__ = ["find_mistakes"]


def find_mistakes(
    found: Iterable[Object], subjects: Sequence[Subject]
) -> Mapping[Key, tuple[str, ...]]:
    """Return the mistakes of each subject, a line each; of two objects of a name, the later's."""
    wanted = {key for subject in subjects for key in (subject.key, *_named(subject))}
    read: dict[Key, Object] = {}
    for key, one in {one.key: one for one in found}.items():
        if key in wanted or key.kind == "DeviceClass":
            fitting = fitted(one).object
            if fitting is not None:
                read[key] = fitting
    judge = _Judge(read, Index(read.values()), our_drivers(read.values()))
    return {subject.key: tuple(dict.fromkeys(judge.lines(subject))) for subject in subjects}


@dataclass(frozen=True, slots=True)
class _Judge:
    """Everything that was read, to be judged together."""

    read: Mapping[Key, Object]
    index: Index
    drivers: frozenset[str]

    def lines(self, subject: Subject) -> Iterator[str]:
        """Yield what is wrong with a subject's claims, then what is wrong between them."""
        judged = {
            key: check_claim(self.read[key], self.index, self.drivers)
            for key in _named(subject)
            if key in self.read
        }
        findings = [finding for key in _used(subject) for finding in _findings(judged.get(key))]
        if subject.workload is not None and subject.key in self.read:
            ifnames = {self.read[key]: one.ifnames for key, one in judged.items()}
            findings += check_pod(self.read[subject.key], self.index, ifnames)
        errors = [one for one in findings if one.severity is Severity.ERROR]
        yield from map(str, sorted(errors, key=lambda one: (one.file, one.line)))


def _findings(judged: Judged | None) -> tuple[Finding, ...]:
    return judged.findings if judged is not None else ()


def _used(subject: Subject) -> Iterator[Key]:
    """Yield the claims of a subject, and the templates of those that are not made yet."""
    if subject.workload is None:
        yield subject.key
        return
    for use in subject.workload.uses:
        kind = "ResourceClaim" if use.claim else "ResourceClaimTemplate"
        yield Key(kind, subject.key.namespace, use.claim or use.template)


def _named(subject: Subject) -> Iterator[Key]:
    """Yield what a subject names, also the templates of claims that are made already."""
    yield from _used(subject)
    for use in subject.workload.uses if subject.workload is not None else ():
        if use.claim and use.template:
            yield Key("ResourceClaimTemplate", subject.key.namespace, use.template)
