"""Judge network parameters in manifests, as the driver would once their claim is allocated.

The driver reads parameters of an allocated claim (`netclaim.network.parameters`). A manifest has no
allocation, so one is made up: a device for each request that is ours, with the configuration of the
claim and of its classes as the scheduler would copy them.
Promise: parameters of other drivers are left alone. Limit: a class that is not in the files may set
what a claim leaves out, so that is a warning then; a request's driver is known by the selector
`device.driver == "..."`, or by the configuration that names the request.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from netclaim.check.finding import Finding
from netclaim.check.policy import Policy, level_in, policy_faults
from netclaim.check.subject import CLAIM_SPECS, Index, Subject, Wanted, inside, wanted
from netclaim.errors import RequestError
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.model.claim import JsonObject
from netclaim.network import DRIVER_NAME
from netclaim.network.dialect import is_our_dialect
from netclaim.network.entries import Entry, Requested
from netclaim.network.errors import ParametersError
from netclaim.network.parameter_keys import BY_NAME, KEYS, SetBy
from netclaim.network.parameters import InterfaceRequest, read_claim
from netclaim.network.policy import Level
from netclaim.network.strict import config_faults, misspelt_types
from netclaim.paths import Path

__all__ = ["Judged", "check_claim", "check_class", "our_drivers"]

DEVICES_MAX: Final = 32  # the most that an allocation holds
PINNED: Final = re.compile(r"""\bdevice\.driver\s*==\s*(["'])([^"']*)\1""")
NAME: Final = re.compile(r"[a-z0-9-]+(/[a-z0-9-]+)?")
# What the class or the claim may set, under whatever name, and one of them has to.
SET_BY_EITHER: Final = frozenset(
    name
    for key in KEYS
    if key.missing and key.set_by is SetBy.EITHER
    for name in (key.name, key.plain)
)


@dataclass(frozen=True, slots=True)
class Judged:
    """What is wrong with a claim's parameters, and which interfaces it asks for."""

    findings: tuple[Finding, ...]
    ifnames: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Config:
    """An entry of a `config`, with the place where it stands."""

    owner: Subject
    path: Path
    opaque: OpaqueConfig


@dataclass(frozen=True, slots=True)
class _StandIn:
    """A claim as if it were allocated: for each request, what it asks and who configures it."""

    subject: Subject
    driver: str
    wanted: tuple[Wanted, ...]
    configs: tuple[_Config, ...]  # of the driver, the classes' too
    sure: frozenset[str]  # requests whose class is in the files
    policy: Policy | None = None  # None: do not ask
    level: Level = Level.BASELINE  # of the claim's namespace

    def claim(self) -> Claim:
        devices = tuple(
            AllocatedDevice(one.name, self.driver, "stand-in", f"{one.name}-{number}")
            for one in self.wanted
            for number in range(_device_count(one))
        )
        configs = tuple(config.opaque for config in self.configs)
        return Claim(uid="", namespace="", name="", devices=devices, configs=configs)


def our_drivers(subjects: Iterable[Subject]) -> frozenset[str]:
    """The names under which netclaim's driver is spoken to: its own, and those it reads."""
    spoken_to = {
        config.opaque.driver
        for subject in subjects
        for config in _configs(subject)
        if is_our_dialect(config.opaque.parameters)
    }
    return frozenset({DRIVER_NAME, *spoken_to})


def check_class(subject: Subject, drivers: frozenset[str]) -> Iterator[Finding]:
    """Judge a DeviceClass's parameters by themselves; what they leave out, claims may set."""
    meant = {config.opaque.driver for config in _configs(subject)}
    for driver in sorted(meant & drivers):
        configs = [_for_request(c, "any") for c in _configs(subject) if _is_for(c, driver)]
        alone = Wanted("any", ("spec",), {})
        claimed = _claim_of_any(configs[-1])
        stand_in = _StandIn(subject, driver, (alone,), (*configs, *claimed), frozenset({"any"}))
        for finding, path in _read(stand_in)[0]:
            if not _is_left_out(subject, path):
                yield finding


def check_claim(
    subject: Subject, index: Index, drivers: frozenset[str], policy: Policy | None = None
) -> Judged:
    """Judge the parameters of a claim or template, with those of its classes.

    Without a `policy`, what the drivers would refuse by theirs is left out.
    """
    level = level_in(subject, index, policy or Policy())
    findings: dict[Finding, None] = {}
    ifnames: set[str] = set()
    for driver in sorted(_drivers_meant(subject, index) & drivers):
        for unjudged in _stand_ins(subject, index, driver):
            stand_in = replace(unjudged, policy=policy, level=level)
            found, names = _read(stand_in)
            findings |= {finding: None for finding, _ in found}
            ifnames |= names
            findings |= dict.fromkeys(_all_mode(stand_in))
    return Judged(tuple(findings), frozenset(ifnames))


def _stand_ins(subject: Subject, index: Index, driver: str) -> Iterator[_StandIn]:
    """The claim as allocated from its requests' first alternatives, from their second, and so on.

    Each alternative is part of one at least; not every combination is.
    """
    own = [config for config in _configs(subject) if _is_for(config, driver)]
    requests = _told_apart(wanted(subject))
    for choice in range(max(map(len, requests), default=0)):
        ours: list[Wanted] = []
        configs = list(own)
        sure: set[str] = set()
        for alternatives in requests:
            one = alternatives[min(choice, len(alternatives) - 1)]
            device_class = index.find("DeviceClass", one.class_name, near=subject)
            theirs = [] if device_class is None else _configs(device_class)
            of_class = [_for_request(c, one.name) for c in theirs if _is_for(c, driver)]
            configured = any(c.opaque.applies_to(one.name) for c in (*own, *of_class))
            pinned = _pinned_drivers(one, device_class)
            meant = driver in pinned if pinned else configured
            if meant and (configured or device_class is not None):
                ours.append(one)
                configs += of_class
                sure |= {one.name} if device_class is not None else set()
        if ours:
            yield _StandIn(subject, driver, tuple(ours), tuple(configs), frozenset(sure))


def _drivers_meant(subject: Subject, index: Index) -> set[str]:
    """Every driver that a claim or a class of its requests speaks of."""
    found = {config.opaque.driver for config in _configs(subject)}
    for one in (one for alternatives in wanted(subject) for one in alternatives):
        device_class = index.find("DeviceClass", one.class_name, near=subject)
        found |= _pinned_drivers(one, device_class)
        if device_class is not None:
            found |= {config.opaque.driver for config in _configs(device_class)}
    return found


def _told_apart(requests: Iterable[tuple[Wanted, ...]]) -> list[tuple[Wanted, ...]]:
    """The requests by which a driver could be asked: named, and no two the same."""
    found: dict[str, tuple[Wanted, ...]] = {}
    for alternatives in requests:
        if alternatives and all(NAME.fullmatch(one.name) for one in alternatives):
            found.setdefault(_base(alternatives[0]), alternatives)
    return list(found.values())


def _read(stand_in: _StandIn) -> tuple[list[tuple[Finding, Path]], frozenset[str]]:
    """Ask the driver: its complaints with their places, or the names of the interfaces."""
    try:
        requests = read_claim(stand_in.claim())
    except ParametersError as error:
        return [_located(stand_in, fault) for fault in error.faults], frozenset()
    except RequestError as error:
        return [_located(stand_in, error)], frozenset()
    found = []
    for request in requests:
        faults = list(_refusals(stand_in, request))
        found += [_located(stand_in, fault) for fault in faults]
        found += _doubts(stand_in, request, {fault.path for fault in faults})
    return found, frozenset(request.ifname for request in requests)


def _refusals(stand_in: _StandIn, request: InterfaceRequest) -> Iterator[RequestError]:
    """What the driver would refuse of a request that can be read."""
    found = config_faults(request)
    if stand_in.policy is None:
        yield from found
        return
    one = _wanted(stand_in, request.device.base_request)
    yield from policy_faults(
        request, one, stand_in.subject, stand_in.policy, stand_in.level, found=found
    )


def _doubts(
    stand_in: _StandIn, request: InterfaceRequest, refused: Collection[Path]
) -> Iterator[tuple[Finding, Path]]:
    """Types that are misspelt, unless the nodes have programs of such names."""
    for path, message in misspelt_types(request):
        match path:
            case (Entry() as entry, *inner) if path not in refused:
                config = stand_in.configs[entry.number]
                where = (*config.path, *inner)
                yield config.owner.warning(where, message), where


def _located(stand_in: _StandIn, fault: RequestError) -> tuple[Finding, Path]:
    """A complaint of the driver's, which speaks of requests by name, at its place in the files."""
    subject = stand_in.subject
    match fault.path:
        case (Entry() as entry, *inner):
            return _in_entry(stand_in, entry, tuple(inner), fault.message)
        case (Requested() as requested, *_):
            path = _wanted(stand_in, requested.request).path
        case ("spec", *inner):
            path = (*CLAIM_SPECS[subject.kind], *inner)
        case nowhere:
            path = nowhere
    return subject.error(path, fault.message), path


def _in_entry(stand_in: _StandIn, entry: Entry, inner: Path, message: str) -> tuple[Finding, Path]:
    """A complaint about an entry of `config`: one that the class may mend is none of the claim."""
    subject = stand_in.subject
    config = stand_in.configs[entry.number]
    path = (*config.path, *inner)
    left_out = _is_left_out(config.owner, path)
    if entry.of_class and left_out and subject is not config.owner:
        said = f"{message}; set it in the claim or in its class"
        return subject.error(_wanted(stand_in, entry.request).path, said), path
    one = _wanted(stand_in, entry.request)
    if not entry.of_class and left_out and one.name not in stand_in.sure:
        said = f"{message}, unless the class {one.class_name} sets it"
        return subject.warning(path, said), path
    return config.owner.error(path, message), path


def _wanted(stand_in: _StandIn, label: str) -> Wanted:
    return next(one for one in stand_in.wanted if _base(one) == label)


def _base(one: Wanted) -> str:
    return one.name.partition("/")[0]


def _all_mode(stand_in: _StandIn) -> Iterator[Finding]:
    for one in stand_in.wanted:
        if one.fields.get("allocationMode") == "All":
            yield stand_in.subject.warning(
                (*one.path, "allocationMode"),
                "All may give several devices, and an interface is made of one: "
                "write ExactCount, count 1",
            )


def _device_count(one: Wanted) -> int:
    if one.fields.get("allocationMode") == "All":
        return 1
    count: int = one.fields.get("count", 1)
    return min(max(count, 1), DEVICES_MAX)


def _configs(subject: Subject) -> list[_Config]:
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
            found.append(_Config(subject, (*path, "config", number), config))
    return found


def _for_request(config: _Config, request: str) -> _Config:
    """A class's entry as the scheduler copies it into an allocation."""
    opaque = OpaqueConfig("FromClass", config.opaque.driver, config.opaque.parameters, (request,))
    return _Config(config.owner, config.path, opaque)


def _claim_of_any(config: _Config) -> tuple[_Config, ...]:
    """A claim that names the interface of a class that has all but that, so that it can be read."""
    name = BY_NAME["ifName"]
    parameters = config.opaque.parameters
    if "config" not in parameters or not parameters.keys().isdisjoint({name.name, name.plain}):
        return ()
    named = OpaqueConfig("FromClaim", config.opaque.driver, {name.plain: "net1"}, ("any",))
    return (_Config(config.owner, config.path, named),)


def _is_for(config: _Config, driver: str) -> bool:
    return config.opaque.driver == driver


def _pinned_drivers(one: Wanted, device_class: Subject | None) -> frozenset[str]:
    """The drivers that a request's selectors, and its class's, speak of."""
    of_class = inside(device_class.object, ("spec",)) if device_class is not None else {}
    selectors = (*one.fields.get("selectors", ()), *of_class.get("selectors", ()))
    texts = (selector.get("cel", {}).get("expression", "") for selector in selectors)
    return frozenset(match[2] for text in texts for match in PINNED.finditer(text))


def _is_left_out(subject: Subject, path: Path) -> bool:
    """Whether a path leads to something that either side may set and this side does not."""
    parameters: dict[str, Any] = inside(subject.object, path[:-1])
    at_top = path[-2:-1] == ("parameters",)
    return at_top and path[-1] in SET_BY_EITHER and path[-1] not in parameters
