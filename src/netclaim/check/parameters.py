"""Judge network parameters in manifests, as the driver would once their claim is allocated.

The driver reads the parameters of an allocated claim (`netclaim.network.request.parameters`). A
manifest has no allocation, so `stand_in` makes one up. Findings have the driver's own words, each
at its line; parameters of other drivers are passed over. A class that is not in the files may set
what a claim leaves out, which is then only a warning.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from netclaim.check.claims.alone import alone_doubts, link_doubts
from netclaim.check.claims.policy import Policy, policy_faults, standing_in
from netclaim.check.claims.stand_in import (
    StandIn,
    class_alone,
    configs_of,
    pinned_drivers,
    stand_ins,
)
from netclaim.check.claims.unpublished import unpublished_doubts, unread_doubts
from netclaim.check.claims.wanted import class_of, wanted
from netclaim.check.pools import PoolUse, pool_doubts, pools_wanted
from netclaim.errors import RequestError
from netclaim.manifests.finding import Finding, Severity
from netclaim.manifests.kinds import CLAIM_SPECS
from netclaim.manifests.near import near
from netclaim.manifests.objects import Index, Object, inside
from netclaim.network import DRIVER_NAME
from netclaim.network.errors import ParametersError
from netclaim.network.judge.mistakes import config_faults, misspelt_types
from netclaim.network.policy.standing import Standing
from netclaim.network.request.dialect import is_our_dialect
from netclaim.network.request.entries import Entry, Requested
from netclaim.network.request.ifnames import pattern_like
from netclaim.network.request.keys import KEYS, SetBy
from netclaim.network.request.parameters import InterfaceRequest, read_claim
from netclaim.paths import Path

# What either the class or the claim must set, under any of its names.
SET_BY_EITHER: Final = frozenset(
    name
    for key in KEYS
    if key.missing and key.set_by is SetBy.EITHER
    for name in (key.name, key.plain)
)

DRIVERS_ALIKE: Final = 0.9  # names that share a long domain are alike in any case


@dataclass(frozen=True, slots=True)
class Judged:
    """What is wrong with a claim's parameters, and which interfaces it asks for."""

    findings: tuple[Finding, ...]
    ifnames: frozenset[str]
    slips: tuple[Finding, ...] = ()  # those of the findings that are about misspelt drivers
    pools: frozenset[str] = frozenset()  # of which it wants addresses


def our_drivers(subjects: Iterable[Object]) -> frozenset[str]:
    """The names of netclaim's driver: its own, and those that get parameters of its kind."""
    addressed = {
        config.opaque.driver
        for subject in subjects
        for config in configs_of(subject)
        if is_our_dialect(config.opaque.parameters)
    }
    return frozenset({DRIVER_NAME, *addressed})


def check_class(subject: Object, drivers: frozenset[str], index: Index) -> Iterator[Finding]:
    """Judge a DeviceClass by itself; claims may set what its parameters leave out."""
    yield from unread_doubts(subject, drivers)
    meant = {config.opaque.driver for config in configs_of(subject)}
    for driver in sorted(meant & drivers):
        stand_in = class_alone(subject, driver)
        findings, requests = _read(stand_in)
        yield from (finding for finding, path in findings if not _is_left_out(subject, path))
        uses = [use for request in requests for use in pools_wanted(request)]
        yield from _pool_doubts(stand_in, uses, index)


def check_claim(
    subject: Object, index: Index, drivers: frozenset[str], policy: Policy | None = None
) -> Judged:
    """Judge the parameters of a claim or template, with those of its classes.

    Without a `policy`, what the drivers would refuse by theirs is left out.
    """
    standing = None if policy is None else standing_in(subject, index, policy)
    findings: dict[Finding, None] = {}
    ifnames: set[str] = set()
    pools: set[str] = set()
    for driver in sorted(_drivers_meant(subject, index) & drivers):
        for stand_in in stand_ins(subject, index, driver):
            found, requests = _read(stand_in, standing)
            findings |= {finding: None for finding, _ in found}
            ifnames |= {request.ifname for request in requests}
            findings |= dict.fromkeys(_all_mode(stand_in, requests))
            findings |= dict.fromkeys(_alone_doubts(stand_in, requests, index, standing))
            for one in stand_in.wanted:
                findings |= dict.fromkeys(unpublished_doubts(one, subject, driver))
            uses = [use for request in requests for use in pools_wanted(request)]
            own = [use for use in uses if not use.trusted]  # of the others, the class speaks
            findings |= dict.fromkeys(_pool_doubts(stand_in, own, index, standing))
            pools |= {use.pool for use in uses}
    findings |= dict.fromkeys(unread_doubts(subject, drivers))
    slips = tuple(_misspelt_drivers(subject, index))
    return Judged((*findings, *slips), frozenset(ifnames), slips, frozenset(pools))


