"""Read what a claim asks of us: one interface for each request, in every dialect people write.

    apiVersion: cni.networking.x-k8s.io/v1alpha1      interface: net1
    kind: CNI                                         config: {...} or a string of JSON
    ifName: net1
    config: {...}

Promise: strict, so that a misspelt key is a message and not a surprise; all mistakes of a claim are
told at once, each with the path of what to change. The claim's parameters go over its class's, and
those for an alternative over those for its request, key by key; `config` is one key and is replaced
whole. Who set what is kept, for `permit` to judge.
Limit: No I/O. Whether the links and plugins it names are there, is asked later.
"""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from netclaim.cni import NetworkList, check_ifname, parse_network
from netclaim.errors import RequestError
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.network.canonical import canonical
from netclaim.network.errors import raise_all
from netclaim.network.policy import ALLOWABLE
from netclaim.network.wishes import WISHES, Wishes, read_wish

__all__ = ["API_VERSIONS", "KINDS", "InterfaceRequest", "read_claim"]

API_VERSIONS: Final = ("cni.networking.x-k8s.io/v1alpha1", "cni.dra.networking.x-k8s.io/v1alpha1")
KINDS: Final = ("CNI", "CNIConfig")

TYPED_KEYS: Final = ("apiVersion", "kind", "ifName", "config", *WISHES)
ALLOW: Final = "allow"  # of a class: what its claims may set
PLAIN_KEYS: Final = ("interface", "config")  # of the first drivers, before there was an apiVersion

# Names that a pod has before any claim: its loopback, and what runtimes call its primary interface.
TAKEN_IFNAMES: Final = ("lo", "eth0")
# Names that mean every interface where the kernel's settings are addressed by name.
COLLECTIVE_IFNAMES: Final = ("all", "default")


# How much is said of one claim: whoever makes mistakes by the thousand, which is easily done in the
# API's 10 KiB, does not have a node's driver spend its time on them.
FAULTS_MAX: Final = 20
UNKNOWN_MAX: Final = 5  # keys of one object
KEY_SHOWN_MAX: Final = 64  # characters; the longest known key has 25

NO_WISHES: Final = Wishes()


@dataclass(frozen=True, slots=True)
class InterfaceRequest:
    """One interface that a claim asks for, and the paths by which to speak of its configuration."""

    device: AllocatedDevice
    ifname: str
    network: NetworkList
    plugin_fields: tuple[str, ...]  # for each plugin of the network, where it was written
    wishes: Wishes = NO_WISHES
    wish_fields: Mapping[str, str] = field(default_factory=dict)
    claimed: Mapping[str, str] = field(default_factory=dict)  # what the claim set, and where
    class_has_config: bool = False
    allowed: frozenset[str] | None = None  # what the class lets claims set; None: it does not say

    @property
    def trusted(self) -> bool:
        """Whether the network is an admin's word: it was not the claim that wrote it."""
        return "config" not in self.claimed


