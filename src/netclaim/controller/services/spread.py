"""Endpoints over slices: at most a hundred in each, and as few slices changed as possible.

Promise: an endpoint stays in the slice that it is in, as long as its family and ports do; a new one
goes into a slice that changes anyway, then into the fullest one with room. A slice that would be
empty is deleted. The same slices and endpoints give the same answer, and a second look changes
nothing. No I/O.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from netclaim.controller.services.endpoints import Endpoint, Ports
from netclaim.model.api.service import Service
from netclaim.model.claims.claim import JsonObject

ENDPOINTS_MAX: Final = 100  # as Kubernetes' own controller has it by default
SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
HEADLESS: Final = "service.kubernetes.io/headless"  # kube-proxy then does not even read the slice
MANAGER: Final = "services.cni.networking.x-k8s.io"
OWN_LABELS: Final = frozenset({SERVICE_NAME, MANAGED_BY, HEADLESS})
UID_LETTERS: Final = 8  # of a Service's UID, in the names of its slices


@dataclass(frozen=True, slots=True)
class Writes:
    """What has to be written so that the slices are right."""

    create: tuple[JsonObject, ...]
    update: tuple[JsonObject, ...]
    delete: tuple[JsonObject, ...]


@dataclass(slots=True)
class _Slice:
    """A slice while endpoints are put into it."""

    live: JsonObject | None
    group: tuple[str, Ports]
    changed: bool
    endpoints: dict[tuple[str, str], JsonObject] = field(default_factory=dict)

    @property
    def room(self) -> int:
        return ENDPOINTS_MAX - len(self.endpoints)


def spread(
    service: Service,
    live: Iterable[JsonObject],
    endpoints: Iterable[Endpoint],
    foreign: Collection[str] = (),
) -> Writes:
    """Return the writes that make of a Service's slices what they should be.

    `foreign` are names that slices of others have.
    """
    wanted = {each.key: each for each in endpoints}
    labels = _labels(service)
    slices: list[_Slice] = []
    delete: list[JsonObject] = []
    for found in sorted(live, key=lambda each: str(each["metadata"]["name"])):
        one = _kept(found, wanted, labels)
        if one.endpoints and _is_owned(found, service):
            for key in one.endpoints:
                del wanted[key]
            slices.append(one)
        else:
            delete.append(found)
    _place(list(wanted.values()), slices)
    taken = {*foreign, *(each["metadata"]["name"] for each in delete)}
    taken |= {each.live["metadata"]["name"] for each in slices if each.live is not None}
    names = _names(service, taken, sum(each.live is None for each in slices))
    return Writes(
        tuple(
            _new(service, name, one, labels)
            for name, one in zip(names, (s for s in slices if s.live is None), strict=True)
        ),
        tuple(
            _changed(one.live, one, labels)
            for one in slices
            if one.live is not None and one.changed
        ),
        tuple(delete),
    )


def _kept(
    found: JsonObject, wanted: Mapping[tuple[str, str], Endpoint], labels: Mapping[str, str]
) -> _Slice:
    """A slice with those of its endpoints that may stay."""
    group = found["addressType"], _ports_of(found)
    listed: Sequence[JsonObject] = found.get("endpoints") or ()
    one = _Slice(found, group, changed=found["metadata"].get("labels") != labels)
    for each in listed:
        key = each.get("targetRef", {}).get("uid", ""), each["addresses"][0]
        there = wanted.get(key)
        if there is None or there.group != group or key in one.endpoints:
            one.changed = True
            continue
        one.endpoints[key] = there.body
        one.changed = one.changed or there.body != each
    return one


def _place(endpoints: list[Endpoint], slices: list[_Slice]) -> None:
    """Put new endpoints into slices, and new slices into the list."""
    groups: dict[tuple[str, Ports], list[Endpoint]] = {}
    for each in endpoints:
        groups.setdefault(each.group, []).append(each)
    for group, rest in groups.items():
        there = [one for one in slices if one.group == group]
        for one in sorted(there, key=lambda one: (not one.changed, one.room)):
            _fill(one, rest)
        while rest:
            slices.append(_Slice(None, group, changed=True))
            _fill(slices[-1], rest)


def _fill(one: _Slice, rest: list[Endpoint]) -> None:
    room = one.room
    if not room or not rest:
        return
    one.endpoints |= {each.key: each.body for each in rest[:room]}
    one.changed = True
    del rest[:room]


def _names(service: Service, taken: set[str], count: int) -> list[str]:
    """Names for new slices: the same ones again if a slice was made that is not seen yet.

    With a part of the Service's UID, or one that is made anew would meet the slices of the old one.
    """
    stem = f"{service.metadata.name}-{service.metadata.uid[:UID_LETTERS]}"
    names: list[str] = []
    number = 0
    while len(names) < count:
        number += 1
        if (name := f"{stem}-{number}") not in taken:
            names.append(name)
    return names


def _labels(service: Service) -> dict[str, str]:
    """A slice's labels: the Service's, and those by which slices are found."""
    own = {SERVICE_NAME: service.metadata.name, MANAGED_BY: MANAGER}
    headless = {HEADLESS: ""} if service.spec.is_headless else {}
    theirs = {key: each for key, each in service.metadata.labels.items() if key not in OWN_LABELS}
    return {**theirs, **own, **headless}


def _is_owned(found: JsonObject, service: Service) -> bool:
    """Whether a slice belongs to this Service, and not to an earlier one of its name."""
    owners = found["metadata"].get("ownerReferences") or ()
    return any(each["uid"] == service.metadata.uid for each in owners)


def _new(service: Service, name: str, one: _Slice, labels: Mapping[str, str]) -> JsonObject:
    meta = service.metadata
    owner = {"apiVersion": "v1", "kind": "Service", "name": meta.name, "uid": meta.uid}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": dict(labels),
            "ownerReferences": [{**owner, "controller": True}],
        },
        **_contents(one),
    }


def _changed(live: JsonObject, one: _Slice, labels: Mapping[str, str]) -> JsonObject:
    meta: dict[str, Any] = {**live["metadata"], "labels": dict(labels)}
    head = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"}
    return {**head, "metadata": meta, **_contents(one)}


def _contents(one: _Slice) -> JsonObject:
    family, ports = one.group
    return {
        "addressType": family,
        "ports": [dict(each) for each in ports],
        "endpoints": list(one.endpoints.values()),
    }


def _ports_of(found: JsonObject) -> Ports:
    return tuple(tuple(sorted(each.items())) for each in found.get("ports") or ())
