"""Device metadata: what a container can read about the devices of a claim that it names (KEP-5304).

One file for each request of a claim, which CDI mounts read-only under a path that can be known when
the pod is written. It holds the devices with the attributes that they had when the claim was
prepared and, once they are attached, their interfaces: an object for each version of the format,
newest first.

Promise: complete before the first container is created; never half written; what it says of an
interface is true for every pod that has the claim. Limit: a container keeps the file as it was when
the container was created. Of a claim that several pods of the node use, it says what they have in
common, which is the interface's name as a rule.
"""

import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog

from netclaim.errors import HostError
from netclaim.framework.journal.journal import Journal
from netclaim.framework.prepare.cdi import replace_file
from netclaim.model.api.dra.device_json import device_json
from netclaim.model.api.dra.interface_data import network_data
from netclaim.model.claims.claim import AllocatedDevice, DeviceKey, JsonObject
from netclaim.model.devices.device import Device
from netclaim.model.on_node.plan import Mount, Prepared
from netclaim.model.on_node.prepared import ClaimRef

log = structlog.get_logger()

# Of the API group metadata.resource.k8s.io, newest first: of Kubernetes 1.37 and 1.36, same fields.
VERSIONS: Final = ("v1beta1", "v1alpha1")
IN_CONTAINERS: Final = Path("/var/run/kubernetes.io/dra-device-attributes")
READABLE: Final = 0o644  # a container's user may be anyone


@dataclass(frozen=True, slots=True)
class _Content:
    """What a file says, and how often that has changed; 0 if there is none.

    `file` is which one it was: its number, time and size.
    """

    generation: int = 0
    body: JsonObject = field(default_factory=dict)
    file: tuple[int, int, int] = (0, 0, 0)

    def attributes(self) -> Mapping[str, JsonObject]:
        """The attributes by device, as they were when the claim was prepared."""
        return {
            device["name"]: device.get("attributes", {})
            for request in self.body.get("requests", ())
            for device in request.get("devices", ())
        }


