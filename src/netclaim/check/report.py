"""Check files as one set of objects: each by itself, then all beside each other."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from netclaim.check.annotated import check_annotated
from netclaim.check.claims.policy import Policy, check_namespace
from netclaim.check.networks import check_network, made_of_networks, withheld
from netclaim.check.objects import is_looked_at, judged
from netclaim.check.parameters import check_claim, check_class, our_drivers
from netclaim.check.pod_templates import as_pod, has_pods, pods_in
from netclaim.check.pools import check_pool, check_pool_of_network
from netclaim.check.references import check_pod, check_references
from netclaim.check.services import check_service
from netclaim.manifests.finding import Finding, Severity, count
from netclaim.manifests.kinds import API_VERSIONS, CLAIM_SPECS, POD_SPECS
from netclaim.manifests.objects import Index, Object
from netclaim.manifests.reading import read_objects
from netclaim.manifests.text.files import ManifestFile
from netclaim.model.api.own_kinds.address_pool import KIND as POOL_KIND
from netclaim.model.api.own_kinds.pod_network import KIND as NETWORK_KIND

STANDARD: Final = Policy()  # of drivers that run without options


@dataclass(frozen=True, slots=True)
class Report:
    """What was checked and what was found, in the order of the files and their lines."""

    findings: tuple[Finding, ...]
    objects: int
    files: int
    not_checked: Mapping[str, int]  # by kind, objects of which nothing is known
    pods_only: Mapping[str, int]  # by kind, objects of which only the claims of pods are checked

    @property
    def errors(self) -> int:
        return count(self.findings, Severity.ERROR)

    @property
    def warnings(self) -> int:
        return count(self.findings, Severity.WARNING)


def check_files(
    files: Sequence[ManifestFile], *, policy: Policy = STANDARD, namespace: str = ""
) -> Report:
    """Check files as one set of objects, for drivers with this policy.

    Objects that name no namespace are in `namespace`. Raises a ManifestError for what cannot be
    read, or an ExceptionGroup of several.
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
    findings += _check_together(subjects, [one for one in read if not is_looked_at(one)], policy)
    order = {file.name: number for number, file in enumerate(files)}
    ordered = sorted(dict.fromkeys(findings), key=lambda one: (order[one.file], one.line))
    return Report(tuple(ordered), len(subjects), len(files), *_not_checked(read))


def _not_checked(read: Iterable[Object]) -> tuple[dict[str, int], dict[str, int]]:
    """Count what was passed over, by kind, and apart from that what was so but for its pods.

    A kind is named with its group if one that we read has the same name.
    """
    others = [one for one in read if not is_looked_at(one)]
    pods = [one for one in others if has_pods(one)]
    kinds = Counter(map(_full_kind, others)) - Counter(map(_full_kind, pods))
    return dict(sorted(kinds.items())), dict(sorted(Counter(map(_full_kind, pods)).items()))


def _full_kind(one: Object) -> str:
    group = str(one.object["apiVersion"]).rpartition("/")[0]
    return f"{one.kind}.{group}" if one.kind in API_VERSIONS else one.kind


def _check_together(
    subjects: Sequence[Object], others: Iterable[Object], policy: Policy
) -> Iterator[Finding]:
    """What is found only by looking at several objects; `others` are of kinds that are not ours."""
    made = made_of_networks(subjects)
    index = Index([*subjects, *made], withheld(subjects))
    drivers = our_drivers(subjects)
    ifnames: dict[Object, frozenset[str]] = {
        each: check_claim(each, index, drivers, policy).ifnames
        for each in made
        if each.kind in CLAIM_SPECS
    }
    for subject in subjects:
        if subject.kind == "DeviceClass":
            yield from check_class(subject, drivers, index)
        elif subject.kind in CLAIM_SPECS:
            judgement = check_claim(subject, index, drivers, policy)
            ifnames[subject] = judgement.ifnames
            yield from judgement.findings
        else:
            yield from _check_other(subject, index)
    yield from check_references(subjects, index, ifnames)
    for one in others:
        for path, spec in pods_in(one):
            yield from check_pod(as_pod(one, path, spec), index, ifnames, path)


def _check_other(subject: Object, index: Index) -> Iterator[Finding]:
    """What is neither a class nor a claim, beside the others."""
    if subject.kind == NETWORK_KIND:
        yield from check_network(subject)
        yield from check_pool_of_network(subject, index)
    elif subject.kind == POOL_KIND:
        yield from check_pool(subject)
    elif subject.kind == "Service":
        yield from check_service(subject, index)
    elif subject.kind in POD_SPECS:
        yield from check_annotated(subject, index)
    elif subject.kind == "Namespace":
        yield from check_namespace(subject)
