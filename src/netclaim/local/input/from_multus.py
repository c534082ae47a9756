"""Networks and pods as Multus reads them, run as `netclaim convert` would write them. No I/O.

Promise: nothing happens to other objects. What cannot be converted stays as it is, and a note says
why.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from netclaim.convert.documents import Replacement
from netclaim.convert.multus.definition import is_definition
from netclaim.convert.objects import convert_objects
from netclaim.manifests.objects import Object
from netclaim.screen.words import counted


def with_claims(objects: Sequence[Object]) -> tuple[list[Object], list[str]]:
    """Put networks and claims in the place of what Multus reads; returns notes about it, too."""
    if not any(map(is_definition, objects)):
        return list(objects), []
    found = convert_objects(objects)
    made = [each for one in objects for each in _instead(one, found.replacements.get(one))]
    notes = [str(remark) for remark in found.remarks]
    if found.networks:
        notes.insert(
            0,
            f"{counted(found.networks, 'network')} and {counted(found.workloads, 'workload')} of"
            " Multus run as `netclaim convert` writes them (docs/convert.md)",
        )
    return made, notes


def _instead(one: Object, replacement: Replacement | None) -> Iterator[Object]:
    if replacement is None:
        yield one
        return
    for each in (*replacement.before, replacement.object):
        yield replace(one, object=each, written=each, remarks=())
