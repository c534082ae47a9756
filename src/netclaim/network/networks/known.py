"""Which PodNetworks the cluster has: learned from their classes, kept for the driver's next start.

The controller keeps a DeviceClass for each network that new pods can use, with the network in an
annotation. A class changes only when its network does, while the status of a PodNetwork changes
with every pod: all nodes would hear of that.

Promise: a driver that starts offers the networks that it offered before, and learns what has
changed meanwhile as soon as the API server answers; `listed` says whether it has. A network that
was switched off or deleted is remembered for claims that have it, which kubelet may want prepared
again after a reboot. `learn` may be called in any thread. Limit: of such networks the last ones are
remembered; one that cannot be read is logged and counts as not there.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
import structlog

from netclaim.model.api.base import ObjectError
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.claims.claim import JsonObject
from netclaim.network.devices.network_device import is_device_of
from netclaim.network.pod_network import network_of

log = structlog.get_logger(__name__)

GONE_KEPT: Final = 128  # a few kilobytes each; a network is not given up every day


class _Kept(msgspec.Struct, frozen=True):
    """What is known, as the file has it; the networks that went last are the last."""

    there: tuple[PodNetwork, ...] = ()
    gone: tuple[PodNetwork, ...] = ()


class KnownNetworks:
    """The networks, kept in the file `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = self._saved = _load(path)
        self.listed = False  # by the API server since the start

    def learn(self, classes: Iterable[JsonObject]) -> bool:
        """Replace what is known; returns whether anything is another than before."""
        self.listed = True
        now = {network.name: network for network in _read(classes)}
        before = {network.name: network for network in self._kept.there}
        if now == before:
            return False
        # The same object for the same network: what was made of it is still good.
        same = {name: before[name] for name in now if before.get(name) == now[name]}
        gone = [each for each in self._kept.gone if each.name not in now]
        left = [each for name, each in before.items() if name not in now]
        self._kept = _Kept(tuple({**now, **same}.values()), (*gone, *left)[-GONE_KEPT:])
        return True

    @property
    def is_unsaved(self) -> bool:
        """Whether there is something to keep for the next start."""
        return self._kept is not self._saved

    def save(self) -> None:
        """Keep what is known for the next start, if it has changed. Blocks."""
        kept = self._kept
        if kept is self._saved:
            return
        draft = self._path.with_suffix(".draft")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.encode(kept))
            draft.replace(self._path)
        except OSError as error:  # the next start learns them from the API server
            log.warning("networks.not_kept", path=str(self._path), error=str(error))
        self._saved = kept

    def offered(self) -> tuple[PodNetwork, ...]:
        """The networks that new pods can use."""
        return self._kept.there

    def of_device(self, device: str) -> PodNetwork | None:
        """The network whose device this is, or was."""
        all_ = (*self._kept.there, *reversed(self._kept.gone))
        return next((each for each in all_ if is_device_of(each.name, device)), None)

    def named(self, name: str) -> PodNetwork | None:
        """The network of this name, also one that new pods cannot use any more."""
        all_ = (*self._kept.there, *reversed(self._kept.gone))
        return next((each for each in all_ if each.name == name), None)

    @property
    def reads_labels(self) -> bool:
        """Whether the links of networks may change with the node's labels."""
        return any(each.spec.parent.overrides for each in self._kept.there)


def _read(classes: Iterable[JsonObject]) -> Iterable[PodNetwork]:
    for found in sorted(classes, key=lambda each: str(each["metadata"]["name"])):
        try:
            network = network_of(found)
        except ObjectError as error:
            name = found["metadata"]["name"]
            log.warning("networks.unreadable", network=name, error=str(error))
            continue
        if network is not None:
            yield network


def _load(path: Path) -> _Kept:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Kept)
    except FileNotFoundError:
        return _Kept()
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        log.warning("networks.not_kept", path=str(path), error=str(error))
        return _Kept()
