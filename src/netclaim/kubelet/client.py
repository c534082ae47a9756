"""Kubelet's part towards a driver: register it, have claims prepared and released, watch health.

Promise: the same order, checks and deadlines as kubelet 1.37, so that a driver which passes here
meets no surprise there. Whatever the driver does wrong is a PeerError. Limit: one call is one try;
the caller decides when to try again.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from grpclib.client import Channel, UnaryStreamMethod, UnaryUnaryMethod
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from netclaim.errors import PeerError
from netclaim.kubelet.dra_api import DRA_APIS, DraApi
from netclaim.kubelet.health import HEALTH_APIS, DeviceHealth, HealthApi
from netclaim.kubelet.proto import registration_pb2
from netclaim.kubelet.registration import GET_INFO, NOTIFY_STATUS, PLUGIN_TYPE
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer

# Kubelet's own deadlines.
DIAL_S: Final = 10.0
GET_INFO_S: Final = 1.0
NOTIFY_S: Final = 5.0
CALL_DEADLINE_S: Final = 45.0

DIAL_PAUSE_S: Final = 0.05  # a socket is visible a moment before its owner listens on it


class DriverCallError(PeerError):
    """A call to a driver brought no answer; `status` is gRPC's reason."""

    def __init__(self, call: str, status: Status, message: str) -> None:
        super().__init__(f"{call}: {status.name}: {message}")
        self.call = call
        self.status = status


class RegisteredDriver(msgspec.Struct, frozen=True):
    """A registered driver: where it serves, and the API versions to call it by."""

    name: str
    endpoint: Path
    api: DraApi
    supported_versions: tuple[str, ...]
    health_api: HealthApi | None = None  # None: it announced no health service, and is not asked


class DriverInfo(msgspec.Struct, frozen=True):
    """A plugin's answer to kubelet's first question."""

    type: str
    name: str
    endpoint: Path
    supported_versions: tuple[str, ...]


async def ask_info(socket: Path) -> DriverInfo:
    """Ask who is behind a registration socket, without registering it."""
    with _call_errors(f"GetInfo at {socket}"):
        async with Channel(path=str(socket)) as channel:
            info = await _get_info(channel)
    return DriverInfo(info.type, info.name, Path(info.endpoint), tuple(info.supported_versions))


async def register(
    socket: Path,
    known: Sequence[DraApi] = DRA_APIS,
    health_apis: Sequence[HealthApi] = HEALTH_APIS,
) -> RegisteredDriver:
    """Ask who is behind a registration socket, check the answer, and report the verdict to it.

    `known` are the API versions of this kubelet; of the driver's list, the first known one is used.
    Of `health_apis`, it is the first that the driver has.
    Raises PeerError when the driver is refused, after reporting that to it. A second call registers
    the driver again.
    """
    with _call_errors(f"registration at {socket}"):
        await _wait_listening(socket)
        async with Channel(path=str(socket)) as channel:
            info = await _get_info(channel)
            try:
                driver = _accept(info, known, health_apis)
            except PeerError as refusal:
                await _notify(channel, registration_pb2.RegistrationStatus(error=str(refusal)))
                raise
            await _notify(channel, registration_pb2.RegistrationStatus(plugin_registered=True))
            return driver


async def _get_info(channel: Channel) -> registration_pb2.PluginInfo:
    method = UnaryUnaryMethod(
        channel, GET_INFO, registration_pb2.InfoRequest, registration_pb2.PluginInfo
    )
    return await method(registration_pb2.InfoRequest(), timeout=GET_INFO_S)


async def _wait_listening(socket: Path) -> None:
    async with asyncio.timeout(DIAL_S):
        while True:
            try:
                _, writer = await asyncio.open_unix_connection(socket)
            except (ConnectionRefusedError, FileNotFoundError):
                await asyncio.sleep(DIAL_PAUSE_S)
            else:
                writer.close()
                return await writer.wait_closed()


async def _notify(channel: Channel, verdict: registration_pb2.RegistrationStatus) -> None:
    method = UnaryUnaryMethod(
        channel,
        NOTIFY_STATUS,
        registration_pb2.RegistrationStatus,
        registration_pb2.RegistrationStatusResponse,
    )
    await method(verdict, timeout=NOTIFY_S)


