"""The driver as kubelet sees it: two sockets, three services, one life.

Promise: the DRA socket answers before the registration socket exists, and goes after it: kubelet
never hears of a driver that it cannot call. A stop lets the calls in flight finish before it
withdraws the registration, because kubelet hangs up within a second of seeing that socket go.
Limit: of two instances of a driver name it is the caller who knows which one works.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import structlog

from netclaim.kubelet.dra import ClaimService, DraService
from netclaim.kubelet.dra_api import DRA_APIS
from netclaim.kubelet.health import RESEND_S, HealthService, HealthSource
from netclaim.kubelet.registration import Registration, RegistrationVerdict
from netclaim.kubelet.server import GrpcService, serving
from netclaim.kubelet.sockets import PluginSockets, ensure_directories

__all__ = ["GRACE_S", "serve_plugin"]

GRACE_S: Final = 20.0  # a terminating pod has 30 s; the rest is for what else must be closed

log = structlog.get_logger()


@asynccontextmanager
async def serve_plugin(
    driver_name: str,
    sockets: PluginSockets,
    claims: ClaimService,
    healths: HealthSource,
    observe: Callable[[RegistrationVerdict], None],
    *,
    grace_s: float = GRACE_S,
    resend_s: float = RESEND_S,
) -> AsyncIterator[Registration]:
    """Serve and announce the driver; gives the registration, for `wait_registered()`.

    Raises HostError when a directory is missing, a path too long, or another process serves there.
    """
    ensure_directories(sockets)
    health = HealthService(healths, resend_s=resend_s)
    registration = Registration(driver_name, sockets.dra.absolute(), observe)
    services: list[GrpcService] = [*(DraService(api, claims) for api in DRA_APIS), health]
    async with (
        serving(sockets.dra, services) as calls,
        serving(sockets.registration, [registration]),
    ):
        log.info("kubelet.announced", driver=driver_name, socket=str(sockets.registration))
        try:
            yield registration
        finally:
            health.end_streams()
            await calls.drain(grace_s)
    log.info("kubelet.stopped", driver=driver_name)
