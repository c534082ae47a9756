"""Read what a claim asks of us: one interface for each request, in every dialect people write.

Promise: all mistakes of a claim are reported at once, each with the path of what to change. The
claim's parameters go over its class's, and those for an alternative over those for its request, key
by key; `config` is one key and is replaced whole. Who set what is kept, for `permit` to judge.
Limit: no I/O. Whether the links and plugins it names are there is asked later; which keys there
are, `parameter_keys` says.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from netclaim.cni import NetworkList
from netclaim.model import AllocatedDevice, Claim
from netclaim.network.entries import Entry, Requested
from netclaim.network.errors import raise_all
from netclaim.network.parameter_keys import KEYS, Parsed, SetBy
from netclaim.network.parameter_layers import Layer, Reader, read_layers
from netclaim.network.wishes import Wishes
from netclaim.paths import Path

__all__ = ["InterfaceRequest", "read_claim"]

# How much is said of one claim: whoever makes mistakes by the thousand, which is easily done in the
# API's 10 KiB, does not have a node's driver spend its time on them.
FAULTS_MAX: Final = 20

NO_WISHES: Final = Wishes()


@dataclass(frozen=True, slots=True)
class InterfaceRequest:
    """One interface that a claim asks for, and the paths by which to speak of its configuration."""

    device: AllocatedDevice
    ifname: str
    network: NetworkList
    plugin_paths: tuple[Path, ...]  # for each plugin of the network, where it was written
    wishes: Wishes = NO_WISHES
    wish_paths: Mapping[str, Path] = field(default_factory=dict)
    claimed: Mapping[str, Path] = field(default_factory=dict)  # what the claim set, and where
    class_has_config: bool = False
    allowed: frozenset[str] | None = None  # what the class lets claims set; None: it does not say

    @property
    def trusted(self) -> bool:
        """Whether the network is an admin's word: it was not the claim that wrote it."""
        return "config" not in self.claimed


def read_claim(claim: Claim) -> tuple[InterfaceRequest, ...]:
    """Read what to make of each allocated device; RequestError says everything that is wrong."""
    reader = Reader(claim)
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
    """One device of each request: a request with several is a mistake already reported."""
    return list({device.base_request: device for device in reversed(list(devices))}.values())[::-1]


def _check_counts(reader: Reader) -> None:
    counts = Counter(device.base_request for device in reader.claim.devices)
    for request, count in counts.items():
        if count > 1:
            reader.fault(
                f"got {count} devices, but an interface needs exactly one; use "
                f"allocationMode ExactCount and count 1",
                (Requested.named(request),),
            )


def _check_shared_configs(reader: Reader) -> None:
    """A configuration names an interface, so it can serve one request only."""
    for number, config in enumerate(reader.claim.configs):
        devices = reader.claim.devices
        served = dict.fromkeys(d.base_request for d in devices if config.applies_to(d.request))
        if len(served) > 1 and config.source == "FromClaim":
            reader.fault(
                f"a configuration applies to one request, but this one to {', '.join(served)}; "
                f"write one entry for each, with its name in `requests`",
                (Entry.of_claim(number, next(iter(served)), config.requests),),
            )


def _check_unique(reader: Reader, requests: Iterable[InterfaceRequest]) -> None:
    users: dict[str, list[str]] = {}
    for request in requests:
        users.setdefault(request.ifname, []).append(request.device.base_request)
    for ifname, names in users.items():
        if len(names) > 1:
            reader.fault(
                f"the requests {', '.join(names)} all name their interface {ifname!r}; "
                f"use a different name for each",
                ("spec", "devices", "config"),
            )


def _read_device(reader: Reader, device: AllocatedDevice) -> InterfaceRequest | None:
    """Read the configuration of one request; None after a mistake."""
    mistakes_before = len(reader.faults)
    layers = read_layers(reader, device)
    merged: dict[str, tuple[object, Layer]] = {}
    for layer in layers:
        merged |= {key: (value, layer) for key, value in layer.values.items()}
    values: dict[str, Any] = {}
    paths = {key: layer.paths[key] for key, (_, layer) in merged.items()}
    for key in KEYS:
        if key.set_by is SetBy.EACH:
            continue
        if key.name in merged:
            values[key.name] = reader.value(key, merged[key.name][0], paths[key.name])
        elif key.missing and layers:
            path = layers[-1].paths[key.name]
            reader.fault(f"{path[-1]} is missing; {key.missing}", path)
    if not layers or len(reader.faults) > mistakes_before:
        return None
    parsed: Parsed = values["config"]
    wishes = {key.name: values[key.name] for key in KEYS if key.wish and key.name in values}
    of_class = next((layer for layer in layers if layer.of_class), None)
    return InterfaceRequest(
        device,
        values["ifName"],
        *parsed,
        wishes=Wishes(**wishes),
        wish_paths={key: paths[key] for key in wishes},
        claimed={key: paths[key] for key, (_, layer) in merged.items() if not layer.of_class},
        class_has_config=of_class is not None and "config" in of_class.values,
        allowed=values.get("allow"),
    )
