"""The objects that are made of a network: whose they are, and of what they were made. No I/O."""

import hashlib
from typing import Any, Final

import msgspec

from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.claims.claim import JsonObject
from netclaim.network.pod_network import LABEL, SPEC, owner_of

FINALIZER: Final = "cni.networking.x-k8s.io/in-use"
# At a template: of what it was made. What the server has of it may differ for good: one that does
# not know a field leaves it out, and a later one adds defaults.
MADE_OF: Final = "cni.networking.x-k8s.io/made-of"
CLASS_KIND: Final = "DeviceClass"
TEMPLATE_KIND: Final = "ResourceClaimTemplate"


def owned(wanted: JsonObject, network: PodNetwork) -> JsonObject:
    """An object that goes with a network."""
    meta = {**wanted["metadata"], "ownerReferences": [owner_of(network)]}
    return {**wanted, "metadata": meta}


def over(live: JsonObject, wanted: JsonObject) -> JsonObject:
    """A class with another spec, which its annotation has too."""
    head = {"apiVersion": wanted["apiVersion"], "kind": wanted["kind"]}
    annotations = {**live["metadata"].get("annotations", {}), **wanted["metadata"]["annotations"]}
    meta = {**live["metadata"], "annotations": annotations}
    return {**head, "metadata": meta, "spec": wanted["spec"]}


def text_of(device_class: JsonObject) -> str:
    """The network's spec, as its class has it for the drivers."""
    text: str = device_class["metadata"].get("annotations", {}).get(SPEC, "")
    return text


def marked(wanted: JsonObject) -> JsonObject:
    """A template that says what it was made of."""
    meta = {**wanted["metadata"], "annotations": {MADE_OF: digest_of(wanted["spec"])}}
    return {**wanted, "metadata": meta}


def digest_of(value: Any) -> str:
    """The same short text for the same JSON."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:16]


def placed(wanted: JsonObject, namespace: str) -> JsonObject:
    """The same template in a namespace."""
    return {**wanted, "metadata": {**wanted["metadata"], "namespace": namespace}}


def made_of(live: JsonObject) -> str:
    """What a template was made of; empty if it does not say."""
    digest: str = live["metadata"].get("annotations", {}).get(MADE_OF, "")
    return digest


def network_name(live: JsonObject) -> str:
    """The network that an object says it was made of."""
    name: str = live["metadata"].get("labels", {}).get(LABEL, "")
    return name


def was_made(live: JsonObject) -> bool:
    """Whether an object was made for a network of its name, and not written by a user.

    The chart's admission policy lets the controller delete no others.
    """
    name = live["metadata"]["name"]
    return network_name(live) == name and bool(_owners(live, name))


def is_of(live: JsonObject, network: PodNetwork) -> bool:
    """Whether an object was made for this network, and not for an earlier one of its name."""
    uids = _owners(live, network.name)
    return network_name(live) == network.name and network.metadata.uid in uids


def differ_in_status(before: JsonObject, now: JsonObject) -> bool:
    """Whether two states of a network differ in nothing but the status."""
    version = now["metadata"].get("resourceVersion")
    meta: JsonObject = {**before["metadata"], "resourceVersion": version}
    same: bool = before["spec"] == now["spec"] and meta == now["metadata"]
    return same


def _owners(live: JsonObject, name: str) -> list[str]:
    """The UIDs of the networks of a name that an object says it belongs to."""
    owners = live["metadata"].get("ownerReferences", ())
    return [
        str(each["uid"]) for each in owners if (each["kind"], each["name"]) == ("PodNetwork", name)
    ]
