"""The ways by which the runtime calls the driver: its plugin interface, and its own network.

Promise: what is on the node for them is put there, and taken away where another mode is set. Limit:
who answers the calls is not known here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from netclaim.chained import Installer, program_path
from netclaim.chained.files import replace_file
from netclaim.errors import HostError
from netclaim.framework.contract import Driver, NetworkDriver
from netclaim.framework.runtime_places import RuntimePlaces
from netclaim.framework.settings import Settings

__all__ = ["installer_for", "keep_installed", "put_program", "wait_for_way"]

PROGRAM_MODE: Final = 0o755


async def wait_for_way(
    settings: Settings, hooked: Callable[[], Awaitable[None]], installer: Installer | None
) -> None:
    """Return once one of the ways that the settings allow is open; `hooked` waits for the first."""
    ways = []
    if settings.runtime_hook != "cni":
        ways.append(asyncio.ensure_future(hooked()))
    if settings.runtime_hook != "nri" and installer is not None:
        ways.append(asyncio.ensure_future(installer.wait_installed()))
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()


async def keep_installed(installer: Installer, *, watching: bool) -> None:
    """Keep the chained plugin in the runtime's network configuration, or out of it."""
    if watching:
        await installer.watch()
    await installer.remove()  # an earlier start may have had another mode
    await asyncio.Event().wait()


def installer_for(driver: Driver, settings: Settings) -> Installer | None:
    """What installs the chained plugin; None for a driver that has nothing to attach."""
    if not isinstance(driver, NetworkDriver):
        return None
    return Installer(
        settings.cni_conf_dir,
        settings.cni_program_dir,
        RuntimePlaces.of(settings, driver.name).entry(driver.name),
        program=program_path(),
    )


def put_program(places: RuntimePlaces) -> None:
    """Put the program that holds containers where the runtime can execute it."""
    content = program_path().read_bytes()
    try:
        places.program.parent.mkdir(parents=True, exist_ok=True)
        if not places.program.exists() or places.program.read_bytes() != content:
            replace_file(places.program, content, PROGRAM_MODE)
    except OSError as error:
        raise HostError(f"cannot write {places.program}: {error.strerror}") from error
