"""What is wrong with what is explained, in the words of `netclaim check`.

A claim that fits is allocated whatever its parameters are, and only then refused by the driver on
the node; an API server may not even accept what is in a file. Promise: each mistake has a line,
with file and line, or with the name of a cluster's object. Warnings are left to `netclaim check`,
except for a driver's name that is nearly right. Limit: an object of a cluster is not checked again
for what its API server has accepted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netclaim.check.objects import fitted, judged
from netclaim.check.parameters import Judged, check_claim, our_drivers
from netclaim.check.references import check_pod
from netclaim.explain.subject import Subject
from netclaim.manifests.finding import Finding, Severity
from netclaim.manifests.kinds import POD_SPECS
from netclaim.manifests.objects import Index, Object, ObjectKey, inside


def find_mistakes(
    found: Iterable[Object], subjects: Sequence[Subject]
) -> Mapping[ObjectKey, tuple[str, ...]]:
    """Return the mistakes of each subject; of two objects of one name, the later one counts."""
    wanted = {key for subject in subjects for key in (subject.key, *_named(subject))}
    read: dict[ObjectKey, Object] = {}
    refused: dict[ObjectKey, list[Finding]] = {}
    for key, one in {one.key: one for one in found}.items():
        if key in wanted or key.kind == "DeviceClass":
            fitting = fitted(one).object
            if fitting is not None:
                read[key] = fitting
        if key in wanted:
            refused[key] = _refusals(one)
    judge = _Judge(read, refused, Index(read.values()), our_drivers(read.values()))
    return {subject.key: tuple(dict.fromkeys(judge.lines(subject))) for subject in subjects}


def find_strays(found: Iterable[Object], subjects: Sequence[Subject]) -> tuple[str, ...]:
    """Return the mistakes of pods that are not subjects, perhaps because of these mistakes."""
    known = {subject.key for subject in subjects}
    strays = [one for one in found if one.kind in POD_SPECS and one.key not in known]
    return tuple(str(finding) for one in strays for finding in _refusals(one))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Everything that was read, for checking what belongs together."""

    read: Mapping[ObjectKey, Object]
    refused: Mapping[ObjectKey, Sequence[Finding]]
    index: Index
    drivers: frozenset[str]

    def lines(self, subject: Subject) -> Iterator[str]:
        """Yield what is wrong with a subject's claims, then what is wrong between them."""
        claims = {
            key: check_claim(self.read[key], self.index, self.drivers)
            for key in _named(subject)
            if key in self.read
        }
        keys = dict.fromkeys((subject.key, *_used(subject)))
        findings = [finding for key in keys for finding in self.refused.get(key, ())]
        slips: list[Finding] = []
        for key in _used(subject):
            judgement = claims.get(key, Judged((), frozenset()))
            findings += judgement.findings
            slips += judgement.slips
        if subject.workload is not None and subject.key in self.read:
            ifnames = {self.read[key]: one.ifnames for key, one in claims.items()}
            findings += check_pod(self.read[subject.key], self.index, ifnames)
        shown = [*_errors(findings), *slips]
        yield from map(str, sorted(shown, key=lambda one: (one.file, one.line)))


def _refusals(one: Object) -> list[Finding]:
    """List what an API server would refuse in a file's object, unless it came from a server."""
    if one.document is None or inside(one.object, ("metadata",)).get("uid"):
        return []
    return sorted(_errors(judged(one)[1]), key=lambda finding: finding.line)


def _errors(findings: Iterable[Finding]) -> list[Finding]:
    return [one for one in findings if one.severity is Severity.ERROR]


def _used(subject: Subject) -> Iterator[ObjectKey]:
    """Yield the claims of a subject, and the templates of those that do not exist yet."""
    if subject.workload is None:
        yield subject.key
        return
    for use in subject.workload.uses:
        kind = "ResourceClaim" if use.claim else "ResourceClaimTemplate"
        yield ObjectKey(kind, subject.key.namespace, use.claim or use.template)


def _named(subject: Subject) -> Iterator[ObjectKey]:
    """Yield what a subject names, also the templates of claims that exist already."""
    yield from _used(subject)
    for use in subject.workload.uses if subject.workload is not None else ():
        if use.claim and use.template:
            yield ObjectKey("ResourceClaimTemplate", subject.key.namespace, use.template)
