"""What the API server keeps of a device: found out with a slice that it does not store.

A field whose feature is disabled is dropped without a word, and a device that was meant for many
claims is then for one. Promise: knowing it costs one request, and nobody sees the slice. Limit:
what a scheduler makes of the fields is not known by it.
"""

from typing import Final, Protocol

from netclaim.framework.device_json import device_json, dropped_fields, without_server_fields
from netclaim.framework.slices import Pool
from netclaim.model.claim import JsonObject
from netclaim.model.device import Capacity, Device, RequestPolicy, Taint
from netclaim.model.quantity import Quantity

__all__ = ["PROBE", "Probed", "find_dropped"]

ONE, TWO = Quantity.parse("1"), Quantity.parse("2")
# A device with what features added to the API since 1.32, as far as drivers publish it.
PROBE: Final = Device(
    "probe",
    capacity={"probe": Capacity(TWO, RequestPolicy(default=ONE, valid_values=(ONE, TWO)))},
    allow_multiple_allocations=True,
    taints=(Taint("netclaim.dev/probe", "NoSchedule"),),
    binding_conditions=("Probed",),
    binding_failure_conditions=("ProbeFailed",),
)


class Probed(Protocol):
    """The API server, as far as it is asked."""

    async def probe(self, obj: JsonObject) -> JsonObject | None:
        """The slice as it would be stored; nothing is. None: the server does not want to say."""
        ...


async def find_dropped(
    pool: Pool, server: Probed, known: frozenset[str] = frozenset()
) -> frozenset[str]:
    """The fields that the server drops, as far as it says. Raises what may pass.

    Of those that are `known` to be dropped, what the slice does not have stays.
    """
    sent = [device_json(PROBE)]
    stored = await server.probe(pool.probe_slice(sent))
    if stored is None:
        return known
    returned = without_server_fields(stored["spec"].get("devices") or [])
    unseen = {path for path in known if path.partition(".")[0] not in sent[0]}
    return dropped_fields(sent, returned) | unseen
