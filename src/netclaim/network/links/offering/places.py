"""The order in which devices are listed, in which a link keeps its place while a pod has it.

The order is published, since the scheduler takes the first device that fits. Promise: a link that
goes into a pod and comes home changes nothing in the list. Limit: a link that was away before the
first list follows those that were there, until it comes home.
"""

import math
from collections.abc import Iterable, Mapping

from netclaim.kernel import Link
from netclaim.model import Device


class Places:
    """The index that each listed device's link has, or had when it was last on the node."""

    def __init__(self) -> None:
        self._indices: Mapping[str, int] = {}

    def sort(
        self, there: Iterable[tuple[Link, Device]], devices: Mapping[str, Device]
    ) -> list[Device]:
        """Sort devices by the indices of their links; `there` are those that the node has."""
        known = {name: index for name, index in self._indices.items() if name in devices}
        self._indices = known | {device.name: link.index for link, device in there}
        return sorted(devices.values(), key=lambda device: self._indices.get(device.name, math.inf))
