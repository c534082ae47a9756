"""The AddressPools of a conversion: one for the addresses that several networks have.

Promise: networks with the same range and `network_name` have one pool, whose name does not depend
on which of them are converted together. Two pools of one domain never have an address in common: a
network that would bring one stays with Multus. No I/O.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from typing import Final

import msgspec

from netclaim.convert.multus.definition import Definition, NetworkKey, UnconvertedError
from netclaim.convert.remarks import Remark, within
from netclaim.convert.whereabouts.ipam_keys import PoolDraft
from netclaim.convert.whereabouts.ranges import parts_of, share_addresses
from netclaim.convert.whereabouts.reservations import (
    Limited,
    Reserved,
    by_namespace,
    limited,
    pods_of,
)
from netclaim.manifests.objects import Object
from netclaim.model.api.own_kinds.address_pool import KIND, NAME_MAX
from netclaim.model.api.own_kinds.pod_network import API_VERSION
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.address_space import IpNetwork, space_of

DIGITS: Final = 8  # of a hash, at the end of a name that is too long


@dataclass(slots=True)
class Pools:
    """The pools that networks have instead of whereabouts."""

    _drafts: dict[str, tuple[PoolDraft, Definition]] = field(default_factory=dict)  # by name
    _names: dict[NetworkKey, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self._drafts

    def add(self, definition: Definition, draft: PoolDraft) -> None:
        """Give a network its pool.

        UnconvertedError if another network has some of its addresses, but not all the same.
        """
        name = pool_name(draft)
        for there, (other, first) in self._drafts.items():
            if (there, other.ranges) == (name, draft.ranges):
                continue
            if there == name or _overlap(other, draft):
                raise UnconvertedError(
                    f"{'/'.join(first.key)} has some of these addresses too, but not all the same;"
                    " write the same range, exclude and gateway in both, or a network_name in one"
                    " if the networks are separate",
                    path=draft.at,
                )
        self._drafts.setdefault(name, (draft, definition))
        self._names[definition.key] = name

    def of(self, key: NetworkKey) -> str:
        """Return the name of a network's pool; empty if it has its addresses elsewhere."""
        return self._names.get(key, "")

    def objects(self) -> Iterator[tuple[str, JsonObject]]:
        """Yield each pool by its name, as an object."""
        for name, (draft, _) in self._drafts.items():
            yield name, pool_object(name, draft)

    def unmatched(self, taken: Iterable[IpNetwork]) -> tuple[IpNetwork, ...]:
        """Return what is taken from whereabouts although no pool here would have it."""
        ranges = [one for draft, _ in self._drafts.values() for one in draft.ranges]
        return tuple(each for each in taken if not any(parts_of(one, [each]) for one in ranges))

    def leave_to_pods(
        self,
        reserved: Sequence[Reserved],
        networks: Sequence[tuple[Definition, PoolDraft]],
        taken: Sequence[IpNetwork],
        moving: Sequence[Object],
    ) -> Iterator[Remark]:
        """Leave out of the pools what pods have from whereabouts, and what is not `taken` from it.

        Yields what there is to say; `networks` are all that have addresses from whereabouts, and
        `moving` the workloads that leave no network to Multus.
        """
        moves = pods_of(moving)
        domains = {draft.domain for _, draft in networks}
        for name, (draft, definition) in self._drafts.items():
            mine = [one for one in reserved if one.counts_for(draft.domain, domains)]
            pods = {address: pod for one in mine for address, pod in one.pods.items()}
            found = [limited(one, taken, pods) for one in draft.ranges]
            ranges = tuple(one.range for one in found)
            self._drafts[name] = replace(draft, ranges=ranges), definition
            for one in found:
                for text, lost in _said(name, one, taken, moves):
                    yield within(definition.text, draft.at, text, lost=lost)
        for definition, draft in networks:
            for part in _not_excluded(draft, taken):
                text = f"whereabouts may still give {part} to pods; exclude it here first"
                yield within(definition.text, draft.at, text, lost=True)


def _not_excluded(draft: PoolDraft, taken: Sequence[IpNetwork]) -> Iterator[IpNetwork]:
    for one in draft.ranges:
        yield from (part for part in parts_of(one, taken) if share_addresses(one, part))


def _said(
    name: str, one: Limited, taken: Sequence[IpNetwork], moves: Callable[[str], bool]
) -> Iterator[tuple[str, bool]]:
    """Yield what to say about a range that is limited, and whether it must not be used so."""
    network = ip_network(one.range.cidr)
    if not space_of([one.range], network.version).size:
        why = ", which have all others from whereabouts" if one.pods else ""
        yield f"no address of the pool {name} is left for pods{why}", True
    elif one.pods:
        between = f", and {one.lost} addresses between them" if one.lost else ""
        text = f"the pool {name} is without what pods have from whereabouts{between}"
        again = "when they have moved, convert the original again, or edit the pool's exclude"
        yield f"{text}: {by_namespace(one.pods)}; {again}", False
    others = [each for each in one.pods if not moves(each)]
    if others and not parts_of(one.range, taken):
        text = f"whereabouts may give to others what the pool {name} leases"
        yield f"{text}: {by_namespace(others)}; take a part of the range with --take", True


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
