"""What kubelet knows of pods and claims, from its own file, for when nobody else can be asked.

Kubelet records which claims it prepares, and which pods use them, before it makes their sandboxes,
including pods that are added to a claim which is already prepared. It does not ask for a claim
again while it is recorded. Limit: the format is kubelet's own; if the file cannot be read as
expected, nothing is known.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from netclaim.model.on_node.prepared import ClaimRef


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
    """The file, read anew at each call."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def users(self) -> Mapping[str, Collection[str]] | None:
        """The UIDs of the pods that use each claim on this node, by UID; None if unknown."""
        claims = self._read()
        if claims is None:
            return None
        return {each.ClaimUID: tuple(each.PodUIDs or ()) for each in claims}

    def claims_of(self, driver: str) -> Collection[ClaimRef] | None:
        """The claims that have devices of a driver on this node; None if unknown."""
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
