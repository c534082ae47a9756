"""Check what objects say of each other: classes, claims, templates, requests, interface names.

Limit: sees the files only. What they do not hold may be in the cluster, so a name that leads
nowhere is a warning; what contradicts itself within the files is an error.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from netclaim.check.finding import Finding
from netclaim.check.hints import near
from netclaim.check.subject import CLAIM_SPECS, POD_SPECS, Index, Subject, inside, wanted
from netclaim.model.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.claim_rules import ADMIN_LABEL

__all__ = ["check_pod", "check_references"]

CLAIM_KINDS: Final[Mapping[str, str]] = {
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
}


def check_references(
    subjects: Iterable[Subject], index: Index, ifnames: Mapping[Subject, frozenset[str]]
) -> Iterator[Finding]:
    """Yield what does not go together; `ifnames` has the interfaces that each claim asks for."""
    for again, first in index.repeated():
        where = f"{first.document.source}:{first.document.line_of(first.at)}"
        message = f"{again.kind} {again.name} is there twice: the other is {where}"
        yield again.warning(("metadata", "name"), message)
    for subject in subjects:
        if subject.kind in CLAIM_SPECS:
            yield from _check_requests(subject, index)
        if subject.kind in POD_SPECS:
            yield from check_pod(subject, index, ifnames)


def _check_requests(claim: Subject, index: Index) -> Iterator[Finding]:
    """A claim's classes, and the right to devices that others use."""
    for one in (one for alternatives in wanted(claim) for one in alternatives):
        if one.class_name and not index.find("DeviceClass", one.class_name, near=claim):
            yield _not_in_files(claim, (*one.path, "deviceClassName"), "DeviceClass", index)
        if one.fields.get("adminAccess") and not _admits(index, claim):
            yield claim.warning(
                (*one.path, "adminAccess"),
                f"since Kubernetes 1.34, the namespace {claim.namespace} needs the label "
                f'{ADMIN_LABEL}: "true"',
            )


def _admits(index: Index, claim: Subject) -> bool:
    namespace = index.find("Namespace", claim.namespace, near=claim)
    labels = inside(namespace.object, ("metadata", "labels")) if namespace is not None else {}
    return labels.get(ADMIN_LABEL) == "true"


def check_pod(
    pod: Subject, index: Index, ifnames: Mapping[Subject, frozenset[str]]
) -> Iterator[Finding]:
    """Yield what does not go together in one pod, or in what makes pods."""
    spec = POD_SPECS[pod.kind]
    claims: dict[str, Subject] = {}
    users: dict[str, tuple[str, Subject]] = {}  # of each interface name, the first claim
    for number, entry in enumerate(inside(pod.object, spec).get("resourceClaims", ())):
        path: Path = (*spec, "resourceClaims", number)
        key = next((key for key in CLAIM_KINDS if entry.get(key)), None)
        if key is None:
            continue  # the API's own rules have said so
        claim = index.find(CLAIM_KINDS[key], entry[key], near=pod)
        if claim is None:
            yield _not_in_files(pod, (*path, key), CLAIM_KINDS[key], index)
            continue
        name = entry.get("name", "")
        claims[name] = claim
        for ifname in sorted(ifnames.get(claim, ())):
            first, other = users.setdefault(ifname, (name, claim))
            same_claim = other is claim and key == "resourceClaimName"
            if first != name and not same_claim:
                message = (
                    f"names its interface {ifname!r}, and so does {first!r}: "
                    f"give every claim of the pod another ifName"
                )
                yield pod.error(path, message)
    yield from _check_containers(pod, spec, claims)


def _check_containers(pod: Subject, spec: Path, claims: Mapping[str, Subject]) -> Iterator[Finding]:
    """A container may use one request of a claim; it must be there."""
    for key in ("containers", "initContainers"):
        for number, container in enumerate(inside(pod.object, spec).get(key, ())):
            used: list[JsonObject] = inside(container, ("resources",)).get("claims", [])
            for index, use in enumerate(used):
                claim, request = claims.get(use.get("name", "")), use.get("request")
                if claim is None or not request:
                    continue
                names = [one["name"] for one in _requests(claim) if one.get("name")]
                if request not in names:
                    path = (*spec, key, number, "resources", "claims", index, "request")
                    known = ", ".join(names) or "none"
                    message = f"{claim.kind} {claim.name} has no request {request!r}; it has"
                    yield pod.error(path, f"{message} {known}")


def _requests(claim: Subject) -> list[JsonObject]:
    devices = inside(claim.object, (*CLAIM_SPECS[claim.kind], "devices"))
    found: list[JsonObject] = devices.get("requests", [])
    return found


def _not_in_files(subject: Subject, path: Path, kind: str, index: Index) -> Finding:
    name = str(inside(subject.object, path[:-1])[str(path[-1])])
    namespace = "" if kind == "DeviceClass" else subject.namespace
    where = f" of namespace {namespace}" if namespace else ""
    guess = near(name, index.names(kind, namespace))
    meant = f"is {guess} meant?" if guess else "it has to be in the cluster already"
    return subject.warning(path, f"no {kind} {name!r}{where} in these files: {meant}")
