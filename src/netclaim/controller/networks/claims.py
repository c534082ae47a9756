"""Which claims may have something of a network, kept up to date change by change.

Promise: a change of a claim costs what the claim has itself, and asking for the claims of a network
costs what it has, whatever else is in the cluster. Some that are named have nothing of it after
all: `results_of` decides. No I/O.
"""

import hashlib
from collections.abc import Iterator

from netclaim.controller.pacing.keys import classes_of
from netclaim.kube.watch import Key
from netclaim.model.claims.claim import JsonObject
from netclaim.model.devices.link_name import ON, slotted
from netclaim.network.devices.network_device import HASH_DIGITS


class ClaimsByNetwork:
    """The claims that have devices, by what may name a network in them."""

    def __init__(self) -> None:
        self._marks: dict[Key, frozenset[str]] = {}
        self._claims: dict[str, dict[Key, None]] = {}  # by mark

    def changed(self, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note a claim that is there, or is gone."""
        found = now or before
        assert found is not None
        key = found["metadata"].get("namespace", ""), found["metadata"]["name"]
        marks = frozenset(_marks(now)) if now is not None else frozenset()
        known = self._marks.pop(key, frozenset())
        for mark in known - marks:
            there = self._claims[mark]
            del there[key]
            if not there:
                del self._claims[mark]
        for mark in marks - known:
            self._claims.setdefault(mark, {})[key] = None
        if marks:
            self._marks[key] = marks

    def of(self, network: str) -> list[Key]:
        """The claims that may have something of a network."""
        digest = hashlib.sha256(network.encode()).hexdigest()[:HASH_DIGITS]
        return [*{**self._claims.get(network, {}), **self._claims.get(digest, {})}]


def _marks(claim: JsonObject) -> Iterator[str]:
    """The classes that a claim asks for, and the names and digests of networks in its devices."""
    allocation = claim["status"].get("allocation")
    if allocation is None:
        return
    yield from classes_of(claim)
    for each in allocation.get("devices", {}).get("results", ()):
        whole = slotted(each["device"]) or each["device"]
        network, on, _ = whole.rpartition(ON)
        if on:
            yield network
            yield network[-HASH_DIGITS:]  # a long name is cut, and ends with its digest
