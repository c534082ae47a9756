"""The pods' network namespaces, by the numbers with which links of the node refer to them.

Promise: asks the kernel once for each namespace, however often the node's links change. Limit: a
pod's namespace is known by its path, as the runtimes choose it; a number that the kernel has not
given out yet is not known yet, and no link can refer to it.
"""

import glob
import os
from collections.abc import Iterable

from netclaim.kernel import NamespaceGoneError, Rtnl, netns_number, open_netns


class PodNamespaces:
    """The namespaces whose paths match one of some patterns."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = tuple(patterns)
        self._numbers: dict[tuple[str, int], int] = {}  # by path and inode: a path can come again

    async def numbers(self, rtnl: Rtnl) -> frozenset[int]:
        """By which numbers the client's namespace knows the pods', of those it has links to."""
        there = {key for pattern in self._patterns for path in glob.glob(pattern)  # noqa: PTH207
                 for key in _key(path)}  # fmt: skip
        self._numbers = {key: nsid for key, nsid in self._numbers.items() if key in there}
        for key in sorted(there - self._numbers.keys()):
            nsid = await _ask(rtnl, key[0])
            if nsid is not None:
                self._numbers[key] = nsid
        return frozenset(self._numbers.values())


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
