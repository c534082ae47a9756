"""Read the annotation by which a pod asks Multus for networks, as Multus reads it.

    media-net, storage/backup@net7                  names, with a namespace and an interface's name
    [{"name": "media-net", "ips": ["10.1.1.7"]}]    objects, with what the pod chooses

Promise: what Multus refuses is refused here, with the place in the annotation. Keys may be in any
case, as in Go. Keys that Multus does not have are kept apart, since it passes over them. A single
object is read as a list of one, as talks show it. No I/O.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from netclaim.cni.frozen_json import decode_json, repeated_within
from netclaim.cni.key_case import fold, same_keys
from netclaim.errors import RequestError
from netclaim.paths import Path

ANNOTATION: Final = "k8s.v1.cni.cncf.io/networks"
EARLY_ANNOTATION: Final = "k8s.cni.cncf.io/networks"  # in drafts of the specification, and in talks
NETWORK: Final = "NetworkAttachmentDefinition"
NETWORKS_MAX: Final = 32  # of a pod; a claim has at most 32 requests
NAME: Final = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")
NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
IFNAME: Final = re.compile(r"[^\s/]{1,15}")  # IFNAMSIZ, less the NUL
OLD_NAMES: Final = {"interfacerequest": "interface"}  # of Multus before 3.2

# What a pod can choose beside the network, and the type that Multus expects.
CHOICES: Final[Mapping[str, type]] = {
    "interface": str,
    "ips": list,
    "mac": str,
    "bandwidth": dict,
    "default-route": list,
    "portMappings": list,
    "cni-args": dict,
    "infiniband-guid": str,
    "deviceID": str,
    "ipam-claim-reference": str,
}
_TYPES: Final[Mapping[type, str]] = {str: "a string", list: "a list", dict: "an object"}


@dataclass(frozen=True, slots=True)
class Selection:
    """One network that a pod asks for."""

    name: str
    namespace: str = ""  # empty: the pod's own
    choices: Mapping[str, Any] = field(default_factory=dict)  # by the names of `CHOICES`
    unknown: tuple[str, ...] = ()  # keys that Multus passes over
    at: Path = ()  # in the annotation, if that is JSON

    @property
    def ifname(self) -> str:
        """The name of the interface that the pod chose; empty if it leaves that to Multus."""
        return str(self.choices.get("interface", ""))


def read_annotation(text: str) -> tuple[Selection, ...]:
    """Return the networks that an annotation asks for, in their order."""
    if any(mark in text for mark in '[{"'):
        found = _read_json(text)
    else:
        found = tuple(_read_short(one.strip()) for one in text.split(",")) if text.strip() else ()
    if len(found) > NETWORKS_MAX:
        raise RequestError(f"has {len(found)} networks; a pod can have {NETWORKS_MAX}")
    return found


def default_ifnames(selections: tuple[Selection, ...]) -> tuple[str, ...]:
    """Return the interfaces' names: net1 for the first network, net2 for the second."""
    return tuple(one.ifname or f"net{number}" for number, one in enumerate(selections, start=1))


def _read_short(text: str) -> Selection:
    """Read `[NAMESPACE/]NAME[@IFNAME]`."""
    namespace, slash, rest = text.rpartition("/")
    name, at, ifname = (part.strip() for part in rest.partition("@"))
    if slash:
        _check_name("the namespace", namespace.strip(), NAMESPACE, ())
    _check_name("the network", name, NAME, ())
    if at:
        _check_name("the interface", ifname, IFNAME, ())
    return Selection(name, namespace.strip(), {"interface": ifname} if at else {})


def _read_json(text: str) -> tuple[Selection, ...]:
    try:
        decoded = decode_json(text)
    except ValueError as error:
        raise RequestError(f"is not JSON: {error}") from error
    for twice in repeated_within(decoded):
        raise RequestError(f'the key "{twice}" appears twice; remove one')
    if isinstance(decoded, dict):
        return (_read_object(decoded, ()),)
    if not isinstance(decoded, list):
        raise RequestError('is not a list of networks; for example [{"name": "media-net"}]')
    return tuple(_read_object(one, (number,)) for number, one in enumerate(decoded))


def _read_object(value: Any, at: Path) -> Selection:
    if not isinstance(value, dict):
        raise RequestError('is not an object; for example {"name": "media-net"}', path=at)
    if same := same_keys(value):
        raise RequestError(f'"{same[0]}" and "{same[1]}" are the same key; remove one', path=at)
    names = {fold(name): name for name in ("name", "namespace", *CHOICES)}
    known: dict[str, Any] = {}
    unknown: list[str] = []
    for key, item in value.items():
        folded = OLD_NAMES.get(fold(key), fold(key))
        if folded not in names:
            unknown.append(key)
        elif item is not None:
            known.setdefault(names[folded], item)
    name, namespace = (_text(known.pop(key, ""), (*at, key)) for key in ("name", "namespace"))
    _check_name("the network", name, NAME, (*at, "name"))
    if namespace:
        _check_name("the namespace", namespace, NAMESPACE, (*at, "namespace"))
    for key, item in known.items():
        if not isinstance(item, CHOICES[key]):
            raise RequestError(f"is not {_TYPES[CHOICES[key]]}", path=(*at, key))
    chosen = {key: item for key, item in known.items() if item or key == "default-route"}
    if "interface" in chosen:
        _check_name("the interface", chosen["interface"], IFNAME, (*at, "interface"))
    return Selection(name, namespace, chosen, tuple(unknown), at)


def _text(value: Any, at: Path) -> str:
    if not isinstance(value, str):
        raise RequestError("is not a string", path=at)
    return value


def _check_name(what: str, name: str, pattern: re.Pattern[str], at: Path) -> None:
    if not name:
        raise RequestError(f"the name of {what} is missing", path=at)
    if not pattern.fullmatch(name):
        raise RequestError(f"{name!a} cannot be the name of {what}", path=at)
