"""What kubelet knows of pods and claims, from its own file: for when the API server is away.

Kubelet writes down which pods use a claim before it makes their sandboxes, also those that come to
a claim which is prepared already. Limit: the file is kubelet's own business; where it cannot be
read as expected, nothing is known.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["KubeletState"]


class _Checkpoint(msgspec.Struct):
    Data: str


class _Claim(msgspec.Struct):
    ClaimUID: str = ""
    PodUIDs: Mapping[str, Any] | tuple[str, ...] | None = None  # Go's set, or a list


class _Data(msgspec.Struct):
    ClaimInfoStateList: tuple[_Claim, ...] | None = None


class KubeletState:
    """The file, read anew each time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pods_of(self, claim_uid: str) -> Collection[str] | None:
        """The UIDs of the pods that use a claim on this node; None if that cannot be known."""
        try:
            checkpoint = msgspec.json.decode(self._path.read_bytes(), type=_Checkpoint)
            claims = msgspec.json.decode(checkpoint.Data, type=_Data).ClaimInfoStateList or ()
        except (OSError, msgspec.MsgspecError):
            return None
        return [uid for each in claims if each.ClaimUID == claim_uid for uid in each.PodUIDs or ()]
