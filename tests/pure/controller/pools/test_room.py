"""For how many claims a pool has an address, whatever claims and leases are heard of, and when."""

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.controller.pools.room import Rooms
from netclaim.controller.pools.spec import PoolSpec
from netclaim.model.api.own_kinds.address_pool import AddressLease, AddressPool
from netclaim.model.claims.claim import JsonObject
from tests.support.growth import assert_flat

DRIVER: Final = "d"
Claims = dict[tuple[str, str], JsonObject]


def specs_of(**ranges: str) -> dict[str, PoolSpec]:
    """Pools by name, each of one range."""
    found = {}
    for name, cidr in ranges.items():
        meta = {"name": name, "uid": name, "generation": 1}
        written = {"metadata": meta, "spec": {"ranges": [{"cidr": cidr}]}}
        found[name] = PoolSpec.of(AddressPool.read(written))
    return found


def claim_of(name: str, shares: int | None) -> JsonObject:
    """A claim with so many shares of the pool a; None: it is not allocated."""
    share = {"driver": DRIVER, "pool": "addresses/a"}
    allocation = {"devices": {"results": [share] * (shares or 0)}}
    status = {} if shares is None else {"allocation": allocation}
    return {"metadata": {"name": name, "namespace": "n", "uid": name}, "status": status}


def lease_of(
    claim: str, address: str, *, pool: str = "a", device: str = "eth1", kept: bool = False
) -> AddressLease:
    """A lease that a device of a claim has."""
    holder = {"namespace": "n", "name": claim, "uid": claim, "request": "r", "device": device}
    spec = {"pool": pool, "address": address, "driver": DRIVER, "nodeName": "n1", "claim": holder}
    return AddressLease.read({"metadata": {"name": address}, "spec": {**spec, "kept": kept}})


def rooms(claims: Claims, **ranges: str) -> tuple[Rooms, Callable[[], int]]:
    """Rooms of some pools, and what there is in the pool a."""
    specs = specs_of(**ranges)
    found = Rooms(DRIVER, specs, lambda: claims)
    return found, lambda: found.of(specs["a"])


@pytest.mark.parametrize(
    ("shares", "leases", "room"),
    [
        (1, [], 6),
        (1, [("10.1.0.1", "eth1")], 6),
        (None, [("10.1.0.1", "eth1")], 5),  # not allocated, or allocated before shares were
        (0, [("10.1.0.1", "eth1"), ("10.1.0.2", "eth2")], 4),
        (0, [("10.1.0.1", "eth1"), ("10.1.0.2", "eth1")], 5),  # a driver that was killed left one
        (1, [("10.1.0.1", "eth1"), ("10.1.0.2", "eth2")], 5),
        (1, [("10.2.0.1", "eth1")], 7),  # outside of the ranges by now
        (0, [("10.2.0.1", "eth1")], 6),
        (2, [("10.2.0.1", "eth1")], 7),
        (2, [("10.1.0.1", "eth1"), ("10.2.0.2", "eth2")], 7),
        (9, [("10.1.0.1", "eth1")], 6),  # shares without an address are the scheduler's to count
    ],
)
def test_what_a_claim_counts_for(
    shares: int | None, leases: list[tuple[str, str]], room: int
) -> None:
    """Addresses without a share are gone, and shares whose address is outside there are more of."""
    claims = {("n", "c"): claim_of("c", shares)}
    counted, of_a = rooms(claims, a="10.1.0.0/29")
    for address, device in leases:
        counted.lease_changed(address, lease_of("c", address, device=device))
    assert of_a() == room
    for address, _ in leases:
        counted.lease_changed(address, None)
    assert of_a() == 6


def test_what_cancels_out_is_counted_all_the_same() -> None:
    """One claim without a share and one outside make the room the size; the end of each counts."""
    claims = {("n", name): claim_of(name, shares) for name, shares in (("old", 0), ("out", 1))}
    counted, of_a = rooms(claims, a="10.1.0.0/29")
    counted.lease_changed("10.1.0.1", lease_of("old", "10.1.0.1"))
    counted.lease_changed("10.2.0.1", lease_of("out", "10.2.0.1"))
    assert of_a() == 6
    assert counted.lease_changed("10.1.0.1", None) == {"a"}
    assert of_a() == 7
    assert counted.lease_changed("10.2.0.1", None) == {"a"}
    assert of_a() == 6


