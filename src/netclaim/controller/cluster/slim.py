"""What the controller keeps of each object: what is read of it, cut where a tenant wrote it.

Promise: an object of a tenant takes no more than a few KiB, but for a configuration or annotation
that is read, of which `TEXT_MAX` characters are kept and one more, by which it is refused as too
long. What is not kept changes nothing. No I/O.
"""

import hashlib
import sys
from collections.abc import Callable
from typing import Any, Final

import msgspec

from netclaim.controller.annotated.mirror import THERE_MAX
from netclaim.controller.annotated.names import (
    ANNOTATION,
    CLAIM_NETWORKS,
    POD_CLAIM,
    POD_CLAIM_ANNOTATION,
    STATUS_ANNOTATION,
)
from netclaim.controller.annotated.names import LABEL as FROM_ANNOTATION
from netclaim.controller.annotated.readings import TEXT_MAX
from netclaim.controller.networks.objects import MADE_OF
from netclaim.convert.multus.definition import SPELLINGS
from netclaim.model.claims.claim import JsonObject
from netclaim.network.pod_network import LABEL
from netclaim.schema.network_service import NETWORK, UPSTREAM_NAME
from netclaim.survey.claim_networks import brief

COPY_TO: Final = "cni.networking.x-k8s.io/copy-to"  # at a template that is copied; see `stamp`
COPY_OF: Final = "cni.networking.x-k8s.io/copy-of"  # at a copy: namespace/name of its original
WHOSE: Final = ("name", "namespace", "uid", "resourceVersion")
META: Final = (*WHOSE, "labels", "annotations", "ownerReferences", "deletionTimestamp")
MIRRORED: Final = ("mtu", "routes", "pciAddress")  # see `annotated.mirror`
RESULT: Final = ("request", "driver", "pool", "device", "shareID", "adminAccess")
# What is the same in many claims and leases: a text takes some 60 bytes in each of 100,000 objects.
SHARED: Final = frozenset(
    (
        *("namespace", "driver", "pool", "domain", "nodeName", "request", "resource"),
        *("deviceClassName", "type", "status", "reason", "message", "interfaceName"),
    )
)
OWNERS_MAX: Final = 8  # of an object; those that we make have one
SHORT_MAX: Final = 512  # characters of what is a name, two names or a digest
NETWORKS_MAX: Final = 16 * 1024  # of the names of a claim's networks: 32, of up to 317 each


def whole(found: JsonObject) -> JsonObject:
    """Of an object of ours or an admin's: all but who wrote which field."""
    meta = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    return {**found, "metadata": meta}


def with_labels(found: JsonObject) -> JsonObject:
    """Of a namespace or a node: its labels, and whether it ends."""
    return {"metadata": kept(found["metadata"], (*WHOSE, "labels", "deletionTimestamp"))}


def packed_slice(found: JsonObject) -> JsonObject:
    """Of a slice: whose it is, and its devices as text, which is a tenth of their size as objects.

    They are read only when they have changed; with thousands of nodes they would be most of the
    controller's memory.
    """
    spec = found["spec"]
    return {
        "metadata": kept(found["metadata"], WHOSE),
        "spec": kept(spec, ("driver", "nodeName", "pool")),
        "devices": msgspec.json.encode(spec.get("devices") or []),
    }


def unpacked_slice(found: JsonObject) -> JsonObject:
    """The slice with its devices again."""
    devices = msgspec.json.decode(found["devices"])
    return {"metadata": found["metadata"], "spec": {**found["spec"], "devices": devices}}


def slim_claim(found: JsonObject) -> JsonObject:
    """Of a claim: its classes and devices, their networks, its pods, and what its drivers say."""
    devices = found.get("spec", {}).get("devices", {})
    status: dict[str, Any] = found.get("status", {})
    allocation = status.get("allocation")
    own = FROM_ANNOTATION in found["metadata"].get("labels", {})
    slim: JsonObject = {}
    if "reservedFor" in status:
        slim["reservedFor"] = [shared(each) for each in status["reservedFor"]]
    if allocation is not None:
        given = allocation.get("devices", {})
        config = [brief(each) for each in given.get("config", ())]
        results = [shared(kept(each, RESULT)) for each in given.get("results", ())]
        slim["allocation"] = {"devices": {"results": results, "config": config}}
    reports = [
        _report(each) | _data(each.get("data"), own=own) for each in status.get("devices", ())
    ]
    requests = [_request(one) for one in devices.get("requests", ())]
    return {
        "metadata": _own_claim(found["metadata"]) if own else kept(found["metadata"], WHOSE),
        "spec": {"devices": {"requests": requests}},
        "status": {**slim, "devices": reports},
    }


def _own_claim(meta: JsonObject) -> JsonObject:
    """Of a claim with the label of those that are made of annotations: whose it is."""
    annotations = _short(meta.get("annotations") or {}, (POD_CLAIM_ANNOTATION,))
    if (names := (meta.get("annotations") or {}).get(CLAIM_NETWORKS)) is not None:
        annotations[CLAIM_NETWORKS] = names[:NETWORKS_MAX]
    owners = [kept(each, ("name", "uid")) for each in meta.get("ownerReferences", ())[:OWNERS_MAX]]
    return {
        **kept(meta, WHOSE),
        "labels": {FROM_ANNOTATION: ""},
        "annotations": annotations,
        "ownerReferences": owners,
    }


