"""Check what objects say of each other: classes, claims, templates, requests, interface names.

What the files do not have may be in the cluster, so a name that leads nowhere is a warning. What
contradicts itself within the files is an error.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from netclaim.check.claims.policy import namespace_labels
from netclaim.check.claims.wanted import class_of, wanted
from netclaim.manifests.finding import Finding
from netclaim.manifests.kinds import CLAIM_SPECS, CLUSTER_WIDE, POD_SPECS
from netclaim.manifests.near import near
from netclaim.manifests.objects import Index, Object, inside
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.rules.claims import ADMIN_LABEL

CLAIM_KINDS: Final[Mapping[str, str]] = {
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
}


def check_references(
    subjects: Iterable[Object], index: Index, ifnames: Mapping[Object, frozenset[str]]
) -> Iterator[Finding]:
    """Yield what does not fit together; `ifnames` are the interfaces that each claim asks for."""
    for again, first in index.repeated():
        message = f"{again.kind} {again.name} is defined twice; also at {first.where()}"
        yield again.warning(("metadata", "name"), message)
    for subject in subjects:
        if subject.kind in CLAIM_SPECS:
            yield from _check_requests(subject, index)
        if subject.kind in POD_SPECS:
            yield from check_pod(subject, index, ifnames)


def _check_requests(claim: Object, index: Index) -> Iterator[Finding]:
    """A claim's classes, and its right to devices that others use."""
    for one in wanted(claim):
        if one.class_name and not class_of(one, claim, index):
            yield not_in_files(claim, (*one.path, "deviceClassName"), "DeviceClass", index)
        admitted = namespace_labels(claim, index).get(ADMIN_LABEL) == "true"
        if one.fields.get("adminAccess") and not admitted:
            yield claim.warning(
                (*one.path, "adminAccess"),
                f"since Kubernetes 1.34, the namespace {claim.namespace} needs the label "
                f'{ADMIN_LABEL}: "true"',
            )


def check_pod(
    pod: Object, index: Index, ifnames: Mapping[Object, frozenset[str]], spec: Path = ()
) -> Iterator[Finding]:
    """Yield what does not fit together in one pod or workload; `spec`: its place in other kinds."""
    spec = spec or POD_SPECS[pod.kind]
    claims: dict[str, Object] = {}
    users: dict[str, tuple[str, Object]] = {}  # of each interface name, the first claim
    for number, entry in enumerate(inside(pod.object, spec).get("resourceClaims", ())):
        path: Path = (*spec, "resourceClaims", number)
        key = next((key for key in CLAIM_KINDS if entry.get(key)), None)
        if key is None:
            continue  # the API's own rules report it
        claim = index.find(CLAIM_KINDS[key], entry[key], near=pod)
        if claim is None:
            if why := index.why_absent(CLAIM_KINDS[key], entry[key], near=pod):
                yield pod.error((*path, key), why)
            else:
                yield not_in_files(pod, (*path, key), CLAIM_KINDS[key], index)
            continue
        name = entry.get("name", "")
        claims[name] = claim
        clashes: dict[str, list[str]] = {}  # by the claim that has the names already
        for ifname in sorted(ifnames.get(claim, ())):
            first, other = users.setdefault(ifname, (name, claim))
            same_claim = other is claim and key == "resourceClaimName"
            if first != name and not same_claim:
                clashes.setdefault(first, []).append(ifname)
        for first, taken in clashes.items():
            more = f" (and {len(taken) - 1} more)" if len(taken) > 1 else ""
            message = (
                f'the interface name "{taken[0]}"{more} is already used by the claim "{first}"; '
                f"give each claim of the pod its own ifName"
            )
            yield pod.error(path, message)
    if users and inside(pod.object, spec).get("hostNetwork"):
        message = "the pod is on the node's own network and cannot have interfaces of its own"
        yield pod.error((*spec, "hostNetwork"), f"{message}; remove hostNetwork or the claim")
    if pod.kind not in POD_SPECS:  # the API's own rules report it of the others
        yield from _check_names(pod, spec)
    yield from _check_containers(pod, spec, claims)


def _uses(pod: Object, spec: Path) -> Iterator[tuple[Path, JsonObject]]:
    """Yield each claim that a container names, with its place."""
    for key in ("containers", "initContainers"):
        for number, container in enumerate(inside(pod.object, spec).get(key, ())):
            used: list[JsonObject] = inside(container, ("resources",)).get("claims", [])
            for index, use in enumerate(used):
                yield (*spec, key, number, "resources", "claims", index), use


def _check_names(pod: Object, spec: Path) -> Iterator[Finding]:
    """A claim that a container uses must be one of its pod."""
    names = {one.get("name") for one in inside(pod.object, spec).get("resourceClaims", ())}
    for path, use in _uses(pod, spec):
        if use.get("name") not in names:
            message = f"Not found: {use.get('name')!r}: it is not among the pod's resourceClaims"
            yield pod.error(path, message)


def _check_containers(pod: Object, spec: Path, claims: Mapping[str, Object]) -> Iterator[Finding]:
    """A request that a container uses must be one of its claim."""
    for path, use in _uses(pod, spec):
        claim, request = claims.get(use.get("name", "")), use.get("request")
        if claim is None or not request:
            continue
        names = [one["name"] for one in _requests(claim) if one.get("name")]
        if request not in names:
            known = ", ".join(names) or "none"
            message = f'{claim.kind} {claim.name} has no request "{request}"; it has'
            yield pod.error((*path, "request"), f"{message} {known}")


def _requests(claim: Object) -> list[JsonObject]:
    devices = inside(claim.object, (*CLAIM_SPECS[claim.kind], "devices"))
    found: list[JsonObject] = devices.get("requests", [])
    return found


def not_in_files(subject: Object, path: Path, kind: str, index: Index) -> Finding:
    """A warning about the name at a path, which no object of the files has."""
    name = str(inside(subject.object, path[:-1])[str(path[-1])])
    return absent(subject, path, kind, name, index)


def absent(subject: Object, path: Path, kind: str, name: str, index: Index) -> Finding:
    """A warning about a name, which no object of the files has."""
    namespace = "" if kind in CLUSTER_WIDE else subject.namespace
    where = f" in namespace {namespace}" if namespace else ""
    guess = near(name, index.names(kind, namespace))
    meant = f'did you mean "{guess}"?' if guess else "it must already be in the cluster"
    return subject.warning(
        path,
        f'no {kind} "{name}"{where} in these files; '
        f"{_elsewhere(subject, kind, name, index) or meant}",
    )


def _elsewhere(subject: Object, kind: str, name: str, index: Index) -> str:
    """Say where the files have a claim or template of this name; empty if they do not."""
    for key, other in CLAIM_KINDS.items():
        if kind in CLAIM_KINDS.values() and index.find(other, name, near=subject) is not None:
            return f"there is a {other} of this name, for {key}"
    others = [one for one in index.namespaces(kind, name) if one != subject.namespace]
    return f"the one in namespace {others[0]} is for pods there" if others else ""
