"""The claim of a pod that names its networks in an annotation. No I/O.

    a network of the pod's own namespace     a tenant wrote it: its configuration is the claim's,
                                             and the drivers judge it by the namespace's level
    a network of a trusted namespace         an admin wrote it: the claim names the class that its
                                             PodNetwork has, and only chooses what that allows
    a network of any other namespace         is refused

Promise: the claim asks for exactly what the annotation says, in its order; what a claim cannot say
is refused as a whole, with the reason, because a pod must not run with less than it asked for.
Work is bounded: a text that no claim could have is not parsed.
"""

from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from netclaim.controller.annotated.names import (
    ANNOTATION,
    CLAIM_NETWORKS,
    LABEL,
    MADE_FROM,
    POD_CLAIM,
    POD_CLAIM_ANNOTATION,
)
from netclaim.controller.annotated.readings import TEXT_MAX, Readings, ReadNetwork, length_of
from netclaim.convert.multus.annotation import default_ifnames, read_annotation
from netclaim.convert.multus.definition import NetworkKey
from netclaim.convert.multus.workloads import Wanted
from netclaim.convert.places import TextField
from netclaim.convert.written.choices import Choice, choose, ifname_fault
from netclaim.convert.written.network import Network
from netclaim.errors import RequestError
from netclaim.manifests.objects import Object, inside
from netclaim.model.api.own_kinds.pod_network import API_VERSION
from netclaim.model.claims.claim import JsonObject
from netclaim.network.devices.pool_device import address_request
from netclaim.network.devices.shares import BANDWIDTH
from netclaim.network.pod_network import (
    PARAMETERS_KIND,
    class_of,
    parameters_of,
    pool_of_network,
    template_of,
)
from netclaim.paths import Key, show

# Of the configurations of all of a pod's networks: reading a network takes time by its length, and
# other tenants' pods wait meanwhile.
CONFIGS_MAX: Final = 64 * 1024
REQUESTS_MAX: Final = 32  # of a claim, as Kubernetes has it
CLASS_NAME: Final = "cni.networking.x-k8s.io"  # the chart's, for any link of the drivers
NAME_MAX: Final = 200  # of the pod's name in its claim's; a claim's may have 253


@dataclass(frozen=True, slots=True)
class Known:
    """The networks there are."""

    definitions: Mapping[NetworkKey, JsonObject]  # NetworkAttachmentDefinitions
    networks: Mapping[NetworkKey, JsonObject]  # PodNetworks, which have no namespace
    trusted: frozenset[str]  # namespaces whose definitions an admin answers for
    driver: str
    pools: Container[NetworkKey] = ()  # AddressPools, whose addresses the scheduler counts
    readings: Readings = field(default_factory=Readings)

    def read(self, key: NetworkKey) -> ReadNetwork:
        """Return a network; RequestError if the drivers would refuse it."""
        return self.readings.of(key, self.definitions.get(key), self.driver)


def claim_name(pod: JsonObject) -> str:
    """Return the name of a pod's claim; no other pod has it, before or after."""
    meta = pod["metadata"]
    return f"{meta['name'][:NAME_MAX].rstrip('-.')}-networks-{meta['uid'][:8]}"


def is_claim_of(claim: JsonObject, pod: JsonObject) -> bool:
    """Whether a claim with the name of a pod's says that it is the pod's; anybody may write one."""
    meta = claim["metadata"]
    owners = [each["uid"] for each in meta.get("ownerReferences", ())]
    says = inside(claim, ("metadata", "annotations")).get(POD_CLAIM_ANNOTATION)
    return pod["metadata"]["uid"] in owners and says == POD_CLAIM


def claim_of(pod: JsonObject, known: Known) -> JsonObject:
    """Return the claim for the annotation of a pod; RequestError if there can be none."""
    wanted = _read(pod)
    meta = pod["metadata"]
    requests: list[JsonObject] = []
    addresses: list[JsonObject] = []
    configs: list[JsonObject] = []
    networks = _networks(wanted, known)
    for index, key in enumerate(wanted.networks):
        found = networks[key]
        with _about(key):
            request, parameters = _request(wanted, index, found, known)
        name = request_name(index)
        requests.append({"name": name, "exactly": request})
        if ("", pool := pool_of_network(found.pod_network)) in known.pools:
            request = address_request(pool, beside=name)
            addresses.append({**request, "name": f"{name}-{request['name']}"})
        opaque = {"driver": known.driver, "parameters": parameters}
        configs.append({"requests": [name], "opaque": opaque})
    if len(requests) + len(addresses) <= REQUESTS_MAX:
        requests += addresses  # without them, the scheduler does not know, and all else is the same
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": claim_name(pod),
            "namespace": meta["namespace"],
            "labels": {LABEL: "true"},
            "annotations": {
                POD_CLAIM_ANNOTATION: POD_CLAIM,
                CLAIM_NETWORKS: ",".join(map("/".join, wanted.networks)),
            },
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {"devices": {"requests": requests, "config": configs}},
    }


