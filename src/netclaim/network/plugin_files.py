"""Where plugins keep files for claims: a directory of the driver's own, apart for each namespace.

    ROOT/namespace/NAMESPACE/leases/NETWORK/…    of networks that claims write themselves
    ROOT/class/leases/NETWORK/…                  of networks that classes write
    …/tuning/…                                   how links were before they were tuned

So a claim cannot use up, or take over, the addresses of another namespace's network or of an
admin's by giving its own the same name; and no file of the node is in its reach.
Promise: what is kept is bounded by what is in use: a claim can name a new network every time, and
of a namespace that has many those that nobody uses are forgotten. Leases of sandboxes that are gone
are found by `leftovers`. Limit: what else namespaces that are gone had stays, a few small files
each. What another process keeps elsewhere, as the primary network does, is not looked at.
"""

import fcntl
import os
from pathlib import Path
from typing import Final

from netclaim.errors import HostError

LOCK: Final = "lock"  # of a store, as host-local has it
# Networks of one namespace on one node that are kept without being looked at.
UNUSED_MAX: Final = 64


class PluginFiles:
    """The directories below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def directory(self, namespace: str, *, trusted: bool) -> str:
        """Where the plugins of a network keep their files; `trusted`: a class wrote the network."""
        if trusted:
            return str(self._root / "class")
        return str(self._root / "namespace" / namespace)

    def stores(self) -> tuple[Path, ...]:
        """The directories of networks that have, or had, leases."""
        return tuple(each for kept in self._kept("leases") for each in _directories(kept))

    def network_of(self, store: Path) -> str:
        """What the network of a store is called: NAMESPACE/NETWORK, or NETWORK for a class's."""
        owner = store.parent.parent
        trusted = owner == self._root / "class"
        return store.name if trusted else f"{owner.name}/{store.name}"

    def tunings(self) -> tuple[Path, ...]:
        """The directories in which links' earlier settings are."""
        return self._kept("tuning")

    def _kept(self, sort: str) -> tuple[Path, ...]:
        """All directories of a sort; none that a symbolic link leads to."""
        owners = [self._root / "class", *_directories(self._root / "namespace")]
        return tuple(kept for owner in owners for kept in _directories(owner) if kept.name == sort)

    def tidy(self, namespace: str, network: str) -> None:
        """Forget networks that a namespace used to have, if there are many, but for one."""
        leases = self._root / "namespace" / namespace / "leases"
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            there = [path for path in leases.iterdir() if path.is_dir()] if leases.exists() else []
            if len(there) > UNUSED_MAX:
                for path in there:
                    if path.name != network:
                        _forget_unused(path)
        except OSError as error:
            raise HostError(f"cannot manage the files of networks: {error}") from error


def _directories(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as entries:
            found = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise HostError(f"cannot manage the files of networks: {error}") from error
    return [path / name for name in sorted(found)]


def _forget_unused(network: Path) -> None:
    """Remove a network's store unless it has leases, or somebody is at it."""
    lock = os.open(network / LOCK, os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        kept = [path for path in network.iterdir() if path.name == LOCK or _is_round(path)]
        if len(kept) == sum(1 for _ in network.iterdir()):
            for path in kept:
                path.unlink()
            network.rmdir()
    except BlockingIOError:
        return
    finally:
        os.close(lock)


def _is_round(path: Path) -> bool:
    """Whether a file only says where the next round of addresses begins."""
    return path.name.startswith("last_reserved_ip.")
