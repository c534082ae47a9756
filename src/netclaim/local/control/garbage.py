"""Delete what belongs to objects that are gone: pods, their claims, both kinds of slices."""

from netclaim.local.api.verbs import Verbs
from netclaim.schema.kinds import CLAIM, ENDPOINT_SLICE, KINDS, POD, REPLICA_SET, SLICE


def collect_garbage(verbs: Verbs) -> None:
    """Delete objects whose owners are all gone."""
    there = {obj["metadata"]["uid"] for kind in KINDS for obj in verbs.list(kind)}
    for kind in (REPLICA_SET, POD, CLAIM, SLICE, ENDPOINT_SLICE):
        for obj in list(verbs.list(kind)):
            meta = obj["metadata"]
            owners = [owner["uid"] for owner in meta.get("ownerReferences", ())]
            if owners and not there.intersection(owners) and "deletionTimestamp" not in meta:
                verbs.delete(kind, meta["name"], meta.get("namespace", ""), uid=meta["uid"])
