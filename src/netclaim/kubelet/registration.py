"""How kubelet learns of the driver: it asks who is there, then reports whether it accepted it.

Promise: `wait_registered()` returns once kubelet has accepted the driver; each verdict of kubelet
is logged and passed to the observer. Kubelet tries again by itself after a refusal, and registers
the driver again after its own restart, so verdicts may come any number of times. GetInfo has one
second, and the verdict five.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec
import structlog
from google.protobuf.message import Message
from grpclib.const import Cardinality, Handler
from grpclib.server import Stream

from netclaim.kubelet.dra_api import DRA_APIS
from netclaim.kubelet.health import HEALTH_APIS
from netclaim.kubelet.proto import registration_pb2 as pb
from netclaim.kubelet.server import receive

SERVICE: Final = pb.DESCRIPTOR.services_by_name["Registration"].full_name
GET_INFO: Final = f"/{SERVICE}/GetInfo"
NOTIFY_STATUS: Final = f"/{SERVICE}/NotifyRegistrationStatus"

PLUGIN_TYPE: Final = "DRAPlugin"
SUPPORTED_VERSIONS: Final = tuple(api.version for api in (*DRA_APIS, *HEALTH_APIS))

log = structlog.get_logger()


class RegistrationVerdict(msgspec.Struct, frozen=True):
    """Kubelet's verdict about the driver: accepted, or refused with kubelet's own message."""

    registered: bool
    error: str = ""


class Registration:
    """The Registration service, and the place to wait for kubelet's verdict.

    `observe` must not raise: kubelet drops a driver that fails to take the verdict.
    """

    def __init__(
        self,
        driver_name: str,
        endpoint: Path,
        observe: Callable[[RegistrationVerdict], None],
    ) -> None:
        self._driver_name = driver_name
        self._endpoint = endpoint
        self._observe = observe
        self._registered = asyncio.Event()

    @property
    def registered(self) -> bool:
        """Whether kubelet's last verdict was an acceptance; kubelet does not announce its end."""
        return self._registered.is_set()

    async def wait_registered(self) -> None:
        """Wait until kubelet has accepted the driver; returns at once while it is accepted."""
        await self._registered.wait()

    def accept(self) -> None:
        """Take it that kubelet has accepted the driver: it accepted the process before this one."""
        log.info("kubelet.still_registered", driver=self._driver_name)
        self._registered.set()
        self._observe(RegistrationVerdict(registered=True))

    def answers(self) -> Mapping[str, Message]:
        """Return what every process of this driver answers, whatever it is asked, by the call."""
        return {GET_INFO: self._info(), NOTIFY_STATUS: pb.RegistrationStatusResponse()}

    def __mapping__(self) -> Mapping[str, Handler]:
        return {
            GET_INFO: Handler(
                self._get_info, Cardinality.UNARY_UNARY, pb.InfoRequest, pb.PluginInfo
            ),
            NOTIFY_STATUS: Handler(
                self._notify,
                Cardinality.UNARY_UNARY,
                pb.RegistrationStatus,
                pb.RegistrationStatusResponse,
            ),
        }

    async def _get_info(self, stream: Stream[pb.InfoRequest, pb.PluginInfo]) -> None:
        await receive(stream)
        await stream.send_message(self._info())

    def _info(self) -> pb.PluginInfo:
        return pb.PluginInfo(
            type=PLUGIN_TYPE,
            name=self._driver_name,
            endpoint=str(self._endpoint),
            supported_versions=SUPPORTED_VERSIONS,
        )

    async def _notify(
        self, stream: Stream[pb.RegistrationStatus, pb.RegistrationStatusResponse]
    ) -> None:
        status = await receive(stream)
        verdict = RegistrationVerdict(status.plugin_registered, status.error)
        if verdict.registered:
            log.info("kubelet.registered", driver=self._driver_name)
            self._registered.set()
        else:
            log.error("kubelet.refused", driver=self._driver_name, error=verdict.error)
            self._registered.clear()
        self._observe(verdict)
        await stream.send_message(pb.RegistrationStatusResponse())
