"""Addresses that pods have from whereabouts, and which ones a pool can lease beside it.

    kind: IPPool                                # whereabouts.cni.cncf.io, one for each range
    metadata: {name: 10.10.1.0-24}              # or NETWORK_NAME-10.10.1.0-24
    spec:
      range: 10.10.1.0/24
      allocations: {"5": {id: ..., podref: team-a/camera-0, ifname: net1}}   # 10.10.1.5

Promise: what is excluded from a range are all addresses of it that an IPPool has, and everything
that was not taken from whereabouts; of other addresses as few as the limit of exclusions allows.
An IPPool that could be of several networks counts for each of them. No I/O.
"""

import ipaddress
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from netclaim.convert.remarks import Remark, about
from netclaim.convert.whereabouts.ranges import collapsed, parts_of, share_addresses
from netclaim.manifests.objects import Object, inside
from netclaim.model.api.own_kinds.address_pool import EXCLUDED_MAX
from netclaim.model.pools.address_space import (
    Block,
    IpAddress,
    IpNetwork,
    Range,
    address_of,
    block_of,
    merged,
    space_of,
)

GROUP: Final = "whereabouts.cni.cncf.io"
KIND: Final = "IPPool"  # other projects have this kind too, in groups of their own
SHOWN_MAX: Final = 5  # namespaces in a remark


@dataclass(frozen=True, slots=True)
class Reserved:
    """The addresses of one IPPool, and which pods have them."""

    prefix: str | None  # of the object's name: a network_name, a node or both; None: unknown
    pods: dict[IpAddress, str]  # as namespace/name

    def counts_for(self, domain: str, domains: Collection[str]) -> bool:
        """Whether it can be about the networks of a domain, of all that there are."""
        if self.prefix is None:
            return True
        meant = {
            each for each in domains if each and f"{self.prefix}-".startswith(f"{each}-")
        }  # a node's slice has the node's name behind it
        return domain in meant if meant else domain == ""


@dataclass(frozen=True, slots=True)
class Limited:
    """A range with what is left of it for a pool."""

    range: Range
    pods: tuple[str, ...]  # who has addresses of it from whereabouts
    lost: int  # addresses that nobody has, excluded because they are between others


def read_reserved(
    objects: Iterable[Object], remarks: list[Remark], unread: str = ""
) -> list[Reserved]:
    """Return what all IPPools of whereabouts have, unless they could not be listed."""
    found = []
    if unread:
        text = f"cannot be listed, so a pool may lease what pods have from whereabouts: {unread}"
        remarks.append(Remark(f"{KIND}s", "", text, lost=True))
    for one in objects:
        group = str(one.object.get("apiVersion")).partition("/")[0]
        if (one.kind, group) != (KIND, GROUP):
            continue
        spec = inside(one.object, ("spec",))
        try:
            first = ipaddress.ip_interface(str(spec.get("range"))).ip
        except ValueError:
            remarks.append(about(one, ("spec", "range"), "is not a network", lost=True))
            continue
        try:
            pods = dict(_allocated(first, inside(spec, ("allocations",))))
        except ValueError:
            text = "has a key that is not the number of an address of the range"
            remarks.append(about(one, ("spec", "allocations"), text, lost=True))
            continue
        found.append(Reserved(_prefix(one.name, str(spec.get("range"))), pods))
    return found


def _allocated(first: IpAddress, allocations: dict[str, Any]) -> Iterator[tuple[IpAddress, str]]:
    for offset, each in allocations.items():
        yield first + int(offset), str(each.get("podref", "")) if isinstance(each, dict) else ""


def _prefix(name: str, written: str) -> str | None:
    """Return what is in front of the range in an IPPool's name; None if it is not there."""
    shown = f"{written}0" if written.endswith(":") else written
    shown = shown.translate(str.maketrans(":/", "--"))
    if name == shown:
        return ""
    return name.removesuffix(f"-{shown}") if name.endswith(f"-{shown}") else None


