"""Remember the devices that went into pods, so that they stay published while they are away.

Promise: a link that a claim takes into a pod is known here before it goes, and until the claim is
released; a restart does not forget it. A file is decoded once: they are listed at every change of
a link. Limit: a memory for discovery only. Nothing has to be undone by it: a file that is lost or
damaged costs a device its place in the slice while a pod has it.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import msgspec
import structlog

from netclaim.errors import HostError
from netclaim.model import Device

log = structlog.get_logger(__name__)

_Which: TypeAlias = tuple[int, int]  # inode and time in nanoseconds: each file is written once


class LentDevices:
    """One file for each claim that took devices away, in `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._decoded: dict[str, tuple[_Which, tuple[Device, ...]]] = {}  # by path, as last read

    def keep(self, claim_uid: str, devices: tuple[Device, ...]) -> None:
        """Remember a claim's devices as they are now, in place of what was remembered before."""
        path = self._path(claim_uid)
        draft = path.with_suffix(".draft")
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.encode(devices))
            draft.replace(path)
        except OSError as error:
            raise HostError(f"cannot save the record of a lent device: {error}") from error

    def drop(self, claim_uid: str) -> None:
        """Forget a claim's devices, if any are known."""
        try:
            self._path(claim_uid).unlink(missing_ok=True)
        except OSError as error:
            raise HostError(f"cannot remove the record of a lent device: {error}") from error

    def devices(self) -> tuple[Device, ...]:
        """Every remembered device, in the order of the claims' UIDs."""
        known, self._decoded = self._decoded, {}
        for path, which in sorted(self._files()):
            before = known.get(path)
            content = before[1] if before and before[0] == which else _read(Path(path))
            self._decoded[path] = which, content
        return tuple(device for _, devices in self._decoded.values() for device in devices)

    def _files(self) -> Iterator[tuple[str, _Which]]:
        """Yield the path of each file, and which file it is."""
        with suppress(FileNotFoundError), os.scandir(self._directory) as entries:
            for entry in entries:
                if entry.name.endswith(".json"):
                    with suppress(FileNotFoundError):  # dropped meanwhile
                        found = entry.stat()
                        yield entry.path, (found.st_ino, found.st_mtime_ns)

    def notes(self) -> Mapping[str, float]:
        """The claims that have a note, and when it was written, in seconds since 1970."""
        noted: dict[str, float] = {}
        for path in sorted(self._directory.glob("*.json")):
            with suppress(FileNotFoundError):  # dropped meanwhile
                noted[path.stem] = path.stat().st_mtime
        return noted

    def _path(self, claim_uid: str) -> Path:
        return self._directory / f"{claim_uid}.json"


def _read(path: Path) -> tuple[Device, ...]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=tuple[Device, ...])
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        log.warning("discover.lent_unreadable", path=str(path), error=str(error))
        return ()