@contextmanager
def _about(key: NetworkKey) -> Iterator[None]:
    """Say of mistakes which network they are in."""
    try:
        yield
    except RequestError as error:
        raise RequestError(f"network {'/'.join(key)}: {error}") from error


def _networks(wanted: Wanted, known: Known) -> dict[NetworkKey, ReadNetwork]:
    """Return the networks that a pod names, each read once."""
    found: dict[NetworkKey, ReadNetwork] = {}
    length = 0
    for key in dict.fromkeys(wanted.networks):
        with _about(key):
            _check_namespace(key, wanted.one.namespace, known)
            length += length_of(known.definitions.get(key, {}))
            if length > CONFIGS_MAX:
                raise RequestError(
                    "its configuration and those of the networks before it have more than"
                    f" {CONFIGS_MAX} characters"
                )
            found[key] = known.read(key)
    return found


def request_name(index: int) -> str:
    """Return the name of the request for a network; an interface's may not be one."""
    return f"net-{index + 1}"


def _read(pod: JsonObject) -> Wanted:
    text = pod["metadata"].get("annotations", {}).get(ANNOTATION, "")
    if len(text) > TEXT_MAX:
        raise RequestError(f"the annotation has more than {TEXT_MAX} characters")
    try:
        selections = read_annotation(text)
    except RequestError as error:
        raise RequestError(f"the annotation{_place(error)} {error.message}") from error
    one = Object(pod, pod)
    field = TextField(one, ("metadata", "annotations", Key(ANNOTATION)))
    wanted = Wanted(one, field, selections, default_ifnames(selections))
    for index, selection in enumerate(selections):
        if fault := ifname_fault(wanted, index):
            raise RequestError(f"network {selection.name}: interface {fault}")
    return wanted


def _request(
    wanted: Wanted, index: int, read: ReadNetwork, known: Known
) -> tuple[JsonObject, JsonObject]:
    """Return the request for a network, and the claim's parameters for it."""
    key = wanted.networks[index]
    network, found = read.network, read.pod_network
    choice = _choice(wanted, index, network)
    chosen: JsonObject = {"apiVersion": API_VERSION, "kind": PARAMETERS_KIND}
    chosen |= {**choice.parameters, "ifName": wanted.ifnames[index]}
    exactly: JsonObject = template_of(found, "")["spec"]["spec"]["devices"]["requests"][0][
        "exactly"
    ]
    if choice.bandwidth:
        asked = exactly.setdefault("capacity", {}).setdefault("requests", {})
        exactly["capacity"]["requests"] = {**asked, BANDWIDTH: choice.bandwidth}
    if key[0] in known.trusted:
        _check_made(key, network.name, known)
        return exactly, chosen
    selectors = class_of(found, known.driver)["spec"]["selectors"]
    config = parameters_of(found)["config"]
    return {**exactly, "deviceClassName": CLASS_NAME, "selectors": selectors}, {
        **chosen,
        "config": config,
    }


def _check_namespace(key: NetworkKey, own: str, known: Known) -> None:
    if key[0] != own and key[0] not in known.trusted:
        raise RequestError(
            "it is of another namespace, which netclaim's admin does not trust for networks; copy"
            f" it into {own}, or add {key[0]} to the controller's --network-namespaces"
        )


def _choice(wanted: Wanted, index: int, network: Network) -> Choice:
    """Return what a pod chooses; RequestError for what a claim cannot say."""
    choice = choose(wanted, index, network)
    for remark in choice.remarks:
        if remark.lost:
            key = remark.path.removeprefix(wanted.text.show())
            raise RequestError(f"{key.lstrip('.')}: {remark.text}")
    return choice


def _check_made(key: NetworkKey, name: str, known: Known) -> None:
    """Refuse a trusted network whose PodNetwork is missing, or another one of its name."""
    found = known.networks.get(("", name), {})
    made_from = inside(found, ("metadata", "annotations")).get(MADE_FROM)
    if made_from != "/".join(key):
        raise RequestError(
            f"it has no PodNetwork {name} yet; if that stays so, an event at the network says why"
        )


def _place(error: RequestError) -> str:
    return f", {show(error.path)}" if error.path else ""
