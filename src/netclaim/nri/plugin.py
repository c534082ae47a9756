"""The NRI plugin: finds the runtime, registers, serves it, and comes back when it is lost.

Promise: as long as `run` runs, the plugin is connected or tries to connect; the runtime's socket
may vanish and return. Limit: while it is disconnected the plugin gets no events, and pods start
without it. What happened meanwhile shows in the next `synchronize`.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import structlog

from netclaim.errors import HostError, PeerError, RequestError
from netclaim.nri.deadlines import HookRunner
from netclaim.nri.proto import api_pb2 as pb
from netclaim.nri.service import Handlers, PluginService
from netclaim.nri.values import RuntimeInfo
from netclaim.nri.wire.connection import Connection
from netclaim.nri.wire.endpoint import PLUGIN_SIDE
from netclaim.tasks import TaskScope
from netclaim.unix_socket import SOCKET_PATH_MAX

SOCKET_PATH = Path("/var/run/nri/nri.sock")
NRI_VERSION = "0.12.0"  # the version whose calls we implement; older runtimes ignore it

# The runtime wants the request within 5 s of accepting us, and it is sent at once. The answer can
# take far longer: plugins are accepted one after another, and each may use up 5 s + 2 x 2 s.
REGISTER_S = 30.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses between attempts: each twice the one before, up to `cap_s`, less up to half by chance.

    Chance keeps the plugins of a node from returning all at once to a runtime that accepts one.
    """

    first_s: float = 0.1  # a runtime restarts in about a second; an attempt costs nearly nothing
    cap_s: float = 5.0  # pods that start meanwhile start without us

    def delays(self, chance: Callable[[], float]) -> Iterator[float]:
        """Yield the pauses, from the first on; `chance` returns numbers from 0 to 1."""
        delay_s = self.first_s
        while True:
            yield delay_s * (1 - chance() / 2)
            delay_s = min(delay_s * 2, self.cap_s)


BACKOFF = Backoff()


class Plugin:
    """A plugin called `name`, at position `index` ("00" to "99") among the runtime's plugins."""

    def __init__(
        self,
        handlers: Handlers,
        *,
        name: str,
        index: str,
        socket_path: Path = SOCKET_PATH,
        backoff: Backoff = BACKOFF,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_.+-]+", name):
            raise RequestError(f"{name!r} is not a plugin name; use letters, digits and _.+-")
        if not re.fullmatch(r"[0-9]{2}", index):
            raise RequestError(f"{index!r} is not a plugin index; use two digits")
        if len(bytes(socket_path)) > SOCKET_PATH_MAX:
            raise HostError(f"{socket_path} is too long for a socket ({SOCKET_PATH_MAX} bytes)")
        self._handlers = handlers
        self._registration = pb.RegisterPluginRequest(
            plugin_name=name, plugin_idx=index, NRI_version=NRI_VERSION
        )
        self._socket_path = socket_path
        self._backoff = backoff
        self._pause = pause
        self._chance = chance
        self._runtime: RuntimeInfo | None = None
        self._connection: Connection | None = None
        self._connected = asyncio.Event()
        self._lost = asyncio.Event()
        self._lost.set()

    @property
    def runtime(self) -> RuntimeInfo | None:
        """The runtime whose events arrive here; None while disconnected."""
        return self._runtime

    async def wait_connected(self) -> None:
        """Wait until a runtime has synchronized the plugin; from then on events arrive."""
        await self._connected.wait()

    async def wait_lost(self) -> None:
        await self._lost.wait()

    async def wait_answered(self) -> None:
        """Wait until every hook that has begun is answered, which is the moment to leave."""
        if self._connection is not None:
            await self._connection.wait_answered()

    async def run(self) -> NoReturn:
        """Serve until cancelled. Raises HostError if this process may not open the socket."""
        try:
            async with TaskScope() as tasks:
                await self._keep_connected(HookRunner(tasks))
        finally:
            self._disconnect()

    async def _keep_connected(self, hooks: HookRunner) -> NoReturn:
        delays = self._backoff.delays(self._chance)
        logged = ""
        while True:
            reason = await self._session(hooks)
            if self._disconnect():
                log.warning("nri.lost", reason=reason)
                delays = self._backoff.delays(self._chance)
            elif reason != logged:  # once for each reason, not at each attempt
                log.warning("nri.unreachable", socket=str(self._socket_path), reason=reason)
            logged = reason
            await self._pause(next(delays))

    async def _session(self, hooks: HookRunner) -> str:
        """Serve one connection from dialling to its end; returns why it ended."""
        try:
            reader, writer = await asyncio.open_unix_connection(self._socket_path)
            service = PluginService(self._handlers, hooks, self._connect)
            async with Connection(
                reader, writer, side=PLUGIN_SIDE, methods=service.methods()
            ) as connection:
                self._connection = connection
                await connection.call(
                    "RegisterPlugin", self._registration, pb.Empty, timeout_s=REGISTER_S
                )
                await connection.wait_closed()
        except PermissionError as error:
            raise HostError(f"{self._socket_path}: {error.strerror}; run as root") from error
        except (PeerError, OSError) as error:
            return str(error)
        return "the runtime closed the connection"

    def _connect(self, runtime: RuntimeInfo) -> None:
        self._runtime = runtime
        self._lost.clear()
        self._connected.set()
        log.info(
            "nri.connected",
            runtime=runtime.name,
            version=runtime.version,
            nri_version=runtime.nri_version,
            request_timeout_s=runtime.request_timeout_s,
        )

    def _disconnect(self) -> bool:
        """Forget the runtime; returns whether there was one."""
        if self._runtime is None:
            return False
        self._runtime = None
        self._connected.clear()
        self._lost.set()
        return True
