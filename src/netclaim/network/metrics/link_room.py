"""How much there is of each link for claims to share, beside what pods have of it.

Promise: the links are those of the last offer; one that is gone has no series. `note` may be called
from another thread than a scrape.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from netclaim.network.metrics.table import LINK_BANDWIDTH_MAX, LINK_CLAIMS_MAX


@dataclass(frozen=True, slots=True)
class Room:
    """How many claims may have a link, and the bits per second that they share; 0 if unshared."""

    claims: int
    bandwidth: int


class LinkRoom(Collector):
    def __init__(self, driver: str) -> None:
        self._driver = driver
        self._rooms: Mapping[str, Room] = {}

    def note(self, rooms: Mapping[str, Room]) -> None:
        """Replace what is known, by the links' names."""
        self._rooms = rooms

    def bandwidth_of(self, link: str) -> int:
        """The bits per second that claims share of a link; 0: none are shared, or it is gone."""
        room = self._rooms.get(link)
        return room.bandwidth if room else 0

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the metrics without samples."""
        return tuple(
            GaugeMetricFamily(each.name, each.text, labels=each.label_names)
            for each in (LINK_CLAIMS_MAX, LINK_BANDWIDTH_MAX)
        )

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return what there is of each link."""
        claims, bandwidth = self.describe()
        for link, room in sorted(self._rooms.items()):
            claims.add_metric((self._driver, link), room.claims)
            if room.bandwidth:
                bandwidth.add_metric((self._driver, link), room.bandwidth)
        return (claims, bandwidth)