class MetadataFiles:
    """One driver's files. They outlive the driver: a container is restarted with its file."""

    def __init__(self, directory: Path, driver: str, journal: Journal, *, wanted: bool) -> None:
        """Unless they are `wanted`, no files are written, but old ones are still removed."""
        self._directory = directory
        self._driver = driver
        self._journal = journal
        self._wanted = wanted
        self._attributes: dict[str, JsonObject] = {}  # by device, as last offered
        self._written: dict[str, dict[Path, _Content]] = {}  # by claim
        self._begun = False  # whether what an earlier process left was looked at

    def note_offered(self, devices: Iterable[Device]) -> None:
        """Learn the node's devices.

        The first call also writes files again that were lost while the driver was away: a container
        cannot be restarted without its own.
        """
        self._attributes = {d.name: device_json(d).get("attributes", {}) for d in devices}
        if not self._begun:
            self._begun = True
            for claim_uid in tuple(self._journal.bookings):
                self._try_refresh(claim_uid)

    def _try_refresh(self, claim_uid: str) -> None:
        try:
            self.refresh(claim_uid)
        except HostError as error:
            log.warning("metadata.failed", error=str(error))

    def write(self, prepared: Prepared, pod_claim_name: str) -> Mapping[DeviceKey, Mount]:
        """Write a claim's files with its interfaces as the journal has them; returns the mounts.

        A file whose content has not changed is left alone.
        """
        if not self._wanted:
            return {}
        claim, network = prepared.claim, self._networks(prepared.claim.uid)
        mounts: dict[DeviceKey, Mount] = {}
        for request in dict.fromkeys(plan.device.base_request for plan in prepared.plans):
            devices = [p.device for p in prepared.plans if p.device.base_request == request]
            path = self._directory / claim.uid / f"{request}.json"
            self._write(path, claim, pod_claim_name, devices, network)
            inside = self._container_path(claim, pod_claim_name, request)
            mount = Mount(str(path), str(inside), ("ro", "nosuid", "nodev", "noexec", "bind"))
            mounts |= {device.key: mount for device in devices}
        return mounts

    def refresh(self, claim_uid: str) -> None:
        """Bring a prepared claim's files in line with its interfaces; none for one that is ending.

        Its files may have been removed already, while the journal still has it.
        """
        booking = self._journal.bookings.get(claim_uid)
        if booking is not None and booking.prepared is not None and booking.is_planned:
            self.write(booking.prepared, booking.pod_claim_name)

    def remove(self, claim_uid: str) -> None:
        directory, written = self._directory / claim_uid, self._written.pop(claim_uid, {})
        try:
            if not _is_removed(directory, written):
                shutil.rmtree(directory)
        except FileNotFoundError:
            return
        except OSError as error:
            raise HostError(f"cannot remove {directory}: {error}") from error

    def strays(self, claims: Collection[str], *, before: float) -> Mapping[str, Path]:
        """The directories of all claims but these, by UID, last written before this time."""
        try:
            found = {p.name: p for p in self._directory.iterdir() if p.stat().st_mtime < before}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise HostError(f"cannot read {self._directory}: {error}") from error
        return {uid: path for uid, path in found.items() if uid not in claims}

    def _networks(self, claim_uid: str) -> Mapping[DeviceKey, JsonObject]:
        """What is true of each device's interfaces in all sandboxes of this node."""
        common: dict[DeviceKey, JsonObject] = {}
        for lease in self._journal.leases_of_claim(claim_uid):
            if lease.done:
                key = lease.attachment.plan.device.key
                here = network_data(lease.attachment.interface)
                before = common.get(key, here)
                common[key] = {k: v for k, v in before.items() if here.get(k) == v}
        return common

    def _container_path(self, claim: ClaimRef, pod_claim_name: str, request: str) -> Path:
        """The path that KEP-5304 prescribes; a claim from a template is named as in its pod."""
        place = (
            Path("resourceclaimtemplates", pod_claim_name)
            if pod_claim_name
            else Path("resourceclaims", claim.name)
        )
        return IN_CONTAINERS / place / request / f"{self._driver}-metadata.json"

    def _write(
        self,
        path: Path,
        claim: ClaimRef,
        pod_claim_name: str,
        devices: list[AllocatedDevice],
        network: Mapping[DeviceKey, JsonObject],
    ) -> None:
        written = self._written.setdefault(claim.uid, {})
        before = written.get(path)
        if before is None or before.file != _file_at(path):
            before = _read(path)
        known = before.attributes()
        entries = [
            _entry(device, known.get(device.device) or self._attributes.get(device.device, {}))
            | ({"networkData": network[device.key]} if network.get(device.key) else {})
            for device in devices
        ]
        body: JsonObject = {
            **({"podClaimName": pod_claim_name} if pod_claim_name else {}),
            "requests": [{"name": devices[0].request, "devices": entries}],
        }
        if before.generation and before.body == body:
            return
        generation = before.generation + 1
        meta = {"name": claim.name, "namespace": claim.namespace, "uid": claim.uid}
        numbered = {"metadata": meta | {"generation": generation}, **body}
        objects = [_object(version, numbered) for version in VERSIONS]
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in objects)
        made = replace_file(path, lines, READABLE)
        written[path] = _Content(generation, body, _which(made))


def _entry(device: AllocatedDevice, attributes: JsonObject) -> JsonObject:
    entry: JsonObject = {"driver": device.driver, "pool": device.pool, "name": device.device}
    return entry | ({"attributes": attributes} if attributes else {})


def _object(version: str, body: JsonObject) -> JsonObject:
    head = {"apiVersion": f"metadata.resource.k8s.io/{version}", "kind": "DeviceMetadata"}
    return head | body


def _read(path: Path) -> _Content:
    """What the first object of a file says; nothing if there is none that can be read."""
    try:
        first: Any = msgspec.json.decode(path.read_bytes().partition(b"\n")[0])
    except FileNotFoundError:
        return _Content()
    except (OSError, msgspec.DecodeError) as error:
        log.warning("metadata.unreadable", path=str(path), error=str(error))
        return _Content()
    if not isinstance(first, dict):
        return _Content()
    body = {key: first[key] for key in ("podClaimName", "requests") if key in first}
    return _Content(first.get("metadata", {}).get("generation", 0), body)


def _file_at(path: Path) -> tuple[int, int, int] | None:
    """Which file is at a path; None if there is none."""
    try:
        return _which(path.stat())
    except OSError:
        return None


def _which(found: os.stat_result) -> tuple[int, int, int]:
    return (found.st_ino, found.st_mtime_ns, found.st_size)


def _is_removed(directory: Path, files: Iterable[Path]) -> bool:
    """Remove a directory with these files; whether that was all there is in it."""
    try:
        for path in files:
            path.unlink()
        directory.rmdir()
    except OSError:  # there is something else, or nothing
        return False
    return True
