"""CDI specifications: how a container gets what a plan's edits say.

Promise: there is one file for each claim, which is whole whenever it is there, and named by the
claim, so that releasing it needs nothing else. Writing again replaces it, since the directory does
not survive a reboot. The claim's metadata files, if the driver wants them, come and go with it.
Limit: a file has environment, device nodes and mounts, and one hook for all; only containers that
name the claim get any of it.
"""

import asyncio
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final, Protocol

import msgspec

from netclaim.errors import HostError
from netclaim.model.claims.claim import AllocatedDevice, DeviceKey, JsonObject
from netclaim.model.on_node.plan import ContainerEdits, Mount, Prepared
from netclaim.nri import ContainerHook

WRITTEN_ANEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
CDI_VERSION: Final = "0.5.0"  # the first in which a device's name may begin with a digit


class Metadata(Protocol):
    """The files about a claim's devices, which are mounted into containers.

    `strays` are the files of all claims but these, by UID, that were last written before this time.
    """

    def write(self, prepared: Prepared, pod_claim_name: str) -> Mapping[DeviceKey, Mount]: ...
    def remove(self, claim_uid: str) -> None: ...
    def strays(self, claims: Collection[str], *, before: float) -> Mapping[str, Path]: ...


class CdiDirectory:
    """One driver's files in the directory that the runtime reads."""

    def __init__(
        self,
        directory: Path,
        driver: str,
        metadata: Metadata,
        hook: ContainerHook | None = None,
    ) -> None:
        """`hook` runs before every container that names a claim of the driver.

        `metadata` is what such a container can read about the claim's devices.
        """
        self._directory = directory
        self._driver = driver
        self._hook = hook
        self._metadata = metadata
        self._kind = f"{driver}/claim"

    async def write(self, prepared: Prepared, pod_claim_name: str) -> Mapping[DeviceKey, str]:
        """Write a claim's file; returns the CDI ids of the devices that are in it."""
        about = self._metadata.write(prepared, pod_claim_name)
        edits = [
            (plan.device, _edits(plan.edits, self._hook, about.get(plan.device.key)))
            for plan in prepared.plans
            if plan.edits is not None or self._hook is not None or about
        ]
        if not edits:
            return {}
        uid = prepared.claim.uid
        spec = {
            "cdiVersion": CDI_VERSION,
            "kind": self._kind,
            "devices": [
                {"name": _name(uid, device), "containerEdits": edit} for device, edit in edits
            ],
        }
        await asyncio.to_thread(replace_file, self._path(uid), msgspec.json.encode(spec))
        return {device.key: f"{self._kind}={_name(uid, device)}" for device, _ in edits}

    async def remove(self, claim_uid: str) -> None:
        self._metadata.remove(claim_uid)
        path = self._path(claim_uid)
        try:
            await asyncio.to_thread(path.unlink, missing_ok=True)
        except OSError as error:
            raise HostError(f"cannot remove {path}: {error}") from error

    async def strays(self, claims: Collection[str], *, before: float) -> Mapping[str, Path]:
        """The driver's files of all claims but these, by UID, last written before this time."""
        return await asyncio.to_thread(self._strays, claims, before)

    def _strays(self, claims: Collection[str], before: float) -> Mapping[str, Path]:
        prefix = f"{self._driver}_"
        try:
            found = {
                path.name.removeprefix(prefix).removesuffix(".json"): path
                for path in self._directory.glob(f"{prefix}*.json")
                if path.stat().st_mtime < before
            }
        except OSError as error:
            raise HostError(f"cannot read {self._directory}: {error}") from error
        about = self._metadata.strays(claims, before=before)
        return {**about, **{uid: path for uid, path in found.items() if uid not in claims}}

    def _path(self, claim_uid: str) -> Path:
        return self._directory / f"{self._driver}_{claim_uid}.json"


def replace_file(path: Path, content: bytes, mode: int | None = None) -> os.stat_result:
    """Put a whole new file at a path; a container that has the old one open keeps that.

    Returns what the system says of the new one.
    """
    unfinished = path.with_suffix(".tmp")  # the runtime looks at .json and .yaml
    try:
        try:
            descriptor = os.open(unfinished, WRITTEN_ANEW, 0o666)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(unfinished, WRITTEN_ANEW, 0o666)
        try:
            while content:
                content = content[os.write(descriptor, content) :]
            if mode is not None:
                os.fchmod(descriptor, mode)
            made = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        unfinished.rename(path)
    except OSError as error:
        raise HostError(f"cannot write {path}: {error}") from error
    return made


def _name(claim_uid: str, device: AllocatedDevice) -> str:
    return "-".join(filter(None, (claim_uid, device.device, device.share_id)))


def _edits(
    given: ContainerEdits | None, hook: ContainerHook | None, about: Mount | None
) -> JsonObject:
    edits = given or ContainerEdits()
    mounts = edits.mounts if about is None else (*edits.mounts, about)
    listed: JsonObject = {
        "env": [f"{name}={value}" for name, value in edits.env.items()],
        "deviceNodes": [
            {
                "path": node.path,
                "hostPath": node.host_path or node.path,
                "permissions": node.permissions,
            }
            for node in edits.device_nodes
        ],
        "mounts": [
            {
                "hostPath": mount.host_path,
                "containerPath": mount.container_path,
                "options": list(mount.options),
            }
            for mount in mounts
        ],
        "hooks": [_hook(hook)] if hook is not None else [],
    }
    return {key: value for key, value in listed.items() if value}


def _hook(hook: ContainerHook) -> JsonObject:
    return {
        "hookName": "createRuntime",
        "path": hook.path,
        "args": list(hook.args),
        "timeout": hook.timeout_s,
    }
