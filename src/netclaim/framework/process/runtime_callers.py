"""What has to be on the node so that the runtime can call the driver.

Promise: it is put there, and removed where another mode is set. Limit: nothing here answers the
calls.
"""

import asyncio
from pathlib import Path
from typing import Final

from netclaim.chained import Installer, program_path
from netclaim.chained.files import replace_file
from netclaim.errors import HostError
from netclaim.framework.process.node_places import NodePlaces
from netclaim.framework.settings.fields import Settings

PROGRAM_MODE: Final = 0o755


async def keep_installed(installer: Installer, *, watching: bool) -> None:
    """Keep the chained plugin in the runtime's network configuration, or out of it."""
    if watching:
        await installer.watch()
    await installer.remove()  # an earlier start may have had another mode
    await asyncio.Event().wait()


def installer_for(settings: Settings, driver: str) -> Installer:
    """What installs and removes the chained plugin of a driver."""
    entry = NodePlaces.of(settings, driver).entry(driver)
    return Installer(settings.cni_conf_dir, settings.cni_program_dir, entry, program=program_path())


def put_program(program: Path) -> None:
    """Put the program that holds containers where the runtime can execute it."""
    content = program_path().read_bytes()
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        if not program.exists() or program.read_bytes() != content:
            replace_file(program, content, PROGRAM_MODE)
    except OSError as error:
        raise HostError(f"cannot write {program}: {error.strerror}") from error