def _report(device: JsonObject) -> JsonObject:
    """Of what a driver reports of a device: its conditions and addresses."""
    slim = shared(kept(device, ("driver", "pool", "device", "shareID", "networkData")))
    if "conditions" in device:
        slim["conditions"] = [shared(each) for each in device["conditions"]]
    return slim


def _request(request: JsonObject) -> JsonObject:
    """Of a request: its classes. Selectors may have 10 KiB each, and are the scheduler's."""
    slim = kept(request, ("name",))
    if (exactly := request.get("exactly")) is not None:
        slim["exactly"] = shared(kept(exactly, ("deviceClassName",)))
    if (alternatives := request.get("firstAvailable")) is not None:
        slim["firstAvailable"] = [kept(one, ("name", "deviceClassName")) for one in alternatives]
    return slim


def _data(data: Any, *, own: bool) -> JsonObject:
    """Of a driver's data: the network, its name servers, and the pods that share the claim.

    Of a claim that was made of an annotation also what is mirrored of its interfaces.
    """
    keys = ("podNetwork", "dns", "pods", *(MIRRORED if own else ()))
    found = kept(data, keys) if isinstance(data, dict) else {}
    return {"data": found} if found else {}


def slim_annotated(found: JsonObject) -> JsonObject:
    """Of a pod with networks by annotation: these, what is reported of them, and its claim."""
    status: dict[str, Any] = found.get("status", {})
    meta = kept(found["metadata"], WHOSE)
    annotations = found["metadata"].get("annotations") or {}
    meta["annotations"] = {}
    if (asked := annotations.get(ANNOTATION)) is not None:
        meta["annotations"][ANNOTATION] = asked[: TEXT_MAX + 1]
    if (reported := annotations.get(STATUS_ANNOTATION)) is not None:
        meta["annotations"][STATUS_ANNOTATION] = brief_status(reported)
    claims = {
        each["name"]: each.get("resourceClaimName", "")
        for each in status.get("resourceClaimStatuses", ())
    }
    ended = status.get("phase") in ("Succeeded", "Failed")
    # The label alone, which anybody may write, asks for nothing.
    asks = any(each["name"] == POD_CLAIM for each in found["spec"].get("resourceClaims", ()))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "claim": claims.get(POD_CLAIM, ""),
        "done": ended or not asks or "deletionTimestamp" in found["metadata"],
    }


def brief_status(text: str) -> str:
    """What is reported of a pod's networks; of a long text, by which it is known again."""
    if len(text) <= THERE_MAX:
        return text
    return f"sha256:{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"


def slim_definition(found: JsonObject) -> JsonObject:
    """Of a NetworkAttachmentDefinition: its configuration."""
    spec = found.get("spec")
    slim = kept(spec, SPELLINGS) if isinstance(spec, dict) else {}
    cut = {
        key: str(value)[: TEXT_MAX + 1] for key, value in slim.items() if len(str(value)) > TEXT_MAX
    }
    return {"metadata": kept(found["metadata"], WHOSE), "spec": {**slim, **cut}}


def slim_template(namespace: str) -> Callable[[JsonObject], JsonObject]:
    """Of a template: of what it was made. Only of one of this namespace that is copied: all."""

    def slim(found: JsonObject) -> JsonObject:
        meta = found["metadata"]
        annotations = meta.get("annotations") or {}
        if COPY_TO in annotations and meta["namespace"] == namespace:
            return {"metadata": kept(meta, META), "spec": found["spec"]}
        owners = [
            kept(each, ("kind", "name", "uid"))
            for each in meta.get("ownerReferences", ())
            if each["name"] == meta["name"]  # as of a network's own
        ]
        return {
            "metadata": {
                **kept(meta, (*WHOSE, "deletionTimestamp")),
                "labels": kept(meta.get("labels") or {}, (LABEL,)),
                "annotations": _short(annotations, (COPY_OF, MADE_OF)),
                "ownerReferences": owners[:OWNERS_MAX],
            },
            "spec": {},
        }

    return slim


def slim_service(found: JsonObject) -> JsonObject:
    """Of a Service that names no network: only that it is there."""
    meta = kept(found["metadata"], META)
    named = NETWORK in meta.get("annotations", {}) or UPSTREAM_NAME in meta.get("labels", {})
    if not named:
        return {"metadata": kept(meta, WHOSE)}
    return {"metadata": meta, "spec": found.get("spec", {})}


def slim_lease(found: JsonObject) -> JsonObject:
    """Of a lease of an address: what the drivers wrote, but not when it was leased anew."""
    spec = shared({key: each for key, each in found["spec"].items() if key != "renewed"})
    meta = kept(found["metadata"], WHOSE)
    if spec.get("address") == meta["name"]:
        meta["name"] = spec["address"]
    return {"metadata": meta, "spec": {**spec, "claim": shared(spec["claim"])}}


def slim_pod(found: JsonObject) -> JsonObject:
    """Of a driver's pod: where it is, and whether it is ready."""
    conditions = found.get("status", {}).get("conditions", ())
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    node = found.get("spec", {}).get("nodeName", "")
    return {"metadata": kept(found["metadata"], WHOSE), "node": node, "ready": ready}


def kept(found: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    """These keys of an object."""
    return {key: found[key] for key in keys if key in found}


def shared(found: JsonObject) -> JsonObject:
    """The same, with texts that many objects have, such as a node's name, there once for all."""
    return {
        key: sys.intern(each) if key in SHARED and type(each) is str else each
        for key, each in found.items()
    }


def _short(found: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    """These keys of an object, if what they say can be what we wrote."""
    return {key: each for key, each in kept(found, keys).items() if len(each) <= SHORT_MAX}
