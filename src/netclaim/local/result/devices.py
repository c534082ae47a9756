"""The devices without an interface that a pod got, and what its containers get with them.

A driver answers kubelet with CDI ids, and writes what they stand for into the node's CDI directory,
where a container runtime reads it; so does this. Promise: what is listed is what a container that
names the request would get. Limit: hooks are left out, since they are for the runtime.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from netclaim.local.api.store import Store
from netclaim.local.node.claims import EXTENDED, ClaimNotReadyError, claim_names
from netclaim.local.result.given import GivenDevice
from netclaim.local.result.outcome import PodOutcome
from netclaim.model.api.base import JsonObject
from netclaim.model.api.dra.claim import DeviceResult, ResourceClaim
from netclaim.model.on_node.prepared import PreparedDevice
from netclaim.schema.kinds import CLAIM, POD

CONTAINERS: Final = ("initContainers", "containers")


class Place(Protocol):
    """Where a node's files are."""

    @property
    def cdi_dir(self) -> Path: ...


class Answers(Protocol):
    """What drivers answered when claims were prepared."""

    def given(self, claim_uid: str) -> Sequence[PreparedDevice]: ...


def with_devices(
    found: Sequence[PodOutcome],
    store: Store,
    nodes: Mapping[str, tuple[Place, Answers]],
    drivers: Collection[str],
) -> tuple[PodOutcome, ...]:
    """Return the outcomes, with the devices of these drivers."""
    if not drivers:
        return tuple(found)
    specs = {name: _specs(place.cdi_dir) for name, (place, _) in nodes.items()}
    listed = []
    for outcome in found:
        pod = store.get(POD, outcome.name, outcome.namespace)
        if pod is not None and outcome.node in nodes:
            node = outcome.node
            devices = tuple(_devices(pod, store, nodes[node][1], specs[node], drivers))
            listed.append(replace(outcome, devices=devices))
        else:
            listed.append(outcome)
    return tuple(listed)


def _devices(
    pod: JsonObject,
    store: Store,
    answers: Answers,
    specs: Mapping[str, JsonObject],
    drivers: Collection[str],
) -> Iterator[GivenDevice]:
    try:
        names = claim_names(pod)
    except ClaimNotReadyError:
        return
    for in_pod, name in names.items():
        obj = store.get(CLAIM, name, pod["metadata"]["namespace"])
        claim = ResourceClaim.read(obj) if obj is not None else None
        if claim is None:
            continue
        prepared = answers.given(claim.metadata.uid)
        for result in claim.status.node_results:
            if result.driver in drivers:
                request = result.request.partition("/")[0]
                given = GivenDevice(
                    result.device, result.driver, request, name, _named(pod, in_pod, request)
                )
                ids = [
                    one for each in prepared if _is_of(each, result) for one in each.cdi_device_ids
                ]
                yield _edited(given, [specs[one] for one in ids if one in specs])


def _is_of(prepared: PreparedDevice, result: DeviceResult) -> bool:
    return (prepared.pool_name, prepared.device_name, prepared.share_id or "") == result.key


def _named(pod: JsonObject, claim: str, request: str) -> tuple[str, ...]:
    """Return the containers that name a claim of the pod: all of it, or this request."""
    if claim == EXTENDED:
        mappings = pod["status"]["extendedResourceClaimStatus"]["requestMappings"]
        return tuple(one["containerName"] for one in mappings if one["requestName"] == request)
    return tuple(
        container["name"]
        for sort in CONTAINERS
        for container in pod["spec"].get(sort, ())
        for one in container.get("resources", {}).get("claims", ())
        if one["name"] == claim and one.get("request", request) == request
    )


def _edited(given: GivenDevice, edits: Sequence[JsonObject]) -> GivenDevice:
    return replace(
        given,
        env=tuple(text for one in edits for text in one.get("env", ())),
        device_nodes=tuple(node["path"] for one in edits for node in one.get("deviceNodes", ())),
        mounts=tuple(each["containerPath"] for one in edits for each in one.get("mounts", ())),
    )


def _specs(directory: Path) -> dict[str, Any]:
    """Return the edits of all devices that a node's CDI directory has, by their ids."""
    found = {}
    for path in sorted(directory.glob("*.json")):
        spec = msgspec.json.decode(path.read_bytes())
        for device in spec["devices"]:
            found[f"{spec['kind']}={device['name']}"] = device["containerEdits"]
    return found