def test_a_kept_address_is_for_the_replicas_next_claim() -> None:
    """It counts as free, also one that is outside of the ranges by now."""
    counted, of_a = rooms({}, a="10.1.0.0/29")
    for address in ("10.1.0.1", "10.2.0.1"):
        counted.lease_changed(address, lease_of("gone", address, kept=True))
    assert of_a() == 6


def test_another_pools_addresses_in_the_range_are_gone() -> None:
    """Of a pool that was deleted, for example; a share of this one does not cover them."""
    claims = {("n", "c"): claim_of("c", 0)}
    counted, of_a = rooms(claims, a="10.1.0.0/29", b="10.3.0.0/29")
    assert counted.lease_changed("x", lease_of("c", "10.1.0.1", pool="gone")) == {"a"}
    assert of_a() == 5


NAMES: Final = ("c0", "c1", "c2")
ADDRESSES: Final = ("10.1.0.1", "10.1.0.2", "10.1.0.3", "10.2.0.1", "10.3.0.1")
CHANGES: Final = st.lists(
    st.tuples(st.sampled_from(NAMES), st.none() | st.integers(0, 2))
    | st.tuples(
        st.sampled_from(ADDRESSES),
        st.none()
        | st.tuples(
            st.sampled_from(NAMES), st.sampled_from("ab"), st.sampled_from("xy"), st.booleans()
        ),
    )
    | st.tuples(st.just("pool"), st.sampled_from(["10.1.0.0/29", "10.1.0.0/30", "10.2.0.0/29"])),
    max_size=30,
)


@given(CHANGES)
def test_the_order_of_changes_does_not_matter(changes: list[tuple[str, object]]) -> None:
    """What was counted change by change is what is counted of all there is at the end."""
    claims: Claims = {}
    leases: dict[str, AddressLease] = {}
    specs = specs_of(a="10.1.0.0/29", b="10.3.0.0/29")
    counted = Rooms(DRIVER, specs, lambda: claims)
    for name, now in changes:
        if name == "pool":
            specs |= specs_of(a=str(now))
            counted.pools_changed()
        elif name in NAMES:
            before = claims.pop(("n", name), None)
            if isinstance(now, int):
                claims["n", name] = claim_of(name, now)
            counted.claim_changed(before, claims.get(("n", name)))
        else:
            leases.pop(name, None)
            if isinstance(now, tuple):
                claim, pool, device, kept = now
                leases[name] = lease_of(claim, name, pool=pool, device=device, kept=kept)
            counted.lease_changed(name, leases.get(name))
    anew = Rooms(DRIVER, specs, lambda: claims)
    for name, lease in leases.items():
        anew.lease_changed(name, lease)
    assert {name: counted.of(spec) for name, spec in specs.items()} == {
        name: anew.of(spec) for name, spec in specs.items()
    }


@pytest.mark.parametrize("of", ["leases", "pools"])
def test_a_change_is_the_same_work(of: str) -> None:
    """However many leases a pool has, and however many other pools there are."""

    def work_of(n: int) -> Callable[[], object]:
        others = {
            f"p{number}": f"10.9.{number}.0/29" for number in range(n if of == "pools" else 1)
        }
        claims = {("n", f"c{number}"): claim_of(f"c{number}", 1) for number in range(n)}
        counted, of_a = rooms(claims, a="10.1.0.0/24", **others)
        for number in range(n if of == "leases" else 4):
            counted.lease_changed(f"l{number}", lease_of(f"c{number}", f"10.1.0.{number + 1}"))

        def work() -> None:
            counted.lease_changed("l0", None)
            counted.lease_changed("l0", lease_of("c0", "10.1.0.1"))
            counted.claim_changed(None, claims["n", "c0"])
            assert of_a() == 254

        return work

    assert_flat(work_of, 16)