@dataclass(frozen=True, slots=True)
class _Layer:
    """The parameters of one source: what it sets, and where."""

    values: Mapping[str, Any]  # by the keys of today, whatever the dialect calls them
    fields: Mapping[str, str]
    of_class: bool


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads on after a mistake, to tell all of them."""

    claim: Claim
    faults: list[RequestError] = field(default_factory=list)

    def fault(self, message: str, where: str) -> None:
        self.faults.append(RequestError(message, field=where))


def read_claim(claim: Claim) -> tuple[InterfaceRequest, ...]:
    """Read what to make of each allocated device; RequestError says everything that is wrong."""
    reader = _Reader(claim)
    _check_counts(reader)
    _check_shared_configs(reader)
    read = [
        _read_device(reader, device)
        for device in _first_of_each(claim.devices)
        if len(reader.faults) < FAULTS_MAX
    ]
    requests = tuple(request for request in read if request is not None)
    _check_unique(reader, requests)
    raise_all(reader.faults)
    return requests


def _first_of_each(devices: Iterable[AllocatedDevice]) -> list[AllocatedDevice]:
    """One device of each request: a request with several is a mistake already told."""
    return list({device.base_request: device for device in reversed(list(devices))}.values())[::-1]


def _check_counts(reader: _Reader) -> None:
    counts = Counter(device.base_request for device in reader.claim.devices)
    for request, count in counts.items():
        if count > 1:
            reader.fault(
                f"got {count} devices, and an interface is made of one: ask for "
                f"allocationMode ExactCount, count 1",
                f"spec.devices.requests[{request}]",
            )


def _check_shared_configs(reader: _Reader) -> None:
    """A configuration names an interface, so it can serve one request only."""
    for config in reader.claim.configs:
        devices = reader.claim.devices
        served = dict.fromkeys(d.base_request for d in devices if config.applies_to(d.request))
        if len(served) > 1 and config.source == "FromClaim":
            reader.fault(
                f"one configuration is for one request, this is for {', '.join(served)}: "
                f"write one entry for each, with its name in `requests`",
                f"spec.devices.config[{','.join(config.requests)}]",
            )


def _check_unique(reader: _Reader, requests: Iterable[InterfaceRequest]) -> None:
    users: dict[str, list[str]] = {}
    for request in requests:
        users.setdefault(request.ifname, []).append(request.device.base_request)
    for ifname, names in users.items():
        if len(names) > 1:
            reader.fault(
                f"the requests {', '.join(names)} all name their interface {ifname!r}: "
                f"give each another name",
                "spec.devices.config",
            )


def _read_device(reader: _Reader, device: AllocatedDevice) -> InterfaceRequest | None:
    """Read the configuration of one request; None after a mistake."""
    mistakes_before = len(reader.faults)
    layers = [_read_layer(reader, config, device) for config in _configs(reader, device)]
    merged: dict[str, tuple[Any, _Layer]] = {}
    for layer in layers:  # the class's first, the most specific last
        merged |= {key: (value, layer) for key, value in layer.values.items()}
    if layers:
        for key, example in (("ifName", "such as net1"), ("config", "a CNI conf or conflist")):
            if key not in merged:
                reader.fault(f"is missing: {example}", layers[-1].fields[key])
    where = {key: layer.fields[key] for key, (_, layer) in merged.items()}
    ifname = _read_ifname(reader, merged["ifName"][0], where["ifName"]) if "ifName" in where else ""
    parsed = (
        _read_config(reader, merged["config"][0], where["config"]) if "config" in where else None
    )
    wishes = _read_wishes(reader, {key: merged[key][0] for key in WISHES if key in merged}, where)
    of_class = next((layer for layer in layers if layer.of_class), None)
    allowed = _read_allowed(reader, of_class)
    if parsed is None or len(reader.faults) > mistakes_before:
        return None
    network, plugin_fields = parsed
    return InterfaceRequest(
        device,
        ifname,
        network,
        plugin_fields,
        wishes=wishes,
        wish_fields={key: where[key] for key in WISHES if key in where},
        claimed={key: where[key] for key, (_, layer) in merged.items() if not layer.of_class},
        class_has_config=of_class is not None and "config" in of_class.values,
        allowed=allowed,
    )


def _read_wishes(
    reader: _Reader, written: Mapping[str, object], where: Mapping[str, str]
) -> Wishes:
    values: dict[str, Any] = {}
    for key, value in written.items():
        try:
            values[key] = read_wish(key, value, where[key])
        except RequestError as error:
            reader.faults.append(error)
    return Wishes(**values)


def _read_allowed(reader: _Reader, of_class: _Layer | None) -> frozenset[str] | None:
    """Read which keys the class lets its claims set."""
    if of_class is None or ALLOW not in of_class.values:
        return None
    listed = of_class.values[ALLOW]
    if not isinstance(listed, list):
        reader.fault(f"must be a list of some of {', '.join(ALLOWABLE)}", of_class.fields[ALLOW])
        return frozenset()
    unknown = [key for key in listed if key not in ALLOWABLE]
    if unknown:
        known = ", ".join(ALLOWABLE)
        reader.fault(f"{unknown[0]!r} is not one of {known}", of_class.fields[ALLOW])
        return frozenset()
    return frozenset(listed)


def _configs(reader: _Reader, device: AllocatedDevice) -> list[OpaqueConfig]:
    """The class's configuration, then the claim's: at most one of each specificity."""
    found = reader.claim.configs_for(device.request)
    request = device.base_request
    if not found:
        reader.fault(
            f"no configuration for the driver {device.driver}: add an entry to "
            f"spec.devices.config with the request's name and `opaque` parameters",
            f"spec.devices.requests[{request}]",
        )
    of_class = [config for config in found if config.source == "FromClass"]
    if len(of_class) > 1:
        reader.fault(
            f"{len(of_class)} entries are for the driver {device.driver}: leave one",
            f"DeviceClass({request}).spec.config",
        )
    of_claim: dict[int, list[OpaqueConfig]] = {}
    for config in found[len(of_class) :]:
        of_claim.setdefault(_specificity(config, device), []).append(config)
    for alike in of_claim.values():
        if len(alike) > 1:
            named = " and ".join(f"[{', '.join(config.requests)}]" for config in alike)
            reader.fault(
                f"{len(alike)} entries are for this request, with `requests` {named}: leave one",
                f"spec.devices.config[{request}]",
            )
    return [*of_class[-1:], *(of_claim[level][-1] for level in sorted(of_claim))]


def _specificity(config: OpaqueConfig, device: AllocatedDevice) -> int:
    """2: for the alternative or the request that got the device, by its whole name; 0: for all."""
    if device.request in config.requests:
        return 2
    return 1 if config.requests else 0


def _read_layer(reader: _Reader, config: OpaqueConfig, device: AllocatedDevice) -> _Layer:
    """Read the parameters of one source by the dialect that their keys show."""
    parameters = config.parameters
    of_class = config.source == "FromClass"
    if of_class:
        where = f"DeviceClass({device.base_request}).spec.config.opaque.parameters"
    else:
        by_name = device.request if device.request in config.requests else device.base_request
        where = f"spec.devices.config[{by_name}].opaque.parameters"
    typed = "apiVersion" in parameters or "kind" in parameters
    if typed:
        _check_one_of(reader, parameters, "apiVersion", API_VERSIONS, where)
        _check_one_of(reader, parameters, "kind", KINDS, where)
    known = (TYPED_KEYS if typed else PLAIN_KEYS) + ((ALLOW,) if typed and of_class else ())
    unknown = sorted(parameters.keys() - set(known), key=str)
    for key in unknown[:UNKNOWN_MAX]:
        reader.fault(f"unknown key{_hint(key, known)}", f"{where}.{key[:KEY_SHOWN_MAX]}")
    if len(unknown) > UNKNOWN_MAX:
        reader.fault(f"has {len(unknown) - UNKNOWN_MAX} more unknown keys", where)
    names = {key: key for key in known}
    if not typed:
        names = {"ifName": "interface", "config": "config"}
    return _Layer(
        values={ours: parameters[theirs] for ours, theirs in names.items() if theirs in parameters},
        fields={ours: f"{where}.{theirs}" for ours, theirs in names.items()},
        of_class=of_class,
    )


def _check_one_of(
    reader: _Reader, parameters: Mapping[str, Any], key: str, known: tuple[str, ...], where: str
) -> None:
    if key not in parameters:
        reader.fault(f"is missing: write {known[0]}", f"{where}.{key}")
    elif parameters[key] not in known:
        reader.fault(f"{parameters[key]!r} is not known: write {known[0]}", f"{where}.{key}")


def _hint(key: str, known: tuple[str, ...]) -> str:
    """Say what may have been meant."""
    if key == "interface":
        return ": with an apiVersion it is called ifName"
    if key == ALLOW:
        return ": only a DeviceClass can say what claims may set"
    if key == "ifName":
        return f": it needs apiVersion: {API_VERSIONS[0]} and kind: {KINDS[0]} beside it"
    folded = {name.lower(): name for name in known}
    near = difflib.get_close_matches(key[:KEY_SHOWN_MAX].lower(), folded, n=1)
    return f": is {folded[near[0]]} meant?" if near else f"; known are {', '.join(known)}"


def _read_ifname(reader: _Reader, value: object, where: str) -> str:
    if not isinstance(value, str):
        reader.fault("must be a string", where)
        return ""
    try:
        check_ifname(value, field=where)
    except RequestError as error:
        reader.faults.append(error)
    if value in TAKEN_IFNAMES:
        reader.fault(f"{value!r} is what the pod has already: choose another, as net1", where)
    if value in COLLECTIVE_IFNAMES:
        reader.fault(f"{value!r} means every interface to the kernel: choose another", where)
    return value


def _read_config(
    reader: _Reader, value: object, where: str
) -> tuple[NetworkList, tuple[str, ...]] | None:
    try:
        written = canonical(value, field=where)
        network = parse_network(written, field=where)
    except RequestError as error:
        reader.faults.append(error)
        return None
    if isinstance(written, dict) and "plugins" not in written:
        return network, (where,)
    return network, tuple(f"{where}.plugins[{index}]" for index in range(len(network.plugins)))
