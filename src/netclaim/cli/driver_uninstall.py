"""`netclaim driver uninstall`: remove what a retired driver left on the node.

Promise: the runtime's network configuration stops naming the driver before anything else goes, so
that pods start all the while; says in one line each what was taken away. Again: nothing is left to
take. Limit: a driver that runs is refused, since it would put everything back; interfaces of
running pods, the journal and leases stay, for a driver that comes back, and so does the program
that containers of running pods are started with.
"""

import asyncio
import shutil
from pathlib import Path
from typing import Final

from netclaim.chained import Installer, program_path
from netclaim.cli.setting_options import takes_settings
from netclaim.errors import HostError, RequestError
from netclaim.framework import Settings
from netclaim.framework.runtime_places import RuntimePlaces
from netclaim.framework.setting_flags import settings_of
from netclaim.framework.setting_sources import Followed
from netclaim.framework.store import is_locked

__all__ = ["command"]

NOTHING: Final = "nothing to remove"


@takes_settings(
    "name", "run_dir", "state_dir", "kubelet_dir", "cni_conf_dir", "cni_program_dir", "cdi_dir"
)
def command(followed: Followed) -> None:
    """Remove what a retired driver left on this node.

    Removes the driver from the runtime's network configuration, the programs that it put on the
    node, and its directory below --run-dir. Stop the driver first. Interfaces of running pods stay
    until the pods end; the journal and address leases stay for a driver that comes back, and the
    program that containers of running pods restart with stays for them. Needs root.
    """
    settings, name = settings_of(followed.started), followed.started["name"]
    journal = settings.state_dir / name / "journal.db"
    if journal.exists() and is_locked(journal):
        raise RequestError(f"the driver {name} is running on this node; stop it first")
    for line in asyncio.run(_uninstall(settings, name)) or [NOTHING]:
        print(line)


async def _uninstall(settings: Settings, name: str) -> list[str]:
    places = RuntimePlaces.of(settings, name)
    installer = Installer(
        settings.cni_conf_dir,
        settings.cni_program_dir,
        places.entry(name),
        program=program_path(),
    )
    program = settings.cni_program_dir / places.program.name
    before = _texts(settings.cni_conf_dir), program.exists()
    await installer.remove()
    after = _texts(settings.cni_conf_dir), program.exists()
    done = [
        f"removed from {path}" for path, text in before[0].items() if after[0].get(path) != text
    ]
    if before[1] and not after[1]:
        done.append(f"removed {program}")
    elif done and after[1] and (pods := installer.pods_started_with_it()):
        started = f"{pods} running pod{' was' if pods == 1 else 's were'} started with it"
        done.append(f"kept {program}: {started}; it no longer does anything")
    started_with = list(settings.cdi_dir.glob(f"{name}_*.json"))
    for path in (places.program, places.socket.parent):
        if path == places.program and started_with:
            continue
        if path.exists():
            _remove(path)
            done.append(f"removed {path}")
    if done and started_with and places.program.exists():
        claims = f"{len(started_with)} claim{'' if len(started_with) == 1 else 's'}"
        done.append(f"kept {places.program}: pods still use {claims} and need it to restart")
    return done


def _texts(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(directory.glob("*")) if path.is_file()}


def _remove(path: Path) -> None:
    try:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        raise HostError(f"cannot remove {path}: {error.strerror}") from error
