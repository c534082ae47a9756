"""What is wrong with what is explained, in the words of `netclaim check`.

A claim that fits is allocated whatever its parameters say, and only then refused by the driver on
the node; what stands in a file may not even pass the API server. Promise: a line for each mistake,
with file and line, or for a cluster's object with its name; doubts are left to `netclaim check`,
apart from a driver's name that is nearly right. Limit: what a cluster has, its API server accepted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netclaim.check.objects import fitted, judged
from netclaim.check.parameters import Judged, check_claim, our_drivers
from netclaim.check.references import check_pod
from netclaim.explain.subject import Subject
from netclaim.manifests.finding import Finding, Severity
from netclaim.manifests.kinds import POD_SPECS
from netclaim.manifests.objects import Index, Key, Object, inside

__all__ = ["find_mistakes", "find_strays"]


def find_mistakes(
    found: Iterable[Object], subjects: Sequence[Subject]
) -> Mapping[Key, tuple[str, ...]]:
    """Return the mistakes of each subject, a line each; of two objects of a name, the later's."""
    wanted = {key for subject in subjects for key in (subject.key, *_named(subject))}
    read: dict[Key, Object] = {}
    refused: dict[Key, list[Finding]] = {}
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
    """Return the mistakes of pods that are no subjects, perhaps only because of a mistake."""
    known = {subject.key for subject in subjects}
    strays = [one for one in found if one.kind in POD_SPECS and one.key not in known]
    return tuple(str(finding) for one in strays for finding in _refusals(one))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Everything that was read, to be judged together."""

    read: Mapping[Key, Object]
    refused: Mapping[Key, Sequence[Finding]]
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
    """List what an API server would refuse of a file's object, unless it is from a server."""
    if one.document is None or inside(one.object, ("metadata",)).get("uid"):
        return []
    return sorted(_errors(judged(one)[1]), key=lambda finding: finding.line)


def _errors(findings: Iterable[Finding]) -> list[Finding]:
    return [one for one in findings if one.severity is Severity.ERROR]


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
