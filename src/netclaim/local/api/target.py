"""What a request is about: a kind in one of its forms, a namespace, an object, a subresource."""

from dataclasses import dataclass
from typing import Final

from netclaim.schema.kinds import KINDS, NAMESPACE, POD, Address, Kind
from netclaim.schema.refusal import no_such_path

EVICTION: Final = "eviction"  # a pod's, which can be created and nothing else
_SERVED: Final = {
    (address.group, address.version, kind.plural): (kind, address)
    for kind in KINDS
    for address in kind.addresses
}


@dataclass(frozen=True, slots=True)
class Target:
    """The meaning of a path; without a name it is the collection."""

    kind: Kind
    address: Address
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse_target(path: str) -> Target:
    match path.strip("/").split("/"):
        case ["api", version, *rest]:
            return _within("", version, rest)
        case ["apis", group, version, *rest]:
            return _within(group, version, rest)
    raise no_such_path()


def _within(group: str, version: str, rest: list[str]) -> Target:
    match rest:
        case ["namespaces", namespace, plural, *tail] if plural != "status":
            kind, address = _kind(group, version, plural)
            if not kind.namespaced:
                raise no_such_path()
            return _object(Target(kind, address, namespace), tail)
        case [plural, *tail]:
            kind, address = _kind(group, version, plural)
            if tail and kind.namespaced:
                raise no_such_path()
            return _object(Target(kind, address), tail)
    raise no_such_path()


def _kind(group: str, version: str, plural: str) -> tuple[Kind, Address]:
    try:
        return _SERVED[group, version, plural]
    except KeyError as error:
        raise no_such_path() from error


def _object(of: Target, tail: list[str]) -> Target:
    match tail:
        case []:
            return of
        case [name]:
            return Target(of.kind, of.address, of.namespace, name)
        case [name, "status"] if of.kind.has_status or of.kind is NAMESPACE:
            return Target(of.kind, of.address, of.namespace, name, "status")
        case [name, "eviction"] if of.kind is POD:
            return Target(of.kind, of.address, of.namespace, name, EVICTION)
    raise no_such_path()
