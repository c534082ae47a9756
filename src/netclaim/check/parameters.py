"""Judge network parameters in manifests, as the driver would once their claim is allocated.

The driver reads parameters of an allocated claim (`netclaim.network.parameters`). A manifest has no
allocation, so `stand_in` makes one up.
Promise: in the driver's own words, each at its line; parameters of other drivers are left alone.
Limit: a class that is not in the files may set what a claim leaves out, so that is a warning then.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from netclaim.check.alone import alone_doubts
from netclaim.check.policy import Policy, level_in, policy_faults
from netclaim.check.stand_in import StandIn, class_alone, configs_of, pinned_drivers, stand_ins
from netclaim.check.subject import Wanted, wanted
from netclaim.errors import RequestError
from netclaim.manifests.finding import Finding
from netclaim.manifests.kinds import CLAIM_SPECS
from netclaim.manifests.near import near
from netclaim.manifests.objects import Index, Object, inside
from netclaim.network import DRIVER_NAME
from netclaim.network.dialect import is_our_dialect
from netclaim.network.entries import Entry, Requested
from netclaim.network.errors import ParametersError
from netclaim.network.ifnames import pattern_like
from netclaim.network.parameter_keys import KEYS, SetBy
from netclaim.network.parameters import InterfaceRequest, read_claim
from netclaim.network.strict import config_faults, misspelt_types
from netclaim.paths import Path

__all__ = ["Judged", "check_claim", "check_class", "our_drivers"]

# What the class or the claim may set, under whatever name, and one of them has to.
SET_BY_EITHER: Final = frozenset(
    name
    for key in KEYS
    if key.missing and key.set_by is SetBy.EITHER
    for name in (key.name, key.plain)
)

DRIVERS_ALIKE: Final = 0.9  # two names of a long domain are alike anyway


@dataclass(frozen=True, slots=True)
class Judged:
    """What is wrong with a claim's parameters, and which interfaces it asks for."""

    findings: tuple[Finding, ...]
    ifnames: frozenset[str]
    slips: tuple[Finding, ...] = ()  # of the findings, the warnings about misspelt drivers


def our_drivers(subjects: Iterable[Object]) -> frozenset[str]:
    """The names under which netclaim's driver is spoken to: its own, and those it reads."""
    spoken_to = {
        config.opaque.driver
        for subject in subjects
        for config in configs_of(subject)
        if is_our_dialect(config.opaque.parameters)
    }
    return frozenset({DRIVER_NAME, *spoken_to})


def check_class(subject: Object, drivers: frozenset[str]) -> Iterator[Finding]:
    """Judge a DeviceClass's parameters by themselves; what they leave out, claims may set."""
    meant = {config.opaque.driver for config in configs_of(subject)}
    for driver in sorted(meant & drivers):
        stand_in = class_alone(subject, driver)
        for finding, path in _read(stand_in)[0]:
            if not _is_left_out(subject, path):
                yield finding


def check_claim(
    subject: Object, index: Index, drivers: frozenset[str], policy: Policy | None = None
) -> Judged:
    """Judge the parameters of a claim or template, with those of its classes.

    Without a `policy`, what the drivers would refuse by theirs is left out.
    """
    level = level_in(subject, index, policy or Policy())
    findings: dict[Finding, None] = {}
    ifnames: set[str] = set()
    for driver in sorted(_drivers_meant(subject, index) & drivers):
        for unjudged in stand_ins(subject, index, driver):
            stand_in = replace(unjudged, policy=policy, level=level)
            found, requests = _read(stand_in)
            findings |= {finding: None for finding, _ in found}
            ifnames |= {request.ifname for request in requests}
            findings |= dict.fromkeys(_all_mode(stand_in, requests))
            findings |= dict.fromkeys(_alone_doubts(stand_in, index))
    slips = tuple(_misspelt_drivers(subject, index))
    return Judged((*findings, *slips), frozenset(ifnames), slips)


