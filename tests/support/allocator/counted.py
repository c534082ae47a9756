"""Clusters and claims by chance where things are counted: capacities, shares and counters.

As `allocator_cases`, and valid to the API server too; amounts are few, so that they add up to just
enough or just too much.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.allocator.cases import EFFECTS, Maker
from tests.support.allocator.objects import (
    Case,
    Names,
    Object,
    classes,
    counter_slice,
    held_results,
    rule_object,
)

# Each capacity: its value, the policies it may have if it is shared, and what is asked for of it.
CAPACITIES: dict[str, tuple[str, tuple[Object | None, ...], tuple[str, ...]]] = {
    "bandwidth": (
        "1G",
        (
            None,
            {"default": "300M"},
            {"default": "250M", "validRange": {"min": "50M", "step": "50M"}},
            {"default": "100M", "validRange": {"min": "50M", "max": "500M", "step": "50M"}},
            {"default": "100M", "validRange": {"min": "10M"}},
            {"default": "100M", "validValues": ["100M", "250M", "1G"]},
        ),
        ("1", "60M", "100M", "0.333G", "400e6", "500M", "501M", "1G", "1Gi", "20E"),
    ),
    "attachments": (
        "4",
        (None, {"default": "1", "validValues": ["1", "4"]}, {"default": "1"}),
        ("1", "2", "4", "5"),
    ),
    "example.org/memory": (
        "8Gi",
        (None, {"default": "1Gi", "validRange": {"min": "1Gi", "step": "512Mi"}}),
        ("1Gi", "1025Mi", "3G", "8Gi", "100"),
    ),
    "cores": (
        "2",
        (
            {"default": "500m", "validRange": {"min": "250m", "max": "1500m", "step": "250m"}},
            {"default": "1500m"},
        ),
        ("100m", "0.6", "1", "1.25", "1.75", "750500u"),
    ),
}
COUNTERS: dict[str, Object] = {
    "board-0": {"memory": {"value": "40Gi"}, "slices": {"value": "7"}},
    "board-1": {"memory": {"value": "20Gi"}},
}
TAKES = ("1", "5Gi", "10Gi", "20Gi", "30Gi")


def counted_case(random: Random, names: Names | None = None) -> Case:
    """Make up a cluster where things are counted; the same for every choice of names."""
    maker = CountedMaker(random, names or Names())
    slices = maker.slices()
    return Case(
        slices=slices,
        classes=classes(maker.names),
        claims=[maker.claim(index) for index in range(random.choice((1, 1, 1, 2)))],
        held=maker.held(slices),
        nodes=maker.names.nodes(),
        rules=list(maker.rules()),
    )


@dataclass(frozen=True)
class CountedMaker(Maker):
    """Makes the objects of one case."""

    def pool(self, pool: str, where: Object, count: int) -> list[Object]:
        """Return a pool as others, often with counters that its devices share."""
        slices = super().pool(pool, where, count)
        if not slices or not self.chance(50):
            return slices
        for one in slices:
            one["spec"]["pool"]["resourceSliceCount"] += 1
            for device in one["spec"]["devices"]:
                if self.chance(70):
                    device["consumesCounters"] = self._consumes()
        own = "perDeviceNodeSelection" in where
        place = self.random.choice(({"allNodes": True}, where if not own else {"allNodes": True}))
        generation = slices[0]["spec"]["pool"]["generation"]
        counters = [{"name": name, "counters": have} for name, have in COUNTERS.items()]
        if self.chance(5):
            counters = counters[:1]  # devices may consume what is not there
        expected = slices[0]["spec"]["pool"]["resourceSliceCount"]
        slices.append(counter_slice(self.names, pool, place, counters, generation, expected))
        if self.chance(5):
            slices.pop()
        return slices

    def rules(self) -> Iterator[Object]:
        """Yield rules that taint all devices of the driver, of a pool, or of a name."""
        for number in range(self.random.choice((0, 0, 0, 1, 2))):
            effect = self.random.choice(EFFECTS)
            taint = {"key": f"{self.names.driver}/broken", "value": "yes", "effect": effect}
            kinds: tuple[dict[str, str], ...] = (
                {"pool": "pool-a"},
                {"device": "d0-0"},
                {"pool": "network", "device": "d0-1"},
                {},
            )
            yield rule_object(self.names, number, taint, **self.random.choice(kinds))

    def _consumes(self) -> list[Object]:
        sets = self.random.sample(list(COUNTERS), self.random.choice((1, 1, 2)))
        return [{"counterSet": name, "counters": self._takes(COUNTERS[name])} for name in sets]

    def _takes(self, counters: Object) -> Object:
        names = self.random.sample(list(counters), self.random.randint(1, len(counters)))
        amount = {"memory": TAKES, "slices": ("1", "2", "4")}
        return {name: {"value": self.random.choice(amount[name])} for name in names}

    def device(self, name: str, *, own: bool) -> Object:
        """Return a device with capacities, often shared."""
        made = super().device(name, own=own)
        if self.chance(60):
            made["allowMultipleAllocations"] = True
        shared = made.get("allowMultipleAllocations", False)
        capacity = {}
        for key, (value, policies, _) in CAPACITIES.items():
            if self.chance(80):
                policy = self.random.choice(policies) if shared else None
                capacity[key] = {"value": value, **({"requestPolicy": policy} if policy else {})}
        return {**made, **({"capacity": capacity} if capacity else {})}

    def exact(self, name: str) -> Object:
        """Return what a request asks for, often with capacity."""
        made = super().exact(name)
        if not self.chance(50):
            return made
        keys = self.random.sample(list(CAPACITIES), self.random.choice((1, 1, 2)))
        return {
            **made,
            "capacity": {"requests": {key: self.random.choice(CAPACITIES[key][2]) for key in keys}},
        }

    def held(self, slices: list[Object]) -> list[Object]:
        """Return a claim that has devices, and shares of others."""
        ids = (f"00000000-0000-4000-8000-{number:012}" for number in itertools.count())
        results: list[Object] = []
        seen: set[tuple[str, str]] = set()
        for one in slices:
            pool = one["spec"]["pool"]["name"]
            for device in one["spec"].get("devices", ()):
                if not self.chance(20) or (pool, device["name"]) in seen:
                    continue
                seen.add((pool, device["name"]))
                base = {"request": "r0", "pool": pool, "device": device["name"]}
                if not device.get("allowMultipleAllocations"):
                    results.append(base)
                    continue
                results += [
                    {**base, "shareID": next(ids), **self._consumed(device)}
                    for _ in range(self.random.choice((1, 1, 2, 3)))
                ]
        return [held_results(self.names, results)] if results else []

    def _consumed(self, device: dict[str, Any]) -> Object:
        few = {"bandwidth": ("100M", "350M"), "attachments": ("1", "2"), "cores": ("250m", "1")}
        consumed = {
            key: self.random.choice(few.get(key, ("1Gi", "3Gi")))
            for key in device.get("capacity", {})
        }
        return {"consumedCapacity": consumed} if consumed else {}
