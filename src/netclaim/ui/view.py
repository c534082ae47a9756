"""Everything as it is at one moment, and what changed since another.

Promise: a view never changes, so that it may be read from any thread. What changed between two
views is found by comparing pieces as they are sent, so that a reader who missed some views gets
the same as one who saw them all. No I/O.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec

from netclaim.explain.world import World, read_world
from netclaim.manifests.objects import Object, ObjectKey
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.status.compose import compose
from netclaim.status.objects import read_objects
from netclaim.survey.cluster import unlisted
from netclaim.survey.follow import Moment
from netclaim.ui.networks import networks_of
from netclaim.ui.picture import pieces_of
from netclaim.ui.values import HEAD, Head

ENCODER: Final = msgspec.json.Encoder()


@dataclass(frozen=True)
class Question:
    """What is looked at: where it comes from, and whose devices are shown."""

    source: str
    drivers: frozenset[str]
    every_driver: bool = False
    is_live: bool = True
    version: str = ""


@dataclass(frozen=True)
class View:
    """One moment: the pieces as they are sent, and the objects that they are of."""

    number: int
    pieces: Mapping[str, bytes]
    objects: tuple[Mapping[str, Any], ...]
    unlisted: frozenset[str] = frozenset()  # kinds, as plurals, that the viewer may not list

    @cached_property
    def by_key(self) -> Mapping[ObjectKey, Mapping[str, Any]]:
        """The objects by kind, namespace and name."""
        found = (Object({}, dict(one)) for one in self.objects)
        return {one.key: one.object for one in found}

    @cached_property
    def world(self) -> World:
        """What decides about claims; RequestError if an object cannot be read."""
        return read_world(Object(dict(one), dict(one)) for one in self.objects)


def view_of(number: int, moment: Moment, question: Question, notes: Iterable[str] = ()) -> View:
    """Put a view together."""
    status = compose(
        moment.objects, question.drivers, every_driver=question.every_driver, notes=tuple(notes)
    )
    shown = {(one.namespace, one.name) for one in status.claims}
    claims: list[ResourceClaim] = [
        one
        for one in read_objects(_claims(moment)).claims
        if (one.metadata.namespace, one.metadata.name) in shown
    ]
    pieces = pieces_of(status, networks_of(moment.objects, claims))
    head = Head(
        source=question.source,
        is_live=question.is_live,
        fault=moment.fault,
        notes=status.notes,
        drivers=tuple(one.name for one in status.drivers),
        version=question.version,
    )
    encoded = {key: ENCODER.encode(piece) for key, piece in pieces.items()}
    there = {HEAD: ENCODER.encode(head), **encoded}
    return View(number, there, moment.objects, unlisted(status.notes))


def changes(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> bytes:
    """Return what a reader who has the one needs to have the other, as JSON; empty if nothing."""
    new = [(key, piece) for key, piece in after.items() if before.get(key) != piece]
    gone = [key for key in before if key not in after]
    if not new and not gone:
        return b""
    entries = b",".join(ENCODER.encode(key) + b":" + piece for key, piece in new)
    return b'{"set":{' + entries + b'},"gone":' + ENCODER.encode(gone) + b"}"


def _claims(moment: Moment) -> Iterable[Mapping[str, Any]]:
    return (one for one in moment.objects if one.get("kind") == "ResourceClaim")
