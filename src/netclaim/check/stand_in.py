"""A claim as if it were allocated, made of manifests alone.

A device is made up for each request that is ours, with the configuration of the claim and of its
classes as the scheduler would copy them. Limit: a request's driver is known by the selector
`device.driver == "..."`, or by the configuration that names the request.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from netclaim.check.policy import Policy
from netclaim.check.subject import Wanted, wanted
from netclaim.manifests.kinds import CLAIM_SPECS
from netclaim.manifests.objects import Index, Object, inside
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.model.claim import JsonObject
from netclaim.network.parameter_keys import BY_NAME
from netclaim.network.policy import Level
from netclaim.paths import Path

__all__ = ["Config", "StandIn", "class_alone", "configs_of", "pinned_drivers", "stand_ins"]

DEVICES_MAX: Final = 32  # the most that an allocation holds
PINNED: Final = re.compile(r"""\bdevice\.driver\s*==\s*(["'])([^"']*)\1""")
ANY: Final = "any"  # the request of a claim that there is not
NAME: Final = re.compile(r"[a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Config:
    """An entry of a `config`, with the place where it stands."""

    owner: Object
    path: Path
    opaque: OpaqueConfig


@dataclass(frozen=True, slots=True)
class StandIn:
    """A claim as if it were allocated: for each request, what it asks and who configures it."""

    subject: Object
    driver: str
    wanted: tuple[Wanted, ...]
    configs: tuple[Config, ...]  # of the driver, the classes' too
    sure: frozenset[str]  # requests whose class is in the files
    policy: Policy | None = None  # None: do not ask
    level: Level = Level.BASELINE  # of the claim's namespace

    def claim(self) -> Claim:
        """The claim as the driver would be given it."""
        devices = tuple(
            AllocatedDevice(one.name, self.driver, "stand-in", f"{one.name}-{number}")
            for one in self.wanted
            for number in range(_device_count(one))
        )
        configs = tuple(config.opaque for config in self.configs)
        return Claim(uid="", namespace="", name="", devices=devices, configs=configs)


def class_alone(subject: Object, driver: str) -> StandIn:
    """A claim for a class, by which to judge the class's own parameters."""
    configs = [_for_request(each, ANY) for each in configs_of(subject) if _is_for(each, driver)]
    claimed = _claim_of_any(configs[-1])
    alone = Wanted(ANY, ("spec",), {})
    return StandIn(subject, driver, (alone,), (*configs, *claimed), frozenset({ANY}))


def stand_ins(subject: Object, index: Index, driver: str) -> Iterator[StandIn]:
    """The claim as allocated from its requests' first alternatives, from their second, and so on.

    Each alternative is part of one at least; not every combination is.
    """
    own = [config for config in configs_of(subject) if _is_for(config, driver)]
    requests = _told_apart(wanted(subject))
    for choice in range(max(map(len, requests), default=0)):
        ours: list[Wanted] = []
        configs = list(own)
        sure: set[str] = set()
        for alternatives in requests:
            one = alternatives[min(choice, len(alternatives) - 1)]
            device_class = index.find("DeviceClass", one.class_name, near=subject)
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


def _told_apart(requests: Iterable[tuple[Wanted, ...]]) -> list[tuple[Wanted, ...]]:
    """The requests by which a driver could be asked: named, and no two the same."""
    found: dict[str, tuple[Wanted, ...]] = {}
    for alternatives in requests:
        names = [name for one in alternatives for name in (one.request, one.alternative)]
        if names and all(NAME.fullmatch(name) for name in names if name is not None):
            found.setdefault(alternatives[0].request, alternatives)
    return list(found.values())


def _device_count(one: Wanted) -> int:
    if one.fields.get("allocationMode") == "All":
        return 1
    count: int = one.fields.get("count", 1)
    return min(max(count, 1), DEVICES_MAX)


def configs_of(subject: Object) -> list[Config]:
    """The opaque entries of a claim, template or class that are whole."""
    if subject.kind == "DeviceClass":
        path: Path = ("spec",)
    elif subject.kind in CLAIM_SPECS:
        path = (*CLAIM_SPECS[subject.kind], "devices")
    else:
        return []
    found = []
    for number, entry in enumerate(inside(subject.object, path).get("config", ())):
        opaque: JsonObject = entry.get("opaque", {})
        if isinstance(opaque.get("parameters"), dict) and opaque.get("driver"):
            config = OpaqueConfig(
                source="FromClass" if subject.kind == "DeviceClass" else "FromClaim",
                driver=opaque["driver"],
                parameters=opaque["parameters"],
                requests=tuple(entry.get("requests", ())),
            )
            found.append(Config(subject, (*path, "config", number), config))
    return found


def _for_request(config: Config, request: str) -> Config:
    """A class's entry as the scheduler copies it into an allocation."""
    opaque = OpaqueConfig("FromClass", config.opaque.driver, config.opaque.parameters, (request,))
    return Config(config.owner, config.path, opaque)


def _claim_of_any(config: Config) -> tuple[Config, ...]:
    """A claim that names the interface of a class that has all but that, so that it can be read."""
    name = BY_NAME["ifName"]
    parameters = config.opaque.parameters
    if "config" not in parameters or not parameters.keys().isdisjoint({name.name, name.plain}):
        return ()
    named = OpaqueConfig("FromClaim", config.opaque.driver, {name.plain: "net1"}, (ANY,))
    return (Config(config.owner, config.path, named),)


def _is_for(config: Config, driver: str) -> bool:
    return config.opaque.driver == driver


def pinned_drivers(one: Wanted, device_class: Object | None) -> frozenset[str]:
    """The drivers that a request's selectors, and its class's, speak of."""
    of_class = inside(device_class.object, ("spec",)) if device_class is not None else {}
    selectors = (*one.fields.get("selectors", ()), *of_class.get("selectors", ()))
    texts = (selector.get("cel", {}).get("expression", "") for selector in selectors)
    return frozenset(match[2] for text in texts for match in PINNED.finditer(text))
