"""Which networks have a series of their own: the name of a network is the choice of a tenant.

A claim may call its network anything, and another name every minute; a time series database keeps
each name that it has ever seen. Promise: at most 64 names at a time and 16 of a namespace, and a
name keeps its place for a day after its network is gone, so that this is also the most that come in
a day. All others share the name `(other)`. Limit: a process that starts anew has forgotten them.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

NETWORKS_MAX: Final = 64  # a node has 110 pods by default, which share some networks
NAMESPACE_MAX: Final = 16  # of the networks of a namespace; a class's networks are the admin's
PLACE_S: Final = 86_400.0  # what runs every day keeps its series
OTHER: Final = "(other)"  # the name of no network


class SeriesNames:
    """The names that have a place. Not for several threads."""

    def __init__(self) -> None:
        self._last_seen_s: dict[str, float] = {}

    def choose(self, leases: Mapping[str, int], now_s: float) -> Collection[str]:
        """Which of these networks have a name; who comes anew does so by the number of leases."""
        self._last_seen_s = {
            name: seen_s for name, seen_s in self._last_seen_s.items() if now_s - seen_s < PLACE_S
        }
        spaces = Counter(map(_namespace, self._last_seen_s))
        for name in sorted(leases, key=lambda name: (-leases[name], name)):
            if name not in self._last_seen_s:
                space = _namespace(name)
                if len(self._last_seen_s) >= NETWORKS_MAX or (
                    space and spaces[space] >= NAMESPACE_MAX
                ):
                    continue
                spaces[space] += 1
            self._last_seen_s[name] = now_s
        return frozenset(leases) & self._last_seen_s.keys()


def _namespace(name: str) -> str:
    """Of `NAMESPACE/NETWORK`; a class's network has none."""
    return name.rpartition("/")[0]
