"""Read what a claim asks of us: an interface for each device, in every dialect people write.

Promise: all mistakes of a claim are reported at once, each with the path of what to change. The
claim's parameters go over its class's, and those for an alternative over those for its request, key
by key; `config` is one key and is replaced whole. All devices of a request have its parameters, so
what can be one interface's only is refused where a request has several (`several`). Who set what
is kept, for `permit` to judge. Limit: no I/O. Whether the links and plugins it names are there is
asked later; which keys there are, `keys` says.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from netclaim.model import AllocatedDevice, Claim
from netclaim.network.errors import raise_all
from netclaim.network.request.ifnames import numbered
from netclaim.network.request.interface_request import ANYBODY, InterfaceRequest
from netclaim.network.request.into_config.wishes import Wishes
from netclaim.network.request.keys import KEYS, Parsed, SetBy
from netclaim.network.request.layers import Layer, Reader, read_layers
from netclaim.network.request.several import several_faults

__all__ = ["InterfaceRequest", "read_claim"]

# Mistakes of one claim that are reported. The API's 10 KiB have space for thousands, and no tenant
# shall have a node's driver spend its time on them.
FAULTS_MAX: Final = 20


def read_claim(claim: Claim) -> tuple[InterfaceRequest, ...]:
    """Read what to make of each allocated device; RequestError says everything that is wrong."""
    claim.check_readable()
    reader = Reader(claim)
    read: dict[str, InterfaceRequest | None] = {}
    for device in claim.devices:
        if device.request not in read and len(reader.faults) < FAULTS_MAX:
            read[device.request] = _read_device(reader, device)
    written = [
        replace(request, device=device)
        for device in claim.devices
        if (request := read.get(device.request)) is not None
    ]
    reader.faults.extend(several_faults(claim, written))
    requests = _named(written)
    _check_unique(reader, requests)
    raise_all(reader.faults)
    return requests


def _named(requests: Sequence[InterfaceRequest]) -> tuple[InterfaceRequest, ...]:
    """Give each interface its name, where a pattern was written for it."""
    names = numbered(request.ifname for request in requests)
    return tuple(
        request if request.ifname == name else replace(request, ifname=name, pattern=request.ifname)
        for request, name in zip(requests, names, strict=True)
    )


def _check_unique(reader: Reader, requests: Iterable[InterfaceRequest]) -> None:
    users: dict[str, dict[str, None]] = {}  # an ordered set of requests for each name
    for request in requests:
        users.setdefault(request.ifname, {})[request.device.base_request] = None
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
    if merged["config"][1].one_place:
        parsed = (parsed[0], (paths["config"],) * len(parsed[1]))
    wishes = {key.name: values[key.name] for key in KEYS if key.wish and key.name in values}
    of_class = next((layer for layer in layers if layer.of_class), None)
    return InterfaceRequest(
        device,
        values["ifName"],
        paths["ifName"],
        *parsed,
        wishes=Wishes.of(wishes),
        wish_paths={key: paths[key] for key in wishes},
        claimed={key: paths[key] for key, (_, layer) in merged.items() if not layer.of_class},
        class_has_config=of_class is not None and "config" in of_class.values,
        allowed=values.get("allow"),
        namespaces=values.get("namespaces", ANYBODY),
        ipam_claim=values.get("ipamClaim", ""),
        ipam_claim_path=paths.get("ipamClaim", ()),
        pod_network=values.get("podNetwork", ""),
        as_text=isinstance(merged["config"][0], str),
    )
