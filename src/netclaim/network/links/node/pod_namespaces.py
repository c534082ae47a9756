"""The pods' network namespaces, by the numbers with which links of the node refer to them.

Promise: asks the kernel once for each namespace, however often the node's links change. Limit: a
pod's namespace is known by its path, as the runtimes choose it; a number that the kernel has not
given out yet is not known yet, and no link can refer to it.
"""

import fnmatch
import glob
import os
import time
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from netclaim.kernel import NamespaceGoneError, Rtnl, netns_number, open_netns

# A runtime makes a file and mounts the namespace on it a moment later, which changes no directory.
SETTLED_NS: Final = 5_000_000_000


class PodNamespaces:
    """The namespaces whose paths match one of some patterns."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = tuple(patterns)
        self._numbers: dict[tuple[str, int], int] = {}  # by path and inode: a path can come again
        self.known: frozenset[int] = frozenset()  # the numbers, as of the last question
        self._looked_at: tuple[int, ...] | None = None  # when directories had changed by then

    async def numbers(self, rtnl: Rtnl) -> frozenset[int]:
        """By which numbers the client's namespace knows the pods', of those it has links to."""
        self._looked_at = self._stamps()
        there = {key for path in self._paths() for key in _key(path)}
        self._numbers = {key: nsid for key, nsid in self._numbers.items() if key in there}
        return await self._ask(rtnl, there - self._numbers.keys())

    async def learn(self, rtnl: Rtnl) -> frozenset[int]:
        """The same for somebody who calls `forget`: only paths that are new are looked at."""
        self._looked_at = self._stamps()
        known = {path for path, _ in self._numbers}
        new = [path for path in self._paths() if path not in known]
        return await self._ask(rtnl, {key for path in new for key in _key(path)})

    def may_have_more(self) -> bool:
        """Whether a path may be there, or a namespace at one, that no question has seen."""
        return self._looked_at is None or self._looked_at != self._stamps()

    def _stamps(self) -> tuple[int, ...]:
        """When the directories of the paths have changed; of one that cannot be known, now."""
        now_ns = time.time_ns()
        found = []
        for directory in {os.path.dirname(pattern) for pattern in self._patterns}:  # noqa: PTH120
            try:
                changed_ns = os.stat(directory).st_mtime_ns  # noqa: PTH116
            except OSError:
                changed_ns = 0
            # The clock of file systems is a coarse one: two changes may have the same time.
            unsettled = glob.has_magic(directory) or now_ns - changed_ns < SETTLED_NS
            found.append(now_ns if unsettled else changed_ns)
        return tuple(found)

    def forget(self, nsid: int) -> None:
        """The namespace of this number has ended, and another one may get it."""
        self._numbers = {key: each for key, each in self._numbers.items() if each != nsid}
        self.known -= {nsid}

    def _paths(self) -> Iterator[str]:
        return (path for pattern in self._patterns for path in _matching(pattern))

    async def _ask(self, rtnl: Rtnl, keys: Collection[tuple[str, int]]) -> frozenset[int]:
        for key in sorted(keys):
            nsid = await _ask(rtnl, key[0])
            if nsid is not None:
                self._numbers[key] = nsid
        self.known = frozenset(self._numbers.values())
        return self.known


def _matching(pattern: str) -> list[str]:
    """As `glob.glob`, which takes three times as long for the files of one directory."""
    directory, name = os.path.split(pattern)
    if glob.has_magic(directory):
        return glob.glob(pattern)  # noqa: PTH207
    try:
        found = os.listdir(directory)  # noqa: PTH208
    except OSError:
        return []
    there = [each for each in found if not each.startswith(".") or name.startswith(".")]
    return [f"{directory}/{each}" for each in fnmatch.filter(there, name)]


def _key(path: str) -> list[tuple[str, int]]:
    try:
        return [(path, os.stat(path).st_ino)]  # noqa: PTH116 -- as short as it can be: one a pod
    except OSError:
        return []


async def _ask(rtnl: Rtnl, path: str) -> int | None:
    try:
        with open_netns(path) as netns:
            return await netns_number(rtnl, netns)
    except NamespaceGoneError:
        return None
