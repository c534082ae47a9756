"""The keys of claim parameters: what each is, who may set it, how it is read and judged.

Promise: this table is the only place that knows them. Parsing, the policy, `netclaim check`, the
admission policy and docs/parameters.md read it. A new key that the driver acts on beside `config`
is a row in `wishes`, any other a row here. No I/O.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from netclaim.cni import NetworkList, parse_network
from netclaim.errors import RequestError
from netclaim.manifests.near import did_you_mean
from netclaim.model.api.label_selector import LabelSelector
from netclaim.model.api.own_kinds.pod_network import EVICT_AFTER, EVICT_AFTER_MAX
from netclaim.model.devices.device_name import is_dns_label, is_subdomain
from netclaim.network.policy.levels import Level
from netclaim.network.policy.table import NETWORK_KEYS, KeyPolicy
from netclaim.network.request.canonical import canonical
from netclaim.network.request.ifnames import read_ifname
from netclaim.network.request.into_config.wishes import WISHES, Wish
from netclaim.paths import Path
from netclaim.plugins.engine.unknown_keys import unknown_keys

API_VERSIONS: Final = ("cni.networking.x-k8s.io/v1alpha1", "cni.dra.networking.x-k8s.io/v1alpha1")
KINDS: Final = ("CNI", "CNIConfig")

Parsed: TypeAlias = tuple[NetworkList, tuple[Path, ...]]  # a network, and where its plugins stand


class SetBy(enum.Enum):
    """Who sets a key."""

    EACH = "class and claim, each for itself"
    EITHER = "class or claim; the claim's value is used"
    CLASS = "class"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One key: `read` returns its value or raises RequestError with the path it was given."""

    name: str
    type: str  # in words
    about: str  # the line in docs/parameters.md
    read: Callable[[object, Path], Any]
    set_by: SetBy = SetBy.EITHER
    rule: KeyPolicy | None = None  # what a claim needs in order to set it; None: nothing
    allowable: bool = False  # whether a class's `allow` can list it
    wish: Wish | None = None  # what it asks of a network beside its `config`
    missing: str = ""  # what to write if it is missing; empty: it may be left out
    plain: str = ""  # what it is called in the first drivers' dialect; empty: not there


def _one_of(known: tuple[str, ...]) -> Callable[[object, Path], str]:
    def read(value: object, path: Path) -> str:
        if not isinstance(value, str) or value not in known:
            shown = f'"{value}"' if isinstance(value, str) else repr(value)
            raise RequestError(f"unknown {path[-1]} {shown}; write {known[0]}", path=path)
        return value

    return read


def _read_config(value: object, path: Path) -> Parsed:
    written = canonical(value, path=path)
    if "type" not in written:
        _check_list_keys(written, path)
    network = parse_network(written, path=path)
    if "plugins" not in written:
        return network, (path,)
    return network, tuple((*path, "plugins", index) for index in range(len(network.plugins)))


def _check_list_keys(written: Mapping[str, object], path: Path) -> None:
    """Refuse a key beside `plugins` that nothing reads; one with a domain is somebody else's."""

    def hint(key: str) -> str:
        return did_you_mean(key, NETWORK_KEYS) or f"; known keys are {', '.join(NETWORK_KEYS)}"

    unknown = [key for key in written if key not in NETWORK_KEYS and "/" not in key]
    for message, where in unknown_keys(unknown, path, hint):
        raise RequestError(message, path=where)


def _read_allow(value: object, path: Path) -> frozenset[str]:
    known = ", ".join(ALLOWABLE)
    if not isinstance(value, list):
        raise RequestError(f"must be a list of some of {known}", path=path)
    for number, key in enumerate(value):
        if key not in ALLOWABLE:
            raise RequestError(f"{key!r} is not one of {known}", path=(*path, number))
    return frozenset(value)


def _read_pod_network(value: object, path: Path) -> str:
    if not isinstance(value, str) or not is_dns_label(value):
        raise RequestError("must be the name of a PodNetwork", path=path)
    return value


