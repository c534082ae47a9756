"""Which part of a status was asked for: a view, some names, a namespace.

Promise: a name brings everything around it: a node its links, claims and pods; a claim its devices
and pods. A name that nothing has is a RequestError that says what there is. No I/O.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from netclaim.errors import RequestError
from netclaim.manifests.near import existing, near
from netclaim.network.devices.network_device import is_device_of
from netclaim.status.values import Device, Pod, Problem, Status

View: TypeAlias = Literal["overview", "nodes", "links", "claims", "pods", "networks", "pools"]
VIEWS: Final[tuple[View, ...]] = get_args(View)[1:]
WORDS: Final[dict[str, View]] = {
    "node": "nodes",
    "no": "nodes",
    "link": "links",
    "device": "links",
    "devices": "links",
    "claim": "claims",
    "resourceclaim": "claims",
    "resourceclaims": "claims",
    "pod": "pods",
    "po": "pods",
    "network": "networks",
    "podnet": "networks",
    "podnetwork": "networks",
    "podnetworks": "networks",
    "pool": "pools",
    "addresspool": "pools",
    "addresspools": "pools",
    **{view: view for view in VIEWS},
}
# Which problems belong to a view.
ABOUT: Final[dict[View, tuple[str, ...]]] = {
    "nodes": ("Node", "Pool", "Driver"),
    "links": ("Device", "Pool", "Driver"),
    "claims": ("ResourceClaim", "Pod"),
    "pods": ("Pod", "ResourceClaim"),
    "networks": ("PodNetwork", "Controller"),
    "pools": ("AddressPool", "Controller"),
}


@dataclass(frozen=True, slots=True)
class Scope:
    """What was asked for: everything of a view without names, in all namespaces without one."""

    view: View = "overview"
    names: tuple[str, ...] = ()
    namespace: str = ""


def scope_of(arguments: Sequence[str]) -> Scope:
    """Read `pods`, `pods web db`, `pod/web`, `pod/web pod/db`, or nothing."""
    if not arguments:
        return Scope()
    first, slash, _ = arguments[0].partition("/")
    view = _view(first, arguments[0])
    if not slash:
        return Scope(view, tuple(arguments[1:]))
    names = []
    for one in arguments:
        word, slash, name = one.partition("/")
        if not slash or not name:
            raise RequestError(f"{one}: write KIND/NAME, for example pod/web")
        if _view(word, one) != view:
            raise RequestError(f"{one}: names of one kind only, and {arguments[0]} is given too")
        names.append(name)
    return Scope(view, tuple(names))


def _view(word: str, given: str) -> View:
    view = WORDS.get(word.lower().partition(".")[0])
    if view is None:
        close = near(word, WORDS)
        hint = f'did you mean "{close}"?' if close else f"write {', '.join(VIEWS)} or KIND/NAME"
        raise RequestError(f'{given}: unknown view "{word}"; {hint}')
    return view


def narrow(status: Status, scope: Scope, *, strict: bool = True) -> Status:
    """Return the part of a status that was asked for; unless `strict`, names may be missing."""
    if scope.namespace:
        status = _in_namespace(status, scope.namespace)
    if scope.view == "overview":
        return status
    if scope.names:
        return _around(status, scope, strict=strict)
    kept = ("nodes", "devices") if scope.view == "nodes" else (_list_of(scope.view),)
    return Status(
        problems=_problems_of(status, scope.view),
        notes=status.notes,
        **{name: getattr(status, name) for name in kept},
    )


def _in_namespace(status: Status, namespace: str) -> Status:
    """Leave out the claims and pods of other namespaces; devices still list all users."""
    return msgspec.structs.replace(
        status,
        claims=tuple(one for one in status.claims if one.namespace == namespace),
        pods=tuple(one for one in status.pods if one.namespace == namespace),
        problems=tuple(one for one in status.problems if one.namespace in ("", namespace)),
    )


def _problems_of(status: Status, view: View) -> tuple[Problem, ...]:
    return tuple(one for one in status.problems if one.kind in ABOUT[view])


def _around(status: Status, scope: Scope, *, strict: bool) -> Status:
    """Return what has one of the names, and everything around it."""
    found = _FIND[scope.view](status, set(scope.names))
    there = {one.name for one in getattr(found, _list_of(scope.view))}
    for name in scope.names if strict else ():
        if name.rpartition("/")[2] not in there:
            every = [one.name for one in getattr(status, _list_of(scope.view))]
            where = f" in namespace {scope.namespace}" if scope.namespace else ""
            word = scope.view.removesuffix("s")
            raise RequestError(f'no {word} "{name}"{where}; {existing(name, every)}')
    return msgspec.structs.replace(
        found,
        problems=tuple(one for one in status.problems if _is_about(one, found)),
        notes=status.notes,
    )


def _list_of(view: View) -> str:
    return "devices" if view == "links" else view


def _is_about(problem: Problem, found: Status) -> bool:
    if problem.kind == "Node":
        return bool({one.name for one in found.nodes} & set(problem.name.split(", ")))
    names: dict[str, set[object]] = {
        "Pod": {(one.namespace, one.name) for one in found.pods},
        "ResourceClaim": {(one.namespace, one.name) for one in found.claims},
        "Device": {f"{one.pool}/{one.name}" for one in found.devices},
        "Pool": {f"{one.driver}/{one.pool}" for one in found.devices},
        "Driver": {one.driver for one in found.devices},
        "PodNetwork": {one.name for one in found.networks},
        "AddressPool": {one.name for one in found.pools},
    }
    key = (problem.namespace, problem.name) if problem.namespace else problem.name
    return key in names.get(problem.kind, ())


def _nodes(status: Status, names: set[str]) -> Status:
    return Status(
        nodes=tuple(one for one in status.nodes if one.name in names),
        devices=tuple(one for one in status.devices if one.node in names),
        claims=tuple(
            one for one in status.claims if any(each.node in names for each in one.devices)
        ),
        pods=tuple(one for one in status.pods if one.node in names),
    )


def _links(status: Status, names: set[str]) -> Status:
    devices = [one for one in status.devices if {one.name, f"{one.node}/{one.name}"} & names]
    users = {(use.namespace, use.claim) for one in devices for use in one.used_by}
    return Status(
        devices=tuple(devices),
        claims=tuple(one for one in status.claims if (one.namespace, one.name) in users),
    )


def _claims(status: Status, names: set[str]) -> Status:
    claims = [one for one in status.claims if one.name in names]
    keys = {(one.namespace, one.name) for one in claims}
    return Status(
        claims=tuple(claims),
        devices=tuple(one for one in status.devices if _has(one, keys)),
        pods=_users(status, keys),
    )


def _pods(status: Status, names: set[str]) -> Status:
    pods = [one for one in status.pods if one.name in names]
    keys = {(one.namespace, use.claim) for one in pods for use in one.claims}
    return Status(
        pods=tuple(pods),
        claims=tuple(one for one in status.claims if (one.namespace, one.name) in keys),
        devices=tuple(one for one in status.devices if _has(one, keys)),
    )


def _users(status: Status, keys: set[tuple[str, str]]) -> tuple[Pod, ...]:
    """Return the pods that use any of these claims."""
    return tuple(
        one for one in status.pods if any((one.namespace, use.claim) in keys for use in one.claims)
    )


def _has(device: Device, keys: set[tuple[str, str]]) -> bool:
    return any((use.namespace, use.claim) in keys for use in device.used_by)


def _networks(status: Status, names: set[str]) -> Status:
    """Return networks with the claims that have them, by their class or by one of their devices."""
    claims = [
        one
        for one in status.claims
        if names & set(one.classes)
        or any(is_device_of(name, each.device) for name in names for each in one.devices)
    ]
    keys = {(one.namespace, one.name) for one in claims}
    return Status(
        networks=tuple(one for one in status.networks if one.name in names),
        claims=tuple(claims),
        devices=tuple(one for one in status.devices if _has(one, keys)),
        pods=_users(status, keys),
    )


def _pools(status: Status, names: set[str]) -> Status:
    """Return pools with the claims that have their addresses."""
    pools = [one for one in status.pools if one.name in names]
    keys = {(each.namespace, each.claim) for one in pools for each in one.addresses}
    return Status(
        pools=tuple(pools),
        claims=tuple(one for one in status.claims if (one.namespace, one.name) in keys),
        pods=_users(status, keys),
    )


_FIND: Final = {
    "nodes": _nodes,
    "links": _links,
    "claims": _claims,
    "pods": _pods,
    "networks": _networks,
    "pools": _pools,
}
