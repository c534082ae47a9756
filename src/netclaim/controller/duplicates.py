"""Addresses that several pods have: known at any time, from the claims as they change.

`netclaim status` finds them when somebody looks; an alert needs a number. Promise: a change of a
claim costs what the claim has itself, whatever else is in the cluster; only another configuration
of a network costs a look at the claims of networks. What cannot be read counts as not there.
Limit: as in `survey/duplicates.py`.
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from netclaim.kube.watch import Key
from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.claims.claim import JsonObject
from netclaim.survey.claim_networks import networks_of
from netclaim.survey.duplicates import AddressUsers, Duplicate

CLAIM: Final = "ResourceClaim"
CLASS: Final = "DeviceClass"


class Stores(Protocol):
    """What the watches have listed."""

    def store(self, kind: str) -> Mapping[Key, JsonObject]:
        """The objects of a kind."""
        ...


class DuplicateAddresses:
    """Hears of claims and classes."""

    def __init__(self, watches: Stores) -> None:
        self._watches = watches
        self._networks: dict[str, Mapping[str, Any]] = {}
        self._users = AddressUsers(self._networks)

    @property
    def count(self) -> int:
        """How many addresses several pods have."""
        return self._users.shared

    def found(self) -> list[Duplicate]:
        """All of them, with everybody who has them."""
        return self._users.duplicates()

    def begin(self) -> None:
        """Look at all there is."""
        for found in self._watches.store(CLASS).values():
            self._networks |= _networks(found)
        for found in self._watches.store(CLAIM).values():
            self._put(found)

    def changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note a claim, or what a network is."""
        found = now or before
        if found is None:
            return
        if kind == CLAIM and now is not None:
            self._put(now)
        elif kind == CLAIM:
            self._users.forget(found["metadata"].get("namespace", ""), found["metadata"]["name"])
        elif kind == CLASS:
            self._learn(found["metadata"]["name"], now)

    def _learn(self, name: str, now: JsonObject | None) -> None:
        known = self._networks.pop(name, None)
        self._networks |= _networks(now) if now is not None else {}
        if self._networks.get(name) == known:
            return
        for found in self._watches.store(CLAIM).values():
            if any(each.get("data", {}).get("podNetwork") for each in found["status"]["devices"]):
                self._put(found)

    def _put(self, found: JsonObject) -> None:
        try:
            claim = ResourceClaim.read(found)
        except ObjectError:  # of another driver, say, that writes what the API does not know
            self._users.forget(found["metadata"].get("namespace", ""), found["metadata"]["name"])
        else:
            self._users.put(claim)


def _networks(found: JsonObject) -> dict[str, Mapping[str, Any]]:
    try:
        return networks_of([DeviceClass.read(found)])
    except ObjectError:  # the drivers do not read it either
        return {}
