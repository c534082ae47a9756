"""What `netclaim explain` is asked about: pods and what makes them, claims, templates.

Promise: without a name, it is everything that needs devices, once: a claim that a pod uses is
explained with the pod. A name that nothing has is a RequestError that lists what exists.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from netclaim.allocator import Claim
from netclaim.allocator.objects.extended import as_requests
from netclaim.errors import RequestError
from netclaim.explain.names import KINDS, kind_named
from netclaim.explain.world import Place, Workload, World
from netclaim.manifests.near import existing, near
from netclaim.manifests.objects import ObjectKey
from netclaim.schema.annotated import NOT_CLAIMED, TEMPLATE

CALLED: Final = {"ResourceClaim": "claim", "ResourceClaimTemplate": "template"}


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that needs devices, `replicas` times; `lacks` is what is missing for that."""

    key: ObjectKey
    claims: tuple[Claim, ...] = ()  # that are there, and that all of its pods share
    made: tuple[Claim, ...] = ()  # that each pod gets from a template
    lacks: tuple[str, ...] = ()
    replicas: int = 1
    workload: Workload | None = None

    @property
    def title(self) -> str:
        """How to call it: `claim default/nic`."""
        kind = CALLED.get(self.key.kind, self.key.kind.lower())
        return f"{kind} {self.key.namespace}/{self.key.name}"

    @property
    def is_template(self) -> bool:
        """Whether it is a template that was asked about by itself."""
        return self.key.kind == "ResourceClaimTemplate"

    @property
    def made_from_it(self) -> str:
        """What is judged, where it is not the subject itself."""
        return "a claim made from it " if self.is_template else ""

    @property
    def on_every_node(self) -> bool:
        """Whether it has a pod on every node that takes it."""
        return self.workload is not None and self.workload.on_every_node

    @property
    def bypasses_scheduler(self) -> bool:
        """Whether its pods name their node, where kubelet refuses claims without devices."""
        return self.workload is not None and bool(self.workload.node_name)

    def refuses(self, place: Place) -> str:
        """Say why it cannot be on a node, whatever devices that has; an empty text if it can."""
        return self.workload.refuses(place) if self.workload else ""


def choose(
    world: World, name: str, namespace: str, *, among: Callable[[ObjectKey], bool]
) -> tuple[Subject, ...]:
    """Return what a name means, or everything that needs devices, in a namespace or in all."""
    keys = [
        key
        for key in (*world.workloads, *world.claims, *world.templates)
        if namespace in ("", key.namespace) and among(key)
    ]
    if name:
        chosen = _named(keys, name, namespace)
    else:
        chosen = [key for key in keys if key not in set(_used(world, keys))]
        chosen = [key for key in chosen if not _idle(world, key)]
    return tuple(_subject(world, key) for key in chosen)


def _named(keys: list[ObjectKey], name: str, namespace: str) -> list[ObjectKey]:
    """Return what `NAME` or `KIND/NAME` means."""
    word, slash, rest = name.partition("/")
    kind = kind_named(word) if slash else ""
    if slash and not kind:
        known = ", ".join(CALLED.get(one, one.lower()) for one in KINDS)
        raise RequestError(f'{name}: unknown kind "{word}"; the kinds are {known}')
    wanted = rest if slash else name
    possible = [key for key in keys if kind in ("", key.kind)]
    chosen = [key for key in possible if key.name == wanted]
    if not chosen:
        what = CALLED.get(kind, kind.lower()) or "pod or claim"
        where = f" in namespace {namespace}" if namespace else ""
        there = existing(wanted, (key.name for key in possible))
        raise RequestError(f'no {what} "{wanted}"{where}; {there}')
    return chosen


def _used(world: World, keys: Iterable[ObjectKey]) -> Iterator[ObjectKey]:
    """Yield the claims and templates that workloads use."""
    for key in keys:
        workload = world.workloads.get(key)
        for use in workload.uses if workload else ():
            yield ObjectKey("ResourceClaim", key.namespace, use.claim)
            yield ObjectKey("ResourceClaimTemplate", key.namespace, use.template)


def _idle(world: World, key: ObjectKey) -> bool:
    workload = world.workloads.get(key)
    return workload is not None and (
        workload.over or not (workload.uses or _extended(world, workload))
    )


def _subject(world: World, key: ObjectKey) -> Subject:
    if key.kind == "ResourceClaim":
        return Subject(key, claims=(world.claims[key],))
    if key.kind == "ResourceClaimTemplate":
        return Subject(key, made=(world.templates[key],))
    workload = world.workloads[key]
    claims: list[Claim] = []
    made: list[Claim] = []
    lacks: list[str] = []
    for use in workload.uses:
        claim = ObjectKey("ResourceClaim", key.namespace, use.claim)
        template = ObjectKey("ResourceClaimTemplate", key.namespace, use.template)
        if claim in world.claims:
            claims.append(world.claims[claim])
        elif use.claim:
            lacks.append(_lack(claim, world.claims))
        elif template in world.templates:  # named as the controller would
            made.append(replace(world.templates[template], name=f"{key.name}-{use.entry}"))
        else:
            withheld = NOT_CLAIMED if use.template == TEMPLATE else world.withheld.get(template)
            lacks.append(withheld or _lack(template, world.templates))
    made += _extended(world, workload)
    return Subject(key, tuple(claims), tuple(made), tuple(lacks), workload.replicas, workload)


def _extended(world: World, workload: Workload) -> list[Claim]:
    """Return the claim that the scheduler makes for extended resources that classes offer."""
    wishes = [wish for wish in workload.wishes if wish.resource in world.offered]
    if not wishes:
        return []
    name = f"{workload.key.name}-extended-resources"
    requests = list(as_requests(wishes, world.offered).values())
    metadata = {"name": name, "namespace": workload.key.namespace}
    return [Claim.read({"metadata": metadata, "spec": {"devices": {"requests": requests}}})]


def _lack(wanted: ObjectKey, there: Iterable[ObjectKey]) -> str:
    close = near(wanted.name, (one.name for one in there if one.namespace == wanted.namespace))
    hint = f'; did you mean "{close}"?' if close else ""
    return f'{wanted.kind} "{wanted.name}" does not exist{hint}'
