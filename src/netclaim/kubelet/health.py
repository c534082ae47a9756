"""Device health for the pods' status: a stream of full lists to kubelet, in each of its versions.

Promise: a watcher gets the list at once, again after each change, and again before kubelet would
take silence for ill health. Limit: health moves no pod; a taint on the device does that.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from types import ModuleType
from typing import Any, Final, Protocol

import msgspec
from grpclib.const import Cardinality, Handler
from grpclib.server import Stream

from netclaim.kubelet.proto import dra_health_v1_pb2, dra_health_v1alpha1_pb2
from netclaim.kubelet.server import receive

RESEND_S: Final = 15.0  # half of the 30 s after which kubelet reports a silent device as unknown


class Health(IntEnum):
    """The states that kubelet knows, with their numbers on the wire."""

    UNKNOWN = 0
    HEALTHY = 1
    UNHEALTHY = 2

    @classmethod
    def _missing_(cls, _value: object) -> "Health":
        return cls.UNKNOWN  # a state of a later version


class DeviceHealth(msgspec.Struct, frozen=True):
    """The health of one published device."""

    pool_name: str
    device_name: str
    health: Health
    message: str = ""  # for people; kubelet keeps the first 1024 characters


@dataclass(frozen=True, slots=True)
class HealthApi:
    """One version of kubelet's health service. The messages of all versions are alike."""

    messages: ModuleType

    @property
    def version(self) -> str:
        """The service's name on the wire, which is also what the driver announces."""
        return str(self.messages.DESCRIPTOR.services_by_name["DRAResourceHealth"].full_name)

    @property
    def path(self) -> str:
        """The name of the service's only method on the wire."""
        return f"/{self.version}/NodeWatchResources"

    def response(self, healths: Iterable[DeviceHealth], updated_s: int) -> Any:
        pb = self.messages
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

    def healths(self, response: Any) -> tuple[DeviceHealth, ...]:
        """Read what `response` makes."""
        return tuple(
            DeviceHealth(
                pool_name=health.device.pool_name,
                device_name=health.device.device_name,
                health=Health(health.health),
                message=health.message,
            )
            for health in response.devices
        )


# In kubelet's order of preference: 1.37 watches by v1, earlier releases know only v1alpha1.
HEALTH_APIS: Final = (HealthApi(dra_health_v1_pb2), HealthApi(dra_health_v1alpha1_pb2))


class HealthSource(Protocol):
    """Where the healths come from: the current list, and a way to wait for another one."""

    def latest(self) -> Sequence[DeviceHealth]:
        """Return all devices, as they are known now."""

    async def wait_changed(self, seen: Sequence[DeviceHealth]) -> None:
        """Return once `latest()` is another list than `seen`, which it returned before."""


class HealthBoard:
    """The current list, posted by one and watched by any number."""

    def __init__(self, healths: Iterable[DeviceHealth] = ()) -> None:
        self._latest = tuple(healths)
        self._changed = asyncio.Event()

    def post(self, healths: Iterable[DeviceHealth]) -> None:
        """Replace the list. An equal list wakes nobody."""
        posted = tuple(healths)
        if posted != self._latest:
            self._latest = posted
            self._changed.set()
            self._changed = asyncio.Event()

    def latest(self) -> Sequence[DeviceHealth]:
        """Return the list that was posted last."""
        return self._latest

    async def wait_changed(self, seen: Sequence[DeviceHealth]) -> None:
        """Return once another list than `seen` is posted."""
        while self._latest is seen:
            await self._changed.wait()


class HealthService:
    """The DRAResourceHealth service, in all its versions."""

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
        """End each open stream with status OK; kubelet then forgets our healths."""
        while self._streams:
            self._streams.pop().reschedule(0)  # a time in the past

    def __mapping__(self) -> Mapping[str, Handler]:
        return {
            api.path: Handler(
                partial(self._watch, api),
                Cardinality.UNARY_STREAM,
                api.messages.NodeWatchResourcesRequest,
                api.messages.NodeWatchResourcesResponse,
            )
            for api in HEALTH_APIS
        }

    async def _watch(self, api: HealthApi, stream: Stream[Any, Any]) -> None:
        await receive(stream)
        try:
            async with asyncio.timeout(None) as until_ended:
                self._streams.add(until_ended)
                try:
                    await self._send_lists(api, stream)
                finally:
                    self._streams.discard(until_ended)
        except TimeoutError:
            return

    async def _send_lists(self, api: HealthApi, stream: Stream[Any, Any]) -> None:
        while True:
            healths = self._source.latest()
            await stream.send_message(api.response(healths, int(self._clock())))
            try:
                async with asyncio.timeout(self._resend_s):
                    await self._source.wait_changed(healths)
            except TimeoutError:
                continue  # nothing changed, but kubelet must hear from us
