"""Read the parameters of each source that speaks of a device: its class, and entries of the claim.

    apiVersion: cni.networking.x-k8s.io/v1alpha1      interface: net1
    kind: CNI                                         config: {...} or a string of JSON
    ifName: net1
    config: {...}                                     interface: {name: net1, addresses: [...]}

Promise: strict, so that a misspelt key is a message and not a surprise, whichever dialect it is
written in. Reads on after a mistake, to report all of them. No I/O.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from netclaim.errors import RequestError
from netclaim.manifests.near import did_you_mean
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.model.api.own_kinds.pod_network import EVICT_AFTER
from netclaim.model.devices.link_name import link_of
from netclaim.network.request.dranet import is_dranets, translate, usual_ifname
from netclaim.network.request.entries import Entry, Requested
from netclaim.network.request.keys import API_VERSIONS, KEYS, KINDS, Parameter, SetBy
from netclaim.paths import Path
from netclaim.plugins.engine.unknown_keys import unknown_keys

# Known keys in the wrong place, and what to do about it.
MISPLACED: Final = {
    "interface": "with an apiVersion the key is ifName",
    "allow": "only a DeviceClass can say what claims may set",
    "namespaces": "only a DeviceClass can say whose claims may use it",
    "podNetwork": "only a DeviceClass can be a network's",
    EVICT_AFTER: "only a DeviceClass can say when pods are evicted",
    "ifName": f"it needs apiVersion: {API_VERSIONS[0]} and kind: {KINDS[0]} beside it",
}


@dataclass(frozen=True, slots=True)
class Layer:
    """The parameters of one source: what it sets, and where."""

    values: Mapping[str, Any]  # by the keys of today, whatever the dialect calls them
    paths: Mapping[str, Path]
    of_class: bool
    one_place: bool = False  # its network was made of the keys of one object, and has their paths


@dataclass(frozen=True, slots=True)
class Reader:
    """Collects the mistakes of a claim."""

    claim: Claim
    faults: list[RequestError] = field(default_factory=list)

    def fault(self, message: str, path: Path) -> None:
        self.faults.append(RequestError(message, path=path))

    def value(self, key: Parameter, written: object, path: Path) -> Any:
        """Read the value of a key; None after a mistake."""
        try:
            return key.read(written, path)
        except RequestError as error:
            self.faults.append(error)
            return None


def read_layers(reader: Reader, device: AllocatedDevice) -> list[Layer]:
    """Read what applies to a device: the class's parameters first, the most specific last."""
    entries = _entries(reader, device)
    return [_read_layer(reader, entry, config, device) for entry, config in entries]


def _entries(reader: Reader, device: AllocatedDevice) -> list[tuple[Entry, OpaqueConfig]]:
    """The class's configuration, then the claim's: at most one of each specificity."""
    request = device.base_request
    found = [
        (number, config)
        for number, config in enumerate(reader.claim.configs)
        if config.applies_to(device.request)
    ]
    if not found:
        reader.fault(
            f"no configuration for the driver {device.driver}: add an entry to "
            f"spec.devices.config with the request's name and `opaque` parameters",
            (Requested.named(request),),
        )
    of_class = [
        (Entry.of_device_class(number, request), config)
        for number, config in found
        if config.source == "FromClass"
    ]
    if len(of_class) > 1:
        reader.fault(
            f"{len(of_class)} entries are for the driver {device.driver}; keep only one",
            (of_class[-1][0],),
        )
    of_claim: dict[int, list[tuple[Entry, OpaqueConfig]]] = {}
    for number, config in found:
        if config.source != "FromClass":
            by_name = device.request if device.request in config.requests else request
            entry = Entry.of_claim(number, request, [by_name])
            of_claim.setdefault(_specificity(config, device), []).append((entry, config))
    for alike in of_claim.values():
        _check_only_one(reader, request, alike)
    return [*of_class[-1:], *(of_claim[level][-1] for level in sorted(of_claim))]


def _check_only_one(
    reader: Reader, request: str, alike: Sequence[tuple[Entry, OpaqueConfig]]
) -> None:
    if len(alike) > 1:
        named = " and ".join(f"[{', '.join(config.requests)}]" for _, config in alike)
        reader.fault(
            f"{len(alike)} entries are for this request, with `requests` {named}; keep only one",
            (Entry.of_claim(alike[-1][0].number, request, [request]),),
        )


def _specificity(config: OpaqueConfig, device: AllocatedDevice) -> int:
    """2: for the alternative or the request that got the device, by its whole name; 0: for all."""
    if device.request in config.requests:
        return 2
    return 1 if config.requests else 0


def _read_layer(
    reader: Reader, entry: Entry, config: OpaqueConfig, device: AllocatedDevice
) -> Layer:
    """Read the parameters of one source by the dialect that their keys show."""
    parameters = config.parameters
    where: Path = (entry, "opaque", "parameters")
    typed = any(key.name in parameters for key in KEYS if key.set_by is SetBy.EACH)
    if not typed and is_dranets(parameters):
        count = sum(each.request == device.request for each in reader.claim.devices)
        ifname = usual_ifname(link_of(device.device), count)
        found = translate(parameters, where, ifname=ifname, fault=reader.fault)
        return Layer(found.values, found.paths, entry.of_class, one_place=True)
    names = _names(typed=typed, of_class=entry.of_class)
    if typed:
        _check_dialect(reader, parameters, where)
    _check_known(reader, parameters, tuple(names.values()), where)
    return Layer(
        values={ours: parameters[theirs] for ours, theirs in names.items() if theirs in parameters},
        paths={ours: (*where, theirs) for ours, theirs in names.items()},
        of_class=entry.of_class,
    )


def _names(*, typed: bool, of_class: bool) -> dict[str, str]:
    """The keys that a source may have, and what they are called in its dialect."""
    if not typed:
        return {key.name: key.plain for key in KEYS if key.plain}
    return {key.name: key.name for key in KEYS if of_class or key.set_by is not SetBy.CLASS}


def _check_dialect(reader: Reader, parameters: Mapping[str, Any], where: Path) -> None:
    for key in KEYS:
        path = (*where, key.name)
        if key.set_by is SetBy.EACH and key.name not in parameters:
            reader.fault(f"{key.name} is missing; {key.missing}", path)
        elif key.set_by is SetBy.EACH:
            reader.value(key, parameters[key.name], path)


def _check_known(
    reader: Reader, parameters: Mapping[str, Any], known: Sequence[str], where: Path
) -> None:
    unknown = sorted(parameters.keys() - set(known), key=str)

    def hint(key: str) -> str:
        if key in MISPLACED:
            return f"; {MISPLACED[key]}"
        return did_you_mean(key, known) or f"; known keys are {', '.join(known)}"

    for message, path in unknown_keys(unknown, where, hint):
        reader.fault(message, path)