def _alone_doubts(
    stand_in: StandIn,
    requests: Sequence[InterfaceRequest],
    index: Index,
    standing: Standing | None,
) -> Iterator[Finding]:
    """Requests that need a link which others may share, or name another than they select."""
    for request in requests:
        one = stand_in.asked(request.device.base_request)
        device_class = class_of(one, stand_in.subject, index)
        for doubt in alone_doubts(request, one, stand_in.subject, device_class, standing):
            yield doubt if isinstance(doubt, Finding) else _doubtful(stand_in, doubt)
        yield from link_doubts(request, one, stand_in.subject, device_class)


def _pool_doubts(
    stand_in: StandIn, uses: Iterable[PoolUse], index: Index, standing: Standing | None = None
) -> Iterator[Finding]:
    """Pools that a claim or a class names, which are not there or not for it."""
    for use in uses:
        for message, severity in pool_doubts(use, stand_in.subject, index, standing):
            yield _doubtful(stand_in, RequestError(message, path=use.path), severity)


def _doubtful(
    stand_in: StandIn, fault: RequestError, severity: Severity = Severity.WARNING
) -> Finding:
    """A complaint in the driver's words about what files alone cannot decide."""
    finding, _ = _located(stand_in, fault)
    return msgspec.structs.replace(finding, severity=severity)


def _misspelt_drivers(subject: Object, index: Index) -> Iterator[Finding]:
    """Our parameters for a driver that no request is for, but whose name is nearly one."""
    pinned: set[str] = set()
    for one in wanted(subject):
        pinned |= pinned_drivers(one, class_of(one, subject, index))
    for config in configs_of(subject):
        driver = config.opaque.driver
        guess = "" if driver in pinned else near(driver, pinned, cutoff=DRIVERS_ALIKE)
        if guess and is_our_dialect(config.opaque.parameters):
            message = f'no request is for the driver "{driver}"; did you mean "{guess}"?'
            yield subject.warning((*config.path, "opaque", "driver"), message)


def _drivers_meant(subject: Object, index: Index) -> set[str]:
    """Every driver that a claim or a class of its requests names."""
    found = {config.opaque.driver for config in configs_of(subject)}
    for one in wanted(subject):
        device_class = class_of(one, subject, index)
        found |= pinned_drivers(one, device_class)
        if device_class is not None:
            found |= {config.opaque.driver for config in configs_of(device_class)}
    return found


def _read(
    stand_in: StandIn, standing: Standing | None = None
) -> tuple[list[tuple[Finding, Path]], tuple[InterfaceRequest, ...]]:
    """Read a claim as the driver does: its complaints with their places, and the interfaces."""
    try:
        requests = read_claim(stand_in.claim())
    except ParametersError as error:
        return [_located(stand_in, fault) for fault in error.faults], ()
    except RequestError as error:
        return [_located(stand_in, error)], ()
    found = []
    for request in requests:
        faults = list(_refusals(stand_in, request, standing))
        found += [_located(stand_in, fault) for fault in faults]
        found += _doubts(stand_in, request, {fault.path for fault in faults})
    return found, requests


def _refusals(
    stand_in: StandIn, request: InterfaceRequest, standing: Standing | None
) -> Iterable[RequestError]:
    """What the driver would refuse of a request that can be read."""
    found = config_faults(request)
    if standing is None:
        return found
    one = stand_in.asked(request.device.base_request)
    return policy_faults(request, one, standing, found=found)


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
    """A complaint of the driver, which names requests, at its place in the files."""
    subject = stand_in.subject
    match fault.path:
        case (Entry() as entry, *inner):
            return _in_entry(stand_in, entry, tuple(inner), fault.message)
        case (Requested() as requested, *_):
            path = stand_in.asked(requested.request).path
        case ("spec", *inner):
            path = (*CLAIM_SPECS[subject.kind], *inner)
        case nowhere:
            path = nowhere
    return subject.error(path, fault.message), path


def _in_entry(stand_in: StandIn, entry: Entry, inner: Path, message: str) -> tuple[Finding, Path]:
    """A complaint about an entry of `config`; the class may set what the claim leaves out."""
    subject = stand_in.subject
    config = stand_in.configs[entry.number]
    path = (*config.path, *inner)
    left_out = _is_left_out(config.owner, path)
    one = stand_in.asked(entry.request)
    if entry.of_class and left_out and subject is not config.owner:
        said = f"{message}; set it in the claim or in its class"
        return subject.error(one.path, said), path
    if not entry.of_class and left_out and one.name not in stand_in.sure:
        said = f"{message}, unless the class {one.class_name} sets it"
        return subject.warning(path, said), path
    return config.owner.error(path, message), path


def _all_mode(stand_in: StandIn, requests: Sequence[InterfaceRequest]) -> Iterator[Finding]:
    """A request for all devices may get several, which need a name each."""
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
