"""Device health for the pods' status: a stream of full lists to kubelet.

Promise: a watcher gets the list at once, again after each change, and again before kubelet would
take silence for ill health. Limit: health moves no pod; a taint on the device does that.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, Protocol

import msgspec
from grpclib.const import Cardinality, Handler
from grpclib.server import Stream

from netclaim.kubelet import dra_health_pb2 as pb
from netclaim.kubelet.server import receive

__all__ = [
    "HEALTH_VERSION",
    "RESEND_S",
    "WATCH_RESOURCES",
    "DeviceHealth",
    "Health",
    "HealthBoard",
    "HealthService",
    "HealthSource",
    "decode_healths",
]

# The only service whose announced version is also its name on the wire.
HEALTH_VERSION: Final = pb.DESCRIPTOR.services_by_name["DRAResourceHealth"].full_name
WATCH_RESOURCES: Final = f"/{HEALTH_VERSION}/NodeWatchResources"

RESEND_S: Final = 15.0  # half of the 30 s after which kubelet reports a silent device as unknown


class Health(IntEnum):
    """The states kubelet knows, with their numbers on the wire."""

    UNKNOWN = 0
    HEALTHY = 1
    UNHEALTHY = 2

    @classmethod
    def _missing_(cls, _value: object) -> "Health":
        return cls.UNKNOWN  # one of a later version


class DeviceHealth(msgspec.Struct, frozen=True):
    """How one published device is."""

    pool_name: str
    device_name: str
    health: Health
    message: str = ""  # for people; kubelet keeps the first 1024 characters


class HealthSource(Protocol):
    """Where the healths come from: the list of now, and a way to wait for another."""

    def latest(self) -> Sequence[DeviceHealth]:
        """All devices, as they are known now."""

    async def wait_changed(self, seen: Sequence[DeviceHealth]) -> None:
        """Return once `latest()` is another list than `seen`, which it once returned."""


class HealthBoard:
    """The list of now, posted by one and watched by any number."""

    def __init__(self, healths: Iterable[DeviceHealth] = ()) -> None:
        self._latest = tuple(healths)
        self._changed = asyncio.Event()

    def post(self, healths: Iterable[DeviceHealth]) -> None:
        """Replace the list. The same again: nobody is woken."""
        posted = tuple(healths)
        if posted != self._latest:
            self._latest = posted
            self._changed.set()
            self._changed = asyncio.Event()

    def latest(self) -> Sequence[DeviceHealth]:
        """The list that was posted last."""
        return self._latest

    async def wait_changed(self, seen: Sequence[DeviceHealth]) -> None:
        """Return once another list than `seen` is posted."""
        while self._latest is seen:
            await self._changed.wait()


class HealthService:
    """The DRAResourceHealth service."""

    def __init__(
        self,
        source: HealthSource,
        *,
        resend_s: float = RESEND_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._source = source
        self._resend_s = resend_s
        self._clock = clock
        self._streams: set[asyncio.Timeout] = set()

    def end_streams(self) -> None:
        """End each open stream with status OK; kubelet then forgets our healths. Again: nothing."""
        while self._streams:
            self._streams.pop().reschedule(0)  # a time long past

    def __mapping__(self) -> Mapping[str, Handler]:
        return {
            WATCH_RESOURCES: Handler(
                self._watch,
                Cardinality.UNARY_STREAM,
                pb.NodeWatchResourcesRequest,
                pb.NodeWatchResourcesResponse,
            )
        }

    async def _watch(self, stream: Stream[Any, pb.NodeWatchResourcesResponse]) -> None:
        await receive(stream)
        try:
            async with asyncio.timeout(None) as until_ended:
                self._streams.add(until_ended)
                try:
                    await self._send_lists(stream)
                finally:
                    self._streams.discard(until_ended)
        except TimeoutError:
            return

    async def _send_lists(self, stream: Stream[Any, pb.NodeWatchResourcesResponse]) -> None:
        while True:
            healths = self._source.latest()
            await stream.send_message(_encode_healths(healths, int(self._clock())))
            try:
                async with asyncio.timeout(self._resend_s):
                    await self._source.wait_changed(healths)
            except TimeoutError:
                continue  # nothing changed; say so


def _encode_healths(
    healths: Iterable[DeviceHealth], updated_s: int
) -> pb.NodeWatchResourcesResponse:
    return pb.NodeWatchResourcesResponse(
        devices=[
            pb.DeviceHealth(
                device=pb.DeviceIdentifier(
                    pool_name=device.pool_name, device_name=device.device_name
                ),
                health=pb.HealthStatus.Name(device.health),
                last_updated_time=updated_s,
                message=device.message,
            )
            for device in healths
        ]
    )


def decode_healths(response: pb.NodeWatchResourcesResponse) -> tuple[DeviceHealth, ...]:
    """The list of one message, as the watching side reads it."""
    return tuple(
        DeviceHealth(
            pool_name=health.device.pool_name,
            device_name=health.device.device_name,
            health=Health(health.health),
            message=health.message,
        )
        for health in response.devices
    )
