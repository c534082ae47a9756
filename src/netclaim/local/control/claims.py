"""Claims of pods: made from templates, released when their pods are gone.

Each call does what there is to do and writes nothing else. A claim that nobody has reserved any
more loses its allocation, and with it the protection from deletion.
"""

from collections.abc import Iterable
from typing import Final

from netclaim.local.api.verbs import Verbs
from netclaim.local.control.owned_pods import MANAGER, owner_reference
from netclaim.local.events import record
from netclaim.manifests.near import near
from netclaim.model.claims.claim import POD_CLAIM_NAME, JsonObject
from netclaim.model.on_node.pod import ENDED
from netclaim.schema.kinds import CLAIM, POD, TEMPLATE
from netclaim.schema.refusal import RefusedError

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
NOT_MADE: Final = "FailedResourceClaimCreation"


def make_claims(verbs: Verbs) -> None:
    """Make the claims that pods request by a template."""
    for pod in list(verbs.list(POD)):
        if "deletionTimestamp" in pod["metadata"]:
            continue
        made = {s["name"] for s in pod.get("status", {}).get("resourceClaimStatuses", ())}
        for wanted in pod["spec"].get("resourceClaims", ()):
            if "resourceClaimTemplateName" in wanted and wanted["name"] not in made:
                _make(verbs, pod, wanted)


def _make(verbs: Verbs, pod: JsonObject, wanted: JsonObject) -> None:
    meta = pod["metadata"]
    template = verbs.store.get(TEMPLATE, wanted["resourceClaimTemplateName"], meta["namespace"])
    now = verbs.get(POD, meta["name"], meta["namespace"])
    status = now.get("status", {})
    if template is None:
        name = wanted["resourceClaimTemplateName"]
        known = (one["metadata"]["name"] for one in verbs.list(TEMPLATE, meta["namespace"]))
        refuse_pod(verbs, now, f'resourceclaimtemplate "{name}" not found{meant(name, known)}')
        return
    inner = template["spec"].get("metadata", {})
    annotations = {**inner.get("annotations", {}), POD_CLAIM_NAME: wanted["name"]}
    body = {
        "apiVersion": CLAIM.addresses[0].api_version,
        "kind": CLAIM.name,
        "metadata": {
            **({"labels": inner["labels"]} if inner.get("labels") else {}),
            "annotations": annotations,
            "generateName": f"{meta['name']}-{wanted['name']}-",
            "namespace": meta["namespace"],
            "ownerReferences": [owner_reference(pod)],
        },
        "spec": template["spec"].get("spec", {}),
    }
    try:
        claim = verbs.create(CLAIM, body, manager=MANAGER)
    except RefusedError as refusal:
        refuse_pod(verbs, now, str(refusal))
        return
    entry = {"name": wanted["name"], "resourceClaimName": claim["metadata"]["name"]}
    entries = [*status.get("resourceClaimStatuses", ()), entry]
    kept = {key: value for key, value in status.items() if key not in ("reason", "message")}
    verbs.set_status(POD, now, {**kept, "resourceClaimStatuses": entries}, manager=MANAGER)


def meant(name: str, known: Iterable[str]) -> str:
    """Ask whether another name was meant, if one is like it."""
    guess = near(name, known)
    return f'; did you mean "{guess}"?' if guess else ""


def refuse_pod(verbs: Verbs, pod: JsonObject, message: str) -> None:
    """Report, once, why a pod's claim cannot be made."""
    status = pod.get("status", {})
    if status.get("message") != message:
        record(verbs, pod, NOT_MADE, message, by=MANAGER, warning=True)
        verbs.set_status(
            POD, pod, {**status, "reason": NOT_MADE, "message": message}, manager=MANAGER
        )


def release_claims(verbs: Verbs) -> None:
    """Remove the reservations of pods that are gone or have ended."""
    pods = {
        pod["metadata"]["uid"]
        for pod in verbs.list(POD)
        if pod.get("status", {}).get("phase") not in ENDED
    }
    for claim in list(verbs.list(CLAIM)):
        left = _without_users(verbs, claim, pods)
        if "allocation" not in left.get("status", {}):
            _unprotect(verbs, left)


def _without_users(verbs: Verbs, claim: JsonObject, pods: set[str]) -> JsonObject:
    """Return the claim with reservations of these pods only; without any it has no allocation."""
    status = claim.get("status", {})
    reserved = status.get("reservedFor", [])
    kept = [user for user in reserved if user["uid"] in pods]
    if kept == reserved:
        return claim
    freed = {**status, "reservedFor": kept} if kept else {}
    return verbs.set_status(CLAIM, claim, freed, manager=MANAGER)


def _unprotect(verbs: Verbs, claim: JsonObject) -> None:
    finalizers = claim["metadata"].get("finalizers", [])
    if FINALIZER in finalizers:
        kept = [finalizer for finalizer in finalizers if finalizer != FINALIZER]
        changed = {**claim, "metadata": {**claim["metadata"], "finalizers": kept}}
        verbs.replace(CLAIM, changed, claim, manager=MANAGER)