def limited(written: Range, taken: Sequence[IpNetwork], pods: dict[IpAddress, str]) -> Limited:
    """Return a range without what pods have of it, and without what is left to whereabouts."""
    network = ipaddress.ip_network(written.cidr)
    parts = parts_of(written, taken)  # which whereabouts excludes, and the pool has
    fixed = [*_kept(written, parts), *_left(network, parts)]
    excluded = collapsed(fixed)
    whole = space_of([_excluding(written, excluded)], network.version)
    held = [each for each in pods if each in whole]
    for size in range(network.max_prefixlen - network.prefixlen + 1):  # of a network, in bits
        starts = {int(each) >> size << size for each in held}
        blocks = merged([*map(block_of, fixed), *((one, one + (1 << size) - 1) for one in starts)])
        if len(blocks) <= EXCLUDED_MAX:  # each is one network or more
            excluded = [each for block in blocks for each in _networks(network.version, block)]
            if len(excluded) <= EXCLUDED_MAX:
                break
    found = _excluding(written, excluded)
    lost = whole.size - space_of([found], network.version).size - len(held)
    return Limited(found, tuple(sorted(pods[each] for each in held)), lost)


def pods_of(workloads: Iterable[Object]) -> Callable[[str], bool]:
    """Return whether a pod, given as namespace/name, is of one of the workloads, by its name."""
    own = [(f"{one.namespace}/{one.name}", one.kind == "Pod") for one in workloads]
    pods = {name for name, is_pod in own if is_pod}
    beginnings = {f"{name}-" for name, is_pod in own if not is_pod}

    def is_theirs(pod: str) -> bool:
        dashes = (number for number, letter in enumerate(pod) if letter == "-")
        return pod in pods or any(pod[: number + 1] in beginnings for number in dashes)

    return is_theirs


def by_namespace(pods: Iterable[str]) -> str:
    """Say how many pods of which namespaces these are."""
    counts = Counter(each.partition("/")[0] or "unknown" for each in pods)
    shown = [f"{name} ({count})" for name, count in sorted(counts.items())]
    more = len(shown) - SHOWN_MAX
    return ", ".join([*shown[:SHOWN_MAX], *([f"{more} more"] if more > 0 else [])])


def _kept(written: Range, parts: Sequence[IpNetwork]) -> Iterator[IpNetwork]:
    """Yield the exclusions of whereabouts that are the pool's, too.

    Those by which whereabouts leaves a part to the pool are not: the outer ones, where they exclude
    the whole part. One inside of another had a reason of its own.
    """
    own = [ipaddress.ip_network(text) for text in written.exclude]
    whole = {part: not share_addresses(written, part) for part in parts}
    outer: IpNetwork | None = None
    for each in sorted(own, key=lambda one: (int(one.network_address), one.prefixlen)):
        is_inner = outer is not None and each.overlaps(outer)
        outer = outer if is_inner else each
        around = [part for part in parts if part.prefixlen < each.prefixlen and part.overlaps(each)]
        if not parts or any(is_inner or not whole[part] for part in around):
            yield each


def _left(network: IpNetwork, parts: Sequence[IpNetwork]) -> list[IpNetwork]:
    """Return what of a network is left to whereabouts; nothing if none of it is taken."""
    left = [network] if parts else []
    for part in parts:
        left = [rest for each in left for rest in _without(each, part)]
    return left


def _without(network: IpNetwork, part: IpNetwork) -> Iterator[IpNetwork]:
    if not network.overlaps(part):
        yield network
    elif part.prefixlen > network.prefixlen:
        yield from network.address_exclude(part)  # type: ignore[arg-type]  # of one family


def _networks(version: int, block: Block) -> Iterator[IpNetwork]:
    first, last = (address_of(version, number) for number in block)
    yield from ipaddress.summarize_address_range(first, last)


def _excluding(written: Range, networks: Iterable[IpNetwork]) -> Range:
    return msgspec.structs.replace(written, exclude=tuple(map(str, networks)))