def _alone_doubts(stand_in: StandIn, index: Index) -> Iterator[Finding]:
    """Requests that take a link which others may share; of a claim that can be read."""
    try:
        requests = read_claim(stand_in.claim())
    except RequestError:
        return
    for request in requests:
        one = _wanted(stand_in, request.device.base_request)
        device_class = index.find("DeviceClass", one.class_name, near=stand_in.subject)
        yield from alone_doubts(request, one, stand_in.subject, device_class)


def _misspelt_drivers(subject: Object, index: Index) -> Iterator[Finding]:
    """Parameters of ours for a driver that no request is for, but whose name is nearly one."""
    pinned: set[str] = set()
    for one in (one for alternatives in wanted(subject) for one in alternatives):
        pinned |= pinned_drivers(one, index.find("DeviceClass", one.class_name, near=subject))
    for config in configs_of(subject):
        driver = config.opaque.driver
        guess = "" if driver in pinned else near(driver, pinned, cutoff=DRIVERS_ALIKE)
        if guess and is_our_dialect(config.opaque.parameters):
            message = f'no request is for the driver "{driver}"; did you mean "{guess}"?'
            yield subject.warning((*config.path, "opaque", "driver"), message)


def _drivers_meant(subject: Object, index: Index) -> set[str]:
    """Every driver that a claim or a class of its requests speaks of."""
    found = {config.opaque.driver for config in configs_of(subject)}
    for one in (one for alternatives in wanted(subject) for one in alternatives):
        device_class = index.find("DeviceClass", one.class_name, near=subject)
        found |= pinned_drivers(one, device_class)
        if device_class is not None:
            found |= {config.opaque.driver for config in configs_of(device_class)}
    return found


def _read(
    stand_in: StandIn,
) -> tuple[list[tuple[Finding, Path]], tuple[InterfaceRequest, ...]]:
    """Ask the driver: its complaints with their places, or the interfaces that it would make."""
    try:
        requests = read_claim(stand_in.claim())
    except ParametersError as error:
        return [_located(stand_in, fault) for fault in error.faults], ()
    except RequestError as error:
        return [_located(stand_in, error)], ()
    found = []
    for request in requests:
        faults = list(_refusals(stand_in, request))
        found += [_located(stand_in, fault) for fault in faults]
        found += _doubts(stand_in, request, {fault.path for fault in faults})
    return found, requests


def _refusals(stand_in: StandIn, request: InterfaceRequest) -> Iterator[RequestError]:
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
    stand_in: StandIn, request: InterfaceRequest, refused: Collection[Path]
) -> Iterator[tuple[Finding, Path]]:
    """Types that are misspelt, unless the nodes have programs of such names."""
    for path, message in misspelt_types(request):
        match path:
            case (Entry() as entry, *inner) if path not in refused:
                config = stand_in.configs[entry.number]
                where = (*config.path, *inner)
                yield config.owner.warning(where, message), where


def _located(stand_in: StandIn, fault: RequestError) -> tuple[Finding, Path]:
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


def _in_entry(stand_in: StandIn, entry: Entry, inner: Path, message: str) -> tuple[Finding, Path]:
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


def _wanted(stand_in: StandIn, request: str) -> Wanted:
    """The request of this name, or its alternative that is looked at."""
    return next(one for one in stand_in.wanted if one.request == request)


def _all_mode(stand_in: StandIn, requests: Sequence[InterfaceRequest]) -> Iterator[Finding]:
    """How many devices a request for all of them gets, files do not tell."""
    for one in stand_in.wanted:
        if one.fields.get("allocationMode") == "All":
            read = next((r for r in requests if r.device.base_request == one.request), None)
            if read is not None and not read.pattern:
                yield stand_in.subject.warning(
                    (*one.path, "allocationMode"),
                    f"All may allocate several devices, but {read.ifname} is the name of one "
                    f"interface; write a pattern as ifName, for example "
                    f"{pattern_like(read.ifname)}",
                )


def _is_left_out(subject: Object, path: Path) -> bool:
    """Whether a path leads to something that either side may set and this side does not."""
    parameters: dict[str, Any] = inside(subject.object, path[:-1])
    at_top = path[-2:-1] == ("parameters",)
    return at_top and path[-1] in SET_BY_EITHER and path[-1] not in parameters
