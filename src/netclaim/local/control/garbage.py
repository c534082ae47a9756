"""Delete what belongs to objects that are gone: claims of pods, pods of sets, slices."""

from netclaim.local.api.verbs import Verbs
from netclaim.schema.kinds import CLAIM, KINDS, POD, REPLICA_SET, SLICE


def collect_garbage(verbs: Verbs) -> None:
    """Delete objects whose owners are all gone."""
    there = {obj["metadata"]["uid"] for kind in KINDS for obj in verbs.list(kind)}
    for kind in (REPLICA_SET, POD, CLAIM, SLICE):
        for obj in list(verbs.list(kind)):
            meta = obj["metadata"]
            owners = [owner["uid"] for owner in meta.get("ownerReferences", ())]
            if owners and not there.intersection(owners) and "deletionTimestamp" not in meta:
                verbs.delete(kind, meta["name"], meta.get("namespace", ""), uid=meta["uid"])
