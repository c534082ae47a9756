"""The rules for AddressPools and AddressLeases: the expressions of their definitions, and the same.

As in `pod_networks`, each rule has the expression for an API server and a function that gives the
same answer; tests compare them with the definitions in the chart. Whether two pools have the same
addresses no rule of one object can say: the controller does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from netclaim.model.api.base import ObjectError
from netclaim.model.api.own_kinds.address_pool import (
    DOMAIN_MAX,
    EXCLUDED_MAX,
    NAME_MAX,
    RANGES_MAX,
    AddressLeaseSpec,
)
from netclaim.model.api.own_kinds.kept_address import KEPT_KINDS, RETAIN, WHEN_SCALED
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.address_space import Range, lease_name, range_faults
from netclaim.paths import Path
from netclaim.schema.refusal import Fault, duplicate, invalid, missing, unsupported
from netclaim.schema.rules.names import IS_LABEL, LABEL
from netclaim.schema.rules.pods import check_requirement


@dataclass(frozen=True, slots=True)
class RangeRule:
    """A rule about a range, where `self` is the range; `fields` are those that it is about."""

    fields: tuple[str, ...]
    cel: str
    message: str


RANGE_RULES: Final = (
    RangeRule(
        ("cidr",),
        "isCIDR(self.cidr) && cidr(self.cidr) == cidr(self.cidr).masked()",
        "cidr is a network without host bits; for example 10.10.1.0/24",
    ),
    *(
        RangeRule(
            (field,),
            f"!has(self.{field}) || !isCIDR(self.cidr) ||"
            f" isIP(self.{field}) && cidr(self.cidr).containsIP(self.{field})",
            f"{field} is an address in cidr",
        )
        for field in ("start", "end", "gateway")
    ),
    RangeRule(
        ("exclude",),
        "!has(self.exclude) || !isCIDR(self.cidr) || self.exclude.all(e,"
        " isCIDR(e) ? cidr(self.cidr).containsCIDR(e)"
        " : isIP(e) && cidr(self.cidr).containsIP(e))",
        "exclude has addresses and networks in cidr",
    ),
)
NAME_CEL: Final = (
    "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')"
    f" && size(self.metadata.name) <= {NAME_MAX}"
)
NAME_MESSAGE: Final = "the name of a pool is a DNS label: its leases have it as a label"
DOMAIN_PATTERN: Final = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DOMAIN_CEL: Final = (
    "(has(self.domain) ? self.domain : '') == (has(oldSelf.domain) ? oldSelf.domain : '')"
)
DOMAIN_MESSAGE: Final = (
    "the domain of a pool cannot change: the names of its leases begin with it; make a new pool"
)
_HEAD: Final = "(has(self.spec.domain) ? self.spec.domain + '.' : '')"
_TAIL: Final = f"self.metadata.name.substring(size({_HEAD}))"
LEASE_NAME_CEL: Final = (
    f"isIP(self.spec.address) && self.metadata.name.startsWith({_HEAD}) &&"
    f" (self.spec.address.contains(':') ? size({_TAIL}) == 39 &&"
    f" isIP({_TAIL}.replace('-', ':')) &&"
    f" ip({_TAIL}.replace('-', ':')) == ip(self.spec.address) :"
    f" {_TAIL} == self.spec.address)"
)
LEASE_NAME_MESSAGE: Final = (
    "a lease is named by its address, an IPv6 address in full with dashes, behind DOMAIN and a dot"
    " if its pool has a domain"
)
FIXED_CEL: Final = "self.pool == oldSelf.pool && self.address == oldSelf.address"
FIXED_MESSAGE: Final = "a lease is of one address of one pool"
OWNER_CEL: Final = (
    "has(self.owner) ? has(oldSelf.owner) && self.owner == oldSelf.owner : !has(oldSelf.owner)"
)
OWNER_MESSAGE: Final = "whom an address is kept for does not change"
KEPT_CEL: Final = "!has(self.kept) || !self.kept || has(self.owner)"
KEPT_MESSAGE: Final = "an address is kept for an owner"


def check_address_pool(obj: JsonObject, at: Path, old: JsonObject | None = None) -> Iterator[Fault]:
    """Yield what is wrong with an AddressPool; `at` is the path of its spec."""
    name, spec = str(obj["metadata"].get("name", "")), obj.get("spec", {})
    if name and not (LABEL.fullmatch(name) and len(name) <= NAME_MAX):
        yield invalid(("metadata", "name"), name, NAME_MESSAGE)
    ranges = spec.get("ranges", ())
    if not ranges:
        yield missing((*at, "ranges"))
    if len(ranges) > RANGES_MAX:
        yield invalid((*at, "ranges"), len(ranges), f"must have at most {RANGES_MAX} items")
    for index, each in enumerate(ranges):
        yield from _check_range(each, (*at, "ranges", index))
    yield from _check_domain(spec, at)
    limit = spec.get("perNamespace", 1)
    if not isinstance(limit, int) or limit < 1:
        yield invalid((*at, "perNamespace"), limit, "must be at least 1")
    domain = spec.get("domain", "")
    if old is not None and old.get("spec", {}).get("domain", "") != domain:
        yield invalid((*at, "domain"), domain, DOMAIN_MESSAGE)
    yield from _check_keep(spec.get("keep"), (*at, "keep"))
    for index, route in enumerate(spec.get("routes", ())):
        if not route.get("dst"):
            yield missing((*at, "routes", index, "dst"))
    for index, wanted in enumerate(spec.get("namespaces", {}).get("matchExpressions", ())):
        yield from check_requirement(wanted, (*at, "namespaces", "matchExpressions", index))


def _check_domain(spec: JsonObject, at: Path) -> Iterator[Fault]:
    """Of a pool or a lease."""
    domain = spec.get("domain")
    if domain is not None and not (LABEL.fullmatch(domain) and len(domain) <= DOMAIN_MAX):
        yield invalid((*at, "domain"), domain, IS_LABEL)


def _check_keep(written: JsonObject | None, at: Path) -> Iterator[Fault]:
    if written is None:
        return
    kinds, when_scaled = written.get("kinds", ()), written.get("whenScaled", RETAIN)
    if not kinds:
        yield missing((*at, "kinds"))
    for index, kind in enumerate(kinds):
        if kind not in KEPT_KINDS:
            yield unsupported((*at, "kinds", index), kind, KEPT_KINDS)
        elif kind in kinds[:index]:
            yield duplicate((*at, "kinds", index), kind)
    if when_scaled not in WHEN_SCALED:
        yield unsupported((*at, "whenScaled"), when_scaled, WHEN_SCALED)


def _check_range(written: JsonObject, at: Path) -> Iterator[Fault]:
    if not written.get("cidr"):
        yield missing((*at, "cidr"))
        return
    if len(written.get("exclude", ())) > EXCLUDED_MAX:
        message = f"must have at most {EXCLUDED_MAX} items"
        yield invalid((*at, "exclude"), len(written["exclude"]), message)
        return
    for field, message in range_faults(Range.read(written)):
        yield invalid((*at, field), written.get(field), message)
    for index, wanted in enumerate(written.get("nodeSelector", {}).get("matchExpressions", ())):
        yield from check_requirement(wanted, (*at, "nodeSelector", "matchExpressions", index))


def check_address_lease(obj: JsonObject, at: Path, old: JsonObject | None) -> Iterator[Fault]:
    """Yield what is wrong with an AddressLease; `at` is the path of its spec."""
    try:
        spec = AddressLeaseSpec.read(obj.get("spec", {}))
        name = lease_name(spec.domain, ip_address(spec.address))
    except (ObjectError, ValueError) as error:
        yield invalid(at, obj.get("spec"), str(error))
        return
    yield from _check_domain(obj["spec"], at)
    if obj["metadata"].get("name") != name:
        yield invalid(("metadata", "name"), obj["metadata"].get("name"), LEASE_NAME_MESSAGE)
    before = (old or obj).get("spec", {})
    if (spec.pool, spec.address) != (before.get("pool"), before.get("address")):
        yield invalid(at, spec.address, FIXED_MESSAGE)
    if obj["spec"].get("owner") != before.get("owner"):
        yield invalid((*at, "owner"), obj["spec"].get("owner"), OWNER_MESSAGE)
    if spec.owner is not None and spec.owner.kind not in KEPT_KINDS:
        yield unsupported((*at, "owner", "kind"), spec.owner.kind, KEPT_KINDS)
    if spec.kept and spec.owner is None:
        yield invalid((*at, "kept"), spec.kept, KEPT_MESSAGE)
