"""What kubelet knows of pods and claims, from its own file: for when nobody else can be asked.

Kubelet writes down which claims it prepares, and which pods use them, before it makes their
sandboxes, also pods that come to a claim which is prepared already. It does not ask for a claim
again while it has it there. Limit: the file is kubelet's own business; where it cannot be read as
expected, nothing is known.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from netclaim.model.prepared import ClaimRef

__all__ = ["KubeletState"]


class _Checkpoint(msgspec.Struct):
    Data: str


class _Claim(msgspec.Struct):
    ClaimUID: str = ""
    ClaimName: str = ""
    Namespace: str = ""
    DriverState: Mapping[str, Any] | None = None  # by the driver's name
    PodUIDs: Mapping[str, Any] | tuple[str, ...] | None = None  # Go's set, or a list


class _Data(msgspec.Struct):
    ClaimInfoStateList: tuple[_Claim, ...] | None = None


class KubeletState:
    """The file, read anew each time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pods_of(self, claim_uid: str) -> Collection[str] | None:
        """The UIDs of the pods that use a claim on this node; None if that cannot be known."""
        claims = self._read()
        if claims is None:
            return None
        return [uid for each in claims if each.ClaimUID == claim_uid for uid in each.PodUIDs or ()]

    def claims_of(self, driver: str) -> Collection[ClaimRef] | None:
        """The claims on a driver's devices on this node; None if they cannot be known."""
        if not self._path.exists():
            return ()  # kubelet has never prepared a claim
        claims = self._read()
        if claims is None:
            return None
        return [
            ClaimRef(uid=each.ClaimUID, namespace=each.Namespace, name=each.ClaimName)
            for each in claims
            if driver in (each.DriverState or ())
        ]

    def _read(self) -> Collection[_Claim] | None:
        try:
            checkpoint = msgspec.json.decode(self._path.read_bytes(), type=_Checkpoint)
            return msgspec.json.decode(checkpoint.Data, type=_Data).ClaimInfoStateList or ()
        except (OSError, msgspec.MsgspecError):
            return None
