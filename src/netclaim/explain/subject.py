"""What `netclaim explain` is asked about: pods and what makes them, claims, templates.

Promise: without a name, everything that needs devices once: a claim that a pod uses is explained
with the pod. A name that nothing has is a RequestError that says what there is.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from netclaim.allocator import Claim
from netclaim.errors import RequestError
from netclaim.explain.world import Place, Workload, World
from netclaim.manifests.kinds import POD_SPECS
from netclaim.manifests.near import near
from netclaim.manifests.objects import Key

__all__ = ["Subject", "choose"]

PREFIXES: Final = {
    "claim": ("ResourceClaim",),
    "resourceclaim": ("ResourceClaim",),
    "template": ("ResourceClaimTemplate",),
    "resourceclaimtemplate": ("ResourceClaimTemplate",),
    **{kind.lower(): (kind,) for kind in POD_SPECS},
}
CALLED: Final = {"ResourceClaim": "claim", "ResourceClaimTemplate": "template"}
LISTED_MAX: Final = 10  # names in an error; more than that nobody reads


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that needs devices, `replicas` times; `lacks` is what it names and is not there."""

    key: Key
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

    def refuses(self, place: Place) -> str:
        """Say why it cannot be on a node, whatever devices that has; nothing if it can."""
        return self.workload.refuses(place) if self.workload else ""


def choose(
    world: World, name: str, namespace: str, *, among: Callable[[Key], bool]
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


def _named(keys: list[Key], name: str, namespace: str) -> list[Key]:
    prefix, slash, rest = name.partition("/")
    if slash and prefix.lower() not in PREFIXES:
        raise RequestError(f"{name}: {prefix!r} is none of {', '.join(PREFIXES)}")
    kinds = PREFIXES[prefix.lower()] if slash else ()
    wanted = rest if slash else name
    possible = [key for key in keys if not kinds or key.kind in kinds]
    chosen = [key for key in possible if key.name == wanted]
    if not chosen:
        names = sorted({key.name for key in possible})
        close = near(wanted, names)
        listed = f"there is {', '.join(names[:LISTED_MAX])}"
        there = f'did you mean "{close}"?' if close else listed
        where = f" in namespace {namespace}" if namespace else ""
        what = prefix.lower() if slash else "pod or claim"
        raise RequestError(
            f'no {what} "{wanted}"{where}; {there if names else "there is none at all"}'
        )
    return chosen


def _used(world: World, keys: Iterable[Key]) -> Iterator[Key]:
    """Yield the claims and templates that workloads use."""
    for key in keys:
        workload = world.workloads.get(key)
        for use in workload.uses if workload else ():
            yield Key("ResourceClaim", key.namespace, use.claim)
            yield Key("ResourceClaimTemplate", key.namespace, use.template)


def _idle(world: World, key: Key) -> bool:
    workload = world.workloads.get(key)
    return workload is not None and (workload.over or not workload.uses)


def _subject(world: World, key: Key) -> Subject:
    if key.kind == "ResourceClaim":
        return Subject(key, claims=(world.claims[key],))
    if key.kind == "ResourceClaimTemplate":
        return Subject(key, made=(world.templates[key],))
    workload = world.workloads[key]
    claims: list[Claim] = []
    made: list[Claim] = []
    lacks: list[str] = []
    for use in workload.uses:
        claim = Key("ResourceClaim", key.namespace, use.claim)
        template = Key("ResourceClaimTemplate", key.namespace, use.template)
        if claim in world.claims:
            claims.append(world.claims[claim])
        elif use.claim:
            lacks.append(_lack(claim, world.claims))
        elif template in world.templates:  # named as the controller would
            made.append(replace(world.templates[template], name=f"{key.name}-{use.entry}"))
        else:
            lacks.append(_lack(template, world.templates))
    return Subject(key, tuple(claims), tuple(made), tuple(lacks), workload.replicas, workload)


def _lack(wanted: Key, there: Iterable[Key]) -> str:
    close = near(wanted.name, (one.name for one in there if one.namespace == wanted.namespace))
    hint = f'; did you mean "{close}"?' if close else ""
    return f'{wanted.kind} "{wanted.name}" does not exist{hint}'
