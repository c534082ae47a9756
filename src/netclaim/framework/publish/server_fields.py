"""The fields of devices that the API server adds or drops when they are written. No I/O.

A field whose feature is disabled is dropped silently, and a device that was meant for many claims
is then for one. `PROBE` finds that out in one request, by a slice that is sent and not stored.
Limit: it does not show what a scheduler makes of the fields.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from netclaim.model.api.dra.device_json import device_json
from netclaim.model.claims.claim import JsonObject
from netclaim.model.devices.device import Capacity, Device, RequestPolicy, Taint
from netclaim.model.quantity import Quantity

ONE, TWO = Quantity.parse("1"), Quantity.parse("2")
# A device with what features added to the API since 1.32, as far as drivers publish it.
PROBE: Final = device_json(
    Device(
        "probe",
        capacity={"probe": Capacity(TWO, RequestPolicy(default=ONE, valid_values=(ONE, TWO)))},
        allow_multiple_allocations=True,
        taints=(Taint("netclaim.dev/probe", "NoSchedule"),),
        binding_conditions=("Probed",),
        binding_failure_conditions=("ProbeFailed",),
    )
)
NAMED_BY_THE_DRIVER: Final = frozenset(
    {"attributes", "capacity", "consumesCounters.counters", "sharedCounters.counters"}
)  # maps whose keys are names, not fields


def without_server_fields(devices: Iterable[JsonObject]) -> list[JsonObject]:
    """The devices without what only the server sets: the time when a taint was added."""
    return [
        _with_taints(device, lambda taint: {k: v for k, v in taint.items() if k != "timeAdded"})
        for device in devices
    ]


def with_server_fields(devices: list[JsonObject], stored: list[JsonObject]) -> list[JsonObject]:
    """The devices with what the server has set before, so that a write does not reset it."""
    times = {
        (device["name"], taint["key"], taint["effect"]): {"timeAdded": taint["timeAdded"]}
        for device in stored
        for taint in device.get("taints", ())
        if "timeAdded" in taint
    }

    def with_time(device: JsonObject, taint: JsonObject) -> JsonObject:
        return taint | times.get((device["name"], taint["key"], taint["effect"]), {})

    return [_with_taints(device, partial(with_time, device)) for device in devices]


def dropped_of_probe(stored: JsonObject, known: frozenset[str]) -> frozenset[str]:
    """The fields that the server drops, judged by the slice of PROBE that it would store.

    Fields that are `known` to be dropped, and that PROBE does not have, stay in the result.
    """
    returned = without_server_fields(stored["spec"].get("devices") or [])
    unseen = {path for path in known if path.partition(".")[0] not in PROBE}
    return dropped_fields([PROBE], returned) | unseen


def dropped_fields(sent: Any, returned: Any, path: str = "") -> frozenset[str]:
    """Paths of what was sent and did not come back: fields of features that are switched off.

    Names of devices, attributes, capacities and counters become `*`: a feature shows up once.
    """
    if isinstance(sent, Mapping):
        if not isinstance(returned, Mapping):
            return frozenset({path})
        return frozenset().union(
            *(
                dropped_fields(value, returned.get(key), f"{path}.{_shown(path, key)}".lstrip("."))
                for key, value in sent.items()
            )
        )
    if isinstance(sent, list):
        if not isinstance(returned, list) or len(returned) != len(sent):
            return frozenset({path})
        pairs = zip(sent, returned, strict=True)
        return frozenset().union(*(dropped_fields(s, r, path) for s, r in pairs))
    return frozenset() if returned is not None else frozenset({path})


def _shown(path: str, key: str) -> str:
    return "*" if path in NAMED_BY_THE_DRIVER else key


def _with_taints(device: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    if "taints" not in device:
        return device
    return device | {"taints": [change(taint) for taint in device["taints"]]}
