"""Kubelet's part in claims: drivers prepare them for a pod, and release them after the last.

Promise: the order, the checks and the rules are kubelet's: everything is checked before anything is
noted; a claim is noted before a driver is called; a driver is called once with all claims of the
pod that it does not have yet; a claim is released when no pod of the node needs it, and stays noted
until that succeeded. After a restart claims are noted but not known to be prepared.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from netclaim.errors import PeerError
from netclaim.kubelet import ClaimService
from netclaim.local.api.store import Store
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.claims.claim import JsonObject
from netclaim.model.on_node.prepared import ClaimRef, PreparedDevice
from netclaim.schema.kinds import CLAIM

EXTENDED: Final = "extended resources"  # with a blank, which the name of a claim cannot have

# The scheduler reserves claims before it chooses a node, so something else must have chosen it.
UNRESERVED: Final = (
    "not reserved; a pod with nodeName bypasses the scheduler, which reserves claims;"
    " use nodeSelector or node affinity instead"
)


class ClaimNotReadyError(PeerError):
    """A claim is not yet in the state that a pod needs."""


class ClaimNotMadeError(ClaimNotReadyError):
    """A claim that is still to be made from its template; who makes it reports why it cannot."""


class PrepareError(PeerError):
    """A driver could not prepare or release a claim; the text is its own."""


class RegisteredDrivers(Protocol):
    """The drivers that can be called."""

    def client(self, driver: str) -> ClaimService:
        """Return the client of a driver; raises if it is not registered."""
        ...


@dataclass(frozen=True, slots=True)
class ClaimNote:
    """What kubelet keeps of a claim, also across restarts."""

    ref: ClaimRef
    drivers: frozenset[str]
    pods: frozenset[str]


class NodeClaims:
    """The claims that pods of one node use."""

    def __init__(
        self, store: Store, drivers: RegisteredDrivers, noted: Iterable[ClaimNote] = ()
    ) -> None:
        """`noted` is what an earlier kubelet left behind."""
        self._store = store
        self._drivers = drivers
        self._notes = {note.ref.uid: note for note in noted}
        self._prepared: dict[str, tuple[PreparedDevice, ...]] = {}

    @property
    def notes(self) -> tuple[ClaimNote, ...]:
        """Return what the next kubelet has to know."""
        return tuple(self._notes.values())

    def given(self, claim_uid: str) -> tuple[PreparedDevice, ...]:
        """Return what the drivers answered for a claim that is prepared; nothing for another."""
        return self._prepared.get(claim_uid, ())

    async def prepare(self, pod: JsonObject) -> None:
        """Have everything prepared that a pod claims and that is not prepared yet."""
        uid = pod["metadata"]["uid"]
        wanted = [self._looked_at(pod, name) for name in claim_names(pod).values()]
        for note in wanted:
            known = self._notes.get(note.ref.uid, note)
            self._notes[note.ref.uid] = replace(known, pods=known.pods | {uid})
        todo = [note for note in wanted if note.ref.uid not in self._prepared]
        given: dict[str, tuple[PreparedDevice, ...]] = {note.ref.uid: () for note in todo}
        for driver in sorted({driver for note in todo for driver in note.drivers}):
            refs = [note.ref for note in todo if driver in note.drivers]
            answers = await self._drivers.client(driver).prepare(refs)
            for ref in refs:
                if error := answers[ref.uid].error:
                    raise PrepareError(f"claim {ref.name}: {error}")
                given[ref.uid] += answers[ref.uid].devices
        self._prepared |= given

    async def unprepare(self, pod_uid: str) -> None:
        """Release what only this pod used and what is not released yet."""
        for uid, note in list(self._notes.items()):
            if pod_uid not in note.pods:
                continue
            if others := note.pods - {pod_uid}:
                self._notes[uid] = replace(note, pods=others)
                continue
            for driver in sorted(note.drivers):
                errors = await self._drivers.client(driver).unprepare([note.ref])
                if error := errors[uid]:
                    raise PrepareError(f"claim {note.ref.name}: {error}")
            self._prepared.pop(uid, None)
            del self._notes[uid]

    def _looked_at(self, pod: JsonObject, name: str) -> ClaimNote:
        """Return a claim, if it is what the pod needs."""
        meta = pod["metadata"]
        found = self._store.get(CLAIM, name, meta["namespace"])
        if found is None:
            raise ClaimNotReadyError(f"claim {name} does not exist")
        claim = ResourceClaim.read(found)
        if not claim.status.is_reserved_for(meta["uid"]):
            raise ClaimNotReadyError(f"pod {meta['name']} may not use claim {name}: {UNRESERVED}")
        if claim.status.allocation is None:
            raise ClaimNotReadyError(f"claim {name} is not allocated")
        ref = ClaimRef(claim.metadata.uid, meta["namespace"], name)
        self._check_replaced(ref)
        drivers = frozenset(result.driver for result in claim.status.results)
        for driver in drivers:
            self._drivers.client(driver)  # a missing driver is reported before anything is noted
        return ClaimNote(ref, drivers, frozenset())

    def _check_replaced(self, ref: ClaimRef) -> None:
        for note in self._notes.values():
            same_name = (note.ref.namespace, note.ref.name) == (ref.namespace, ref.name)
            if same_name and note.ref.uid != ref.uid:
                raise ClaimNotReadyError(f"an older claim {ref.name} is not released yet")


def claim_names(pod: JsonObject) -> Mapping[str, str]:
    """Return the names of a pod's claims in the pod, and their real names.

    The claim behind extended resources has no name in the pod, and gets one that no other can have.
    """
    made = {
        status["name"]: status.get("resourceClaimName")
        for status in pod.get("status", {}).get("resourceClaimStatuses", ())
    }
    names = {}
    for claim in pod["spec"].get("resourceClaims", ()):
        name = claim.get("resourceClaimName") or made.get(claim["name"])
        if not name:
            raise ClaimNotMadeError(f"the claim for {claim['name']} is not created yet")
        names[claim["name"]] = name
    extended = pod.get("status", {}).get("extendedResourceClaimStatus")
    if extended:
        names[EXTENDED] = extended["resourceClaimName"]
    return names
