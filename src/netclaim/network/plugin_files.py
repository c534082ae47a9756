"""Where plugins keep files for claims: a directory of the driver's own, apart for each namespace.

    ROOT/namespace/NAMESPACE/leases/NETWORK/…    of networks that claims write themselves
    ROOT/class/leases/NETWORK/…                  of networks that classes write
    …/tuning/…                                   how links were before they were tuned

So a claim cannot use up, or take over, the addresses of another namespace's network or of an
admin's by giving its own the same name; and no file of the node is in its reach.
Promise: what is kept is bounded by what is in use: a claim can name a new network every time, and
of a namespace that has many those that nobody uses are forgotten, some at a time. Leases of
sandboxes that are gone are found by `leftovers`. Limit: what else namespaces that are gone had
stays, a few small files each. What another process keeps elsewhere, as the primary network does, is
not looked at.
"""

import errno
import fcntl
import os
from bisect import bisect_right
from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import Final

from netclaim.errors import HostError

LOCK: Final = "lock"  # of a store, as host-local has it
# Networks of one namespace on one node that are kept without being looked at.
UNUSED_MAX: Final = 64
# Networks that one call looks at, which takes 3 ms: twice as many as a claim can name, so that
# networks are forgotten sooner than new ones come, and at most half of those that are kept are
# unused.
LOOKED_AT: Final = 64
# Of a store that somebody else has just forgotten, or just begun to use.
MEANWHILE: Final = frozenset({errno.ENOENT, errno.ENOTEMPTY})


class PluginFiles:
    """The directories below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._next: dict[str, str] = {}  # by namespace: the network that was looked at last

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

    def are_many(self, namespace: str) -> bool:
        """Whether a namespace has so many networks that some are to be forgotten by `tidy`.

        Reads as many names as it takes to say so.
        """
        try:
            with os.scandir(self._leases(namespace)) as entries:
                return sum(1 for _ in islice(entries, UNUSED_MAX + 1)) > UNUSED_MAX
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unmanageable(error) from error

    def make_root(self) -> None:
        """Make the directory of them all, for nobody else to read. A second call does nothing."""
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _unmanageable(error) from error

    def tidy(self, namespace: str, networks: Collection[str]) -> None:
        """Forget some networks that a namespace used to have, if there are many, but for these.

        Looks at LOOKED_AT of them, and at the next call at those that come next. Blocks for
        milliseconds; may be called in any thread, also by several at a time.
        """
        leases = self._leases(namespace)
        try:
            for name in self._due(namespace, _names(leases), networks):
                _forget_unused(leases / name)
        except OSError as error:
            raise _unmanageable(error) from error

    def _leases(self, namespace: str) -> Path:
        return self._root / "namespace" / namespace / "leases"

    def _due(self, namespace: str, there: list[str], networks: Collection[str]) -> list[str]:
        """The networks whose turn it is; after the last one it is the first one's."""
        last = self._next.pop(namespace, "")
        if len(there) <= UNUSED_MAX:
            return []
        there = sorted(set(there) - set(networks))
        begin = bisect_right(there, last)
        due = [*there[begin:], *there[:begin]][:LOOKED_AT]
        if due:
            self._next[namespace] = due[-1]
        return due


def _names(path: Path) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries]
    except FileNotFoundError:
        return []


def _directories(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as entries:
            found = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unmanageable(error) from error
    return [path / name for name in sorted(found)]


def _forget_unused(network: Path) -> None:
    """Remove a network's store unless it has leases, or somebody is at it."""
    try:
        if not network.is_symlink() and network.is_dir():
            _forget_unless_held(network)
    except OSError as error:
        if error.errno not in MEANWHILE:
            raise


def _forget_unless_held(network: Path) -> None:
    lock = os.open(network / LOCK, os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_nlink == 0:  # forgotten meanwhile; what is there now has another lock
            return
        kept: list[Path] = []
        for path in network.iterdir():
            if path.name != LOCK and not _is_round(path.name):
                return
            kept.append(path)
        for path in kept:
            path.unlink()
        network.rmdir()
    except BlockingIOError:
        return
    finally:
        os.close(lock)


def _is_round(name: str) -> bool:
    """Whether a file only says where the next round of addresses begins."""
    return name.startswith("last_reserved_ip.")


def _unmanageable(error: OSError) -> HostError:
    return HostError(f"cannot manage the files of networks: {error}")
