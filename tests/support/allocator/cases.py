"""Clusters and claims by chance, small enough to read.

The names are few, so that devices, requests and constraints meet.
"""

from dataclasses import dataclass
from random import Random
from typing import Any, Final

from hypothesis import strategies as st

from tests.support.allocator.objects import (
    ZONES,
    Case,
    Names,
    Object,
    claim_object,
    classes,
    device,
    exact,
    held_claim,
    in_zone,
    slice_object,
)

# A case is made from one seed as a whole: how often it draws numbers is its own business.
RANDOMS: Final = st.builds(Random, st.integers(0, 2**32 - 1))

EFFECTS = ("NoSchedule", "NoExecute", "None")
EXPRESSIONS = (
    'MINE.kind == "slow"',
    "MINE.speed >= 25",
    'MINE.kind == "fast" && MINE.speed < 100',
    "has(MINE.up) && MINE.up",
    "MINE.?numa.orValue(-1) == 0",
    'MINE.?firmware.orValue(semver("0.0.0")).isLessThan(semver("2.0.0"))',
    '"example.org" in device.attributes',
    "device.allowMultipleAllocations",
    "MINE.numa == 1",
)


def random_case(random: Random, names: Names | None = None) -> Case:
    """Make up a cluster and what a pod claims in it; the same for every choice of names."""
    maker = Maker(random, names or Names())
    slices = maker.slices()
    return Case(
        slices=slices,
        classes=classes(maker.names),
        claims=[maker.claim(index) for index in range(random.choice((1, 1, 1, 2)))],
        held=maker.held(slices),
        nodes=maker.names.nodes(),
    )


@dataclass(frozen=True)
class Maker:
    """Makes the objects of one case."""

    random: Random
    names: Names

    def chance(self, percent: int) -> bool:
        """Whether chance has it."""
        return self.random.randint(1, 100) <= percent

    def slices(self) -> list[Object]:
        """Return the slices of all pools."""
        made: list[Object] = []
        for letter in ZONES:
            if self.chance(80):
                where = {"nodeName": self.names.node(letter)}
                made += self.pool(f"pool-{letter}", where, self.random.choice((1, 1, 2)))
        if self.chance(40):
            wide = ({"allNodes": True}, self.zone(), {"perDeviceNodeSelection": True})
            made += self.pool("network", self.random.choice(wide), 1)
        return made

    def zone(self) -> Object:
        """Return a choice of nodes by their zone."""
        return in_zone(self.random.choice(("one", "two")))

    def pool(self, pool: str, where: Object, count: int) -> list[Object]:
        """Return the slices of a pool, sometimes one too few or too many."""
        generation = self.random.choice((1, 1, 2))

        def part(stem: str, order: int, generation: int, count: int) -> Object:
            own = "perDeviceNodeSelection" in where
            number = self.random.choice((1, 2, 3, 4))
            devices = [self.device(f"{stem}-{index}", own=own) for index in range(number)]
            return slice_object(
                self.names,
                pool,
                where,
                devices,
                order=order,
                generation=generation,
                count=count,
            )

        # Made first, tried last: the name decides, not the order of creation.
        slices = [part(f"d{index}", 9 - index, generation, count) for index in range(count)]
        if self.chance(10):
            slices = slices[:-1]  # incomplete, or none at all
        if self.chance(10):
            slices.append(part("old", 0, generation - 1, 1))
        if self.chance(4):
            slices.append(part("d0", 1, generation, count))  # one too many
        return slices

    def device(self, name: str, *, own: bool) -> Object:
        """Return a device; if it has its `own` choice of nodes, with one."""
        attributes: dict[str, Any] = {"kind": self.random.choice(("fast", "slow"))}
        rest: tuple[tuple[int, str, tuple[Any, ...]], ...] = (
            (95, "speed", (10, 25, 100)),
            (90, "numa", (0, 1)),
            (30, "example.org/root", ("r1", "r2")),
            (50, "firmware", ("v1.2.3", "v2.0.0-rc.1")),
            (50, "up", (True, False)),
        )
        for percent, key, values in rest:
            if self.chance(percent):
                attributes[key] = self.random.choice(values)
        fields: Object = {}
        if self.chance(15):
            fields["allowMultipleAllocations"] = True
        if self.chance(20):
            effect, value = self.random.choice(EFFECTS), self.random.choice(("yes", "no"))
            taint = {"key": f"{self.names.driver}/broken", "effect": effect, "value": value}
            fields["taints"] = [taint]
        if own:
            node = {"nodeName": self.names.node(self.random.choice("abc"))}
            fields |= self.random.choice((node, {"allNodes": True}, self.zone()))
        return device(name, attributes, **fields)

    def claim(self, index: int) -> Object:
        """Return a claim."""
        requests = [self._request(f"r{n}") for n in range(self.random.choice((1, 1, 2, 3)))]
        devices: Object = {}
        if self.chance(35):
            devices["constraints"] = [self._constraint(requests)]
        if self.chance(30):
            count = self.random.choice((1, 2, 3))
            devices["config"] = [self._config(requests, f"claim {n}") for n in range(count)]
        return claim_object(self.names, requests, index, **devices)

    def _config(self, requests: list[Object], by: str) -> Object:
        """An entry for everything, or for some requests and alternatives."""
        names = [request["name"] for request in requests]
        names += [
            f"{one['name']}/{s['name']}" for one in requests for s in one.get("firstAvailable", ())
        ]
        named = self.random.sample(names, self.random.randint(0, len(names)))
        opaque = {"driver": self.names.driver, "parameters": {"by": by}}
        return {**({"requests": named} if named else {}), "opaque": opaque}

    def _constraint(self, requests: list[Object]) -> Object:
        kind = self.random.choice(("matchAttribute", "distinctAttribute"))
        mine = self.names.driver
        attribute = self.random.choice((f"{mine}/numa", f"{mine}/kind", "example.org/root"))
        constraint: Object = {kind: attribute}
        if self.chance(50):
            constraint["requests"] = [request["name"] for request in requests[:2]]
        return constraint

    def _request(self, name: str) -> Object:
        if self.chance(25):
            count = self.random.choice((1, 2, 3))
            return {"name": name, "firstAvailable": [self.exact(f"s{n}") for n in range(count)]}
        return {"name": name, "exactly": self.exact("")}

    def exact(self, name: str) -> Object:
        """Return what a request, or an alternative of that name, asks for."""
        fields: Object = {"name": name} if name else {}
        expressions = [self.random.choice(EXPRESSIONS)] if self.chance(60) else []
        if self.chance(10) and not name:
            fields["adminAccess"] = True
        if self.chance(25):
            toleration = {"key": f"{self.names.driver}/broken", "operator": "Exists"}
            if self.chance(50):
                toleration |= {"operator": "Equal", "value": "yes", "effect": "NoSchedule"}
            fields["tolerations"] = [toleration]
        return exact(
            self.names,
            *expressions,
            of=self.random.choice(("any", "any", "fast")),
            count=self.random.choice((1, 1, 1, 2, 3)),
            everything=self.chance(15),
            **fields,
        )

    def held(self, slices: list[Object]) -> list[Object]:
        """Return a claim that has some devices already."""
        devices = [
            (one["spec"]["pool"]["name"], device["name"])
            for one in slices
            for device in one["spec"]["devices"]
            if self.chance(15) and "allowMultipleAllocations" not in device
        ]
        return [held_claim(self.names, sorted(set(devices)))] if devices else []