def _read_evict_after(value: object, path: Path) -> int:
    most = EVICT_AFTER_MAX
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise RequestError(f"must be a number of seconds, from 1 to {most}", path=path)
    return value


def _read_ipam_claim(value: object, path: Path) -> str:
    if not isinstance(value, str) or not is_subdomain(value):
        raise RequestError("must be the name of an IPAMClaim", path=path)
    return value


def _read_namespaces(value: object, path: Path) -> LabelSelector:
    try:
        return msgspec.convert(value, LabelSelector)
    except msgspec.ValidationError as error:
        raise RequestError(f"must be a label selector: {error}", path=path) from error


KEYS: Final = (
    Parameter(
        "apiVersion",
        "string",
        f"`{API_VERSIONS[0]}`, or `{API_VERSIONS[1]}` with the same meaning",
        _one_of(API_VERSIONS),
        set_by=SetBy.EACH,
        missing=f"write {API_VERSIONS[0]}",
    ),
    Parameter(
        "kind",
        "string",
        f"`{KINDS[0]}`, or `{KINDS[1]}` with the same meaning",
        _one_of(KINDS),
        set_by=SetBy.EACH,
        missing=f"write {KINDS[0]}",
    ),
    Parameter(
        "ifName",
        "string",
        "The interface's name in the pod: 1 to 15 bytes, without `/`, `:`, `%`, spaces or control "
        "characters; not `lo` or `eth0`, which the pod already has; must be unique "
        "within the pod. For requests that have several devices, a pattern with `%d` for the "
        "number: `net%d`",
        read_ifname,
        rule=KeyPolicy("the interface's name", Level.RESTRICTED),
        missing="for example net1",
        plain="interface",
    ),
    Parameter(
        "ipamClaim",
        "string",
        "The IPAMClaim of the claim's namespace that the addresses are "
        "[kept](address-pools.md#addresses-that-stay-with-an-ipamclaim) for, of a network whose "
        "AddressPool keeps them for IPAMClaims",
        _read_ipam_claim,
        rule=KeyPolicy("whom the addresses are kept for", Level.RESTRICTED),
    ),
    Parameter(
        "config",
        "object, or string of JSON",
        "A CNI configuration: a list of plugins (`plugins`) or a single one (`type`)",
        _read_config,
        rule=KeyPolicy("a network; where the class has one, only if its `allow` lists it"),
        allowable=True,
        missing="write a CNI conf or conflist",
        plain="config",
    ),
    *(
        Parameter(
            wish.name,
            wish.type,
            wish.about,
            wish.read,
            rule=wish.rule,
            allowable=True,
            wish=wish,
        )
        for wish in WISHES
    ),
    Parameter(
        "allow",
        "list of strings",
        "What the claims of the class may set beside `ifName`: some of `config`, "
        f"{', '.join(f'`{wish.name}`' for wish in WISHES[:-1])} and `{WISHES[-1].name}`",
        _read_allow,
        set_by=SetBy.CLASS,
    ),
    Parameter(
        "namespaces",
        "label selector",
        "The namespaces whose claims may use the class, by their labels; all, if it is left out",
        _read_namespaces,
        set_by=SetBy.CLASS,
    ),
    Parameter(
        EVICT_AFTER,
        "number",
        "After how many seconds without its interface a pod that had it is evicted, if the "
        "interface was lost and cannot be made again; see "
        "[health.md](health.md#interfaces-that-do-not-come-back). Never, if it is left out",
        _read_evict_after,
        set_by=SetBy.CLASS,
    ),
    Parameter(
        "podNetwork",
        "string",
        "The [PodNetwork](pod-networks.md) that the class was made for",
        _read_pod_network,
        set_by=SetBy.CLASS,
    ),
)
"""All keys, in the order of the documentation."""

BY_NAME: Final[Mapping[str, Parameter]] = {key.name: key for key in KEYS}
ALLOWABLE: Final = tuple(key.name for key in KEYS if key.allowable)
PARAMETERS: Final[Mapping[str, KeyPolicy]] = {key.name: key.rule for key in KEYS if key.rule}
"""What a claim can set, and what it needs for it. `restricted` leaves `ifName` and what the class
allows."""