def _accept(
    info: registration_pb2.PluginInfo, known: Sequence[DraApi], health_apis: Sequence[HealthApi]
) -> RegisteredDriver:
    if info.type != PLUGIN_TYPE:
        raise PeerError(f"plugin {info.name!r} is a {info.type!r}, not a {PLUGIN_TYPE}")
    if not info.endpoint:
        raise PeerError(f"DRA driver {info.name!r} has no endpoint")
    by_version = {api.version: api for api in known}
    usable = [by_version[version] for version in info.supported_versions if version in by_version]
    if not usable:
        raise PeerError(
            f"DRA driver {info.name!r} supports {', '.join(info.supported_versions) or 'nothing'},"
            f" this kubelet {', '.join(by_version) or 'nothing'}"
        )
    return RegisteredDriver(
        name=info.name,
        endpoint=Path(info.endpoint),
        api=usable[0],
        supported_versions=tuple(info.supported_versions),
        health_api=next((a for a in health_apis if a.version in info.supported_versions), None),
    )


class DraClient:
    """Calls to a registered driver, over one connection that is made again when it is lost."""

    def __init__(self, driver: RegisteredDriver, *, deadline_s: float = CALL_DEADLINE_S) -> None:
        self._driver = driver
        self._api = driver.api
        self._deadline_s = deadline_s
        self._channel = Channel(path=str(driver.endpoint))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._channel.close()

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Return the answer for each of the claims, by UID."""
        response = await self._call("NodePrepareResources", self._api.prepare_request(refs))
        answers = self._api.prepare_answers(response)
        self._check_answered(refs, answers)
        return answers

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        """Return None or an error for each of the claims, by UID."""
        response = await self._call("NodeUnprepareResources", self._api.unprepare_request(refs))
        errors = self._api.unprepare_errors(response)
        self._check_answered(refs, errors)
        return errors

    async def watch_health(self) -> AsyncGenerator[tuple[DeviceHealth, ...], None]:
        """Yield each list of healths as it comes, until the driver ends the stream.

        A driver that announced no health service yields nothing. Wrap this in `contextlib.aclosing`
        when leaving earlier, so that the driver learns of it.
        """
        api = self._driver.health_api
        if api is None:
            return
        request = api.messages.NodeWatchResourcesRequest
        method: UnaryStreamMethod[Any, Any] = UnaryStreamMethod(
            self._channel, api.path, request, api.messages.NodeWatchResourcesResponse
        )
        with _call_errors(f"NodeWatchResources of {self._driver.name}"):
            async with method.open() as stream:
                await stream.send_message(request(), end=True)
                async for message in stream:
                    yield api.healths(message)

    async def _call(self, name: str, request: Any) -> Any:
        response_type = getattr(self._api.messages, f"{name}Response")
        method: UnaryUnaryMethod[Any, Any] = UnaryUnaryMethod(
            self._channel, self._api.path(name), type(request), response_type
        )
        with _call_errors(f"{name} of {self._driver.name}"):
            return await method(request, timeout=self._deadline_s)

    def _check_answered(self, refs: Sequence[ClaimRef], answers: Mapping[str, Any]) -> None:
        asked = {ref.uid for ref in refs}
        if answers.keys() != asked:
            raise PeerError(
                f"driver {self._driver.name} skipped the claims {sorted(asked - answers.keys())}"
                f" and answered for {sorted(answers.keys() - asked)}, which were not asked for"
            )


@contextmanager
def _call_errors(call: str) -> Iterator[None]:
    """Raise errors of the connection under the names that grpc-go gives them."""
    try:
        yield
    except GRPCError as error:
        raise DriverCallError(call, error.status, error.message or "no message") from error
    except TimeoutError as error:
        raise DriverCallError(call, Status.DEADLINE_EXCEEDED, "no answer in time") from error
    except (OSError, StreamTerminatedError) as error:
        raise DriverCallError(call, Status.UNAVAILABLE, str(error)) from error
