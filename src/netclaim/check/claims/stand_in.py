"""Make up the allocation of a claim, from manifests alone.

Each request for our driver gets made-up devices, with the configuration of the claim and of its
classes as the scheduler would copy it. The driver of a request is read from the selector
`device.driver == "..."`, or from the configuration that names the request.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from netclaim.check.claims.wanted import Wanted, alternatives, class_of, expressions
from netclaim.manifests.kinds import CONFIGS
from netclaim.manifests.objects import Index, Object, inside
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.model.api.limits import RESULTS_MAX
from netclaim.model.claims.claim import JsonObject
from netclaim.model.claims.named_drivers import named_drivers
from netclaim.model.pools.counted_pool import pool_of_class
from netclaim.network.request.keys import BY_NAME
from netclaim.paths import Path

ANY: Final = "any"  # the request of a made-up claim
NAME: Final = re.compile(r"[a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Config:
    """An entry of a `config`, with the place where it stands."""

    owner: Object
    path: Path
    opaque: OpaqueConfig


@dataclass(frozen=True, slots=True)
class StandIn:
    """A claim as if it were allocated to one driver."""

    subject: Object
    driver: str
    wanted: tuple[Wanted, ...]
    configs: tuple[Config, ...]  # for the driver, of the claim and of its classes
    sure: frozenset[str]  # requests whose class is in the files

    def asked(self, request: str) -> Wanted:
        """The request of a name, or the alternative that stands in for it."""
        return next(one for one in self.wanted if one.request == request)

    def claim(self) -> Claim:
        """The claim as the driver would read it."""
        devices = tuple(
            AllocatedDevice(one.name, self.driver, "stand-in", f"{one.name}-{number}")
            for one in self.wanted
            for number in range(_device_count(one))
        )
        configs = tuple(config.opaque for config in self.configs)
        return Claim(uid="", namespace="", name="", devices=devices, configs=configs)


def class_alone(subject: Object, driver: str) -> StandIn:
    """A made-up claim for a class, to judge the parameters of the class by themselves."""
    configs = [_for_request(each, ANY) for each in configs_of(subject) if _is_for(each, driver)]
    claimed = _claim_of_any(configs[-1])
    alone = Wanted(ANY, ("spec",), {})
    return StandIn(subject, driver, (alone,), (*configs, *claimed), frozenset({ANY}))


def stand_ins(subject: Object, index: Index, driver: str) -> Iterator[StandIn]:
    """The claim as allocated from its requests' first alternatives, from their second, and so on.

    Each alternative is part of at least one allocation; not every combination is made.
    """
    own = [config for config in configs_of(subject) if _is_for(config, driver)]
    requests = _distinct(alternatives(subject))
    for choice in range(max(map(len, requests), default=0)):
        ours: list[Wanted] = []
        configs = list(own)
        sure: set[str] = set()
        for choices in requests:
            one = choices[min(choice, len(choices) - 1)]
            if pool_of_class(one.class_name):  # for an address, of which nothing is prepared
                continue
            device_class = class_of(one, subject, index)
            theirs = [] if device_class is None else configs_of(device_class)
            of_class = [_for_request(c, one.name) for c in theirs if _is_for(c, driver)]
            configured = any(c.opaque.applies_to(one.name) for c in (*own, *of_class))
            pinned = pinned_drivers(one, device_class)
            meant = driver in pinned if pinned else configured
            if meant and (configured or device_class is not None):
                ours.append(one)
                configs += of_class
                sure |= {one.name} if device_class is not None else set()
        if ours:
            yield StandIn(subject, driver, tuple(ours), tuple(configs), frozenset(sure))


def _distinct(requests: Iterable[tuple[Wanted, ...]]) -> list[tuple[Wanted, ...]]:
    """The requests that a driver can distinguish: with names, and no two with the same."""
    found: dict[str, tuple[Wanted, ...]] = {}
    for choices in requests:
        names = [name for one in choices for name in (one.request, one.alternative)]
        if names and all(NAME.fullmatch(name) for name in names if name is not None):
            found.setdefault(choices[0].request, choices)
    return list(found.values())


def _device_count(one: Wanted) -> int:
    if one.fields.get("allocationMode") == "All":
        return 1
    count: int = one.fields.get("count", 1)
    return min(max(count, 1), RESULTS_MAX)


def configs_of(subject: Object) -> list[Config]:
    """The configurations of a claim, template or class that have a driver and parameters."""
    path = CONFIGS.get(subject.kind)
    if path is None:
        return []
    found = []
    for number, entry in enumerate(inside(subject.object, path[:-1]).get("config", ())):
        opaque: JsonObject = entry.get("opaque", {})
        if isinstance(opaque.get("parameters"), dict) and opaque.get("driver"):
            config = OpaqueConfig(
                source="FromClass" if subject.kind == "DeviceClass" else "FromClaim",
                driver=opaque["driver"],
                parameters=opaque["parameters"],
                requests=tuple(entry.get("requests", ())),
            )
            found.append(Config(subject, (*path, number), config))
    return found


def _for_request(config: Config, request: str) -> Config:
    """A class's entry as the scheduler copies it into an allocation."""
    opaque = msgspec.structs.replace(config.opaque, requests=(request,))
    return Config(config.owner, config.path, opaque)


def _claim_of_any(config: Config) -> tuple[Config, ...]:
    """A made-up interface name for a class that sets everything but that; the driver needs one."""
    name = BY_NAME["ifName"]
    parameters = config.opaque.parameters
    if "config" not in parameters or not parameters.keys().isdisjoint({name.name, name.plain}):
        return ()
    named = OpaqueConfig("FromClaim", config.opaque.driver, {name.plain: "net1"}, (ANY,))
    return (Config(config.owner, config.path, named),)


def _is_for(config: Config, driver: str) -> bool:
    return config.opaque.driver == driver


def pinned_drivers(one: Wanted, device_class: Object | None) -> frozenset[str]:
    """The drivers that the selectors of a request and of its class name."""
    texts = expressions(one, device_class)
    return frozenset().union(*map(named_drivers, texts))
