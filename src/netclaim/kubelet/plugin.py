"""The driver as kubelet sees it: two sockets, three services, one life.

Promise: the DRA socket answers before the registration socket exists, and goes after it, so kubelet
never learns of a driver that it cannot call. A stop lets the calls in flight finish before it
withdraws the registration, because kubelet hangs up within a second of seeing that socket go. With
a keeper, a process that fails withdraws nothing, and leaves its calls to the next one; a kubelet
that is restarted meanwhile registers the driver by the answers that the keeper has of it.
Limit: if two instances of a driver run, the caller has to know which of them works.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import structlog

from netclaim.keeper import NO_KEEPER, Keeper
from netclaim.kubelet.dra import ClaimService, DraService
from netclaim.kubelet.dra_api import DRA_APIS
from netclaim.kubelet.health import RESEND_S, HealthService, HealthSource
from netclaim.kubelet.registration import Registration, RegistrationVerdict
from netclaim.kubelet.server import GrpcService, serving
from netclaim.kubelet.sockets import PluginSockets, ensure_directories

DRA: Final = "dra"  # the sockets, as the keeper knows them
REGISTRATION: Final = "registration"
REGISTERED: Final = "registered"  # what one life leaves to the next
GRACE_S: Final = 20.0  # a pod has 30 s to end unless it asks for more; the rest is for closing

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
    keeper: Keeper = NO_KEEPER,
) -> AsyncIterator[Registration]:
    """Serve and announce the driver; yields the registration, for `wait_registered()`.

    Raises HostError when a directory is missing, a path too long, or another process serves there.
    """
    ensure_directories(sockets)
    health = HealthService(healths, resend_s=resend_s)

    def note(verdict: RegistrationVerdict) -> None:
        keeper.write_note(REGISTERED if verdict.registered else "")
        if verdict.registered:
            for call, answer in registration.answers().items():
                keeper.answer(REGISTRATION, call, answer.SerializeToString())
        else:
            keeper.silence(REGISTRATION)
        observe(verdict)

    registration = Registration(driver_name, sockets.dra.absolute(), note)
    services: list[GrpcService] = [*(DraService(api, claims) for api in DRA_APIS), health]
    async with (
        serving(sockets.dra, services, keeper=keeper, name=DRA) as calls,
        serving(sockets.registration, [registration], keeper=keeper, name=REGISTRATION),
    ):
        log.info("kubelet.announced", driver=driver_name, socket=str(sockets.registration))
        if keeper.note == REGISTERED:
            registration.accept()  # kubelet knows the last life's socket, and does not ask again
        failed = True
        try:
            yield registration
            failed = False
        finally:
            if not (failed and keeper.has_next_life):
                health.end_streams()
                await calls.drain(grace_s)
    log.info("kubelet.stopped", driver=driver_name)
