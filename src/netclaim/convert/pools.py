"""The AddressPools of a conversion: one for the addresses that several networks have.

Promise: networks with the same range and `network_name` have one pool, whose name does not depend
on which of them are converted together. Two pools of one domain never have an address in common: a
network that would bring one stays with Multus. No I/O.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec

from netclaim.convert.definition import NetworkKey, UnconvertedError
from netclaim.convert.whereabouts import PoolDraft
from netclaim.model.address_space import space_of
from netclaim.model.api.address_pool import KIND, NAME_MAX
from netclaim.model.api.pod_network import API_VERSION
from netclaim.model.claim import JsonObject

DIGITS: Final = 8  # of a hash, at the end of a name that is too long


@dataclass(slots=True)
class Pools:
    """The pools that networks have instead of whereabouts."""

    _drafts: dict[str, tuple[PoolDraft, NetworkKey]] = field(default_factory=dict)  # by name
    _names: dict[NetworkKey, str] = field(default_factory=dict)

    def add(self, key: NetworkKey, draft: PoolDraft) -> str:
        """Return the name of the pool of a network.

        UnconvertedError if another network has some of its addresses, but not all the same.
        """
        name = pool_name(draft)
        for there, (other, first) in self._drafts.items():
            if (there, other.ranges) == (name, draft.ranges):
                continue
            if there == name or _overlap(other, draft):
                raise UnconvertedError(
                    f"{'/'.join(first)} has some of these addresses too, but not all the same;"
                    " write the same range, exclude and gateway in both, or a network_name in one"
                    " if the networks are separate",
                    path=draft.at,
                )
        self._drafts.setdefault(name, (draft, key))
        self._names[key] = name
        return name

    def drop(self, key: NetworkKey) -> None:
        """Forget a network that stays with Multus."""
        name = self._names.pop(key, None)
        if name is not None and name not in self._names.values():
            del self._drafts[name]

    def of(self, key: NetworkKey) -> str:
        """Return the name of a network's pool; empty if it has its addresses elsewhere."""
        return self._names.get(key, "")

    def objects(self) -> Iterator[tuple[str, JsonObject]]:
        """Yield each pool by its name, as an object."""
        for name, (draft, _) in self._drafts.items():
            yield name, pool_object(name, draft)


def pool_name(draft: PoolDraft) -> str:
    """Return a name that says which addresses a pool has."""
    parts = [draft.domain or "range"]
    for one in draft.ranges:
        parts.append(one.cidr)
        parts += ["from", one.start] if one.start else []
    name = "-".join(parts).translate(str.maketrans(":./", "---"))
    if len(name) <= NAME_MAX:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:DIGITS]
    return f"{name[: NAME_MAX - DIGITS - 1].rstrip('-')}-{digest}"


def pool_object(name: str, draft: PoolDraft) -> JsonObject:
    """Return the AddressPool of a draft."""
    ranges = msgspec.json.decode(msgspec.json.encode(draft.ranges))  # with lists, as from a file
    spec: JsonObject = {"ranges": ranges}
    if draft.domain:
        spec["domain"] = draft.domain
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}


def _overlap(one: PoolDraft, other: PoolDraft) -> bool:
    """Whether two pools would have an address of one domain in common."""
    return one.domain == other.domain and any(
        space_of(one.ranges, version).shared_with(space_of(other.ranges, version)) is not None
        for version in (4, 6)
    )
