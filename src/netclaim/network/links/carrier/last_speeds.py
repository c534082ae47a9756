"""The speeds that links had when they last had a carrier.

A card without carrier does not say how fast it is. Its claims still hold what they were given of
it, and a selector or the driver's own filter that reads `speed` would take it for another link; so
it keeps its speed until it has another. Promise: safe to call in any thread. Limit: forgets with
the process; a link that has no carrier when the driver starts has no speed until it gets one.
"""

from typing import Final

import msgspec

from netclaim.kernel import Link, SysfsFacts
from netclaim.network.links.carrier.carrier import lacks_carrier

KEPT: Final = 1024  # more than a node has links that lose their carrier; some come and go


class LastSpeeds:
    """The speeds by index, which no other link gets while the namespace lives."""

    def __init__(self) -> None:
        self._mbps: dict[int, int] = {}

    def filled_in(self, link: Link, facts: SysfsFacts) -> SysfsFacts:
        """Return the facts, with the last known speed if the link has no carrier."""
        if facts.speed_mbps is None:
            if not lacks_carrier(link):
                return facts
            return msgspec.structs.replace(facts, speed_mbps=self._mbps.get(link.index))
        self._mbps[link.index] = facts.speed_mbps
        while len(self._mbps) > KEPT:
            self._mbps.pop(next(iter(self._mbps), 0), None)
        return facts
