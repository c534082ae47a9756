"""Remove what a driver that has ended for good left on its node.

Promise: the runtime's network configuration stops naming the driver before anything else is
removed, so that pods can start all the while; there is one line for each thing that was removed, or
kept and why. A second call finds nothing to remove. Limit: interfaces of running pods stay, and
with them the journal, the leases and the programs that these pods are restarted or ended with.
"""

import errno
import shutil
from pathlib import Path
from typing import Final

from netclaim.errors import HostError
from netclaim.framework import Settings
from netclaim.framework.journal.store import JournalBusyError, count_held, locked
from netclaim.framework.process.node_places import NodePlaces
from netclaim.framework.process.runtime_callers import installer_for

# What host-local keeps beside its leases; it is useless once there are none.
BESIDE_LEASES: Final = ("lock", "last_reserved_ip.")


async def leave(settings: Settings, name: str, lease_dir: Path) -> list[str]:
    """Remove the traces of a driver that has just ended, unless another one runs by now.

    One that starts meanwhile waits: what it made would otherwise be removed.
    """
    try:
        with locked(NodePlaces.of(settings, name).journal):
            return await remove_traces(settings, name, lease_dir)
    except JournalBusyError:
        return ["kept everything: another process of the driver has taken over"]


async def remove_traces(settings: Settings, name: str, lease_dir: Path) -> list[str]:
    """Remove everything of the driver `name` that no running pod needs."""
    places = NodePlaces.of(settings, name)
    done = await _remove_entry(settings, name, places)
    started_with = len(list(settings.cdi_dir.glob(f"{name}_*.json")))
    if not started_with:
        done += _removed(places.program.parent)
    done += _removed(places.socket.parent)
    kept = places.program.parent
    if started_with and kept.exists() and done:
        claims = "1 claim" if started_with == 1 else f"{started_with} claims"
        done.append(f"kept {kept}: pods still use {claims} and need it to restart")
    return done + _remove_state(places.journal, lease_dir / name)


async def _remove_entry(settings: Settings, name: str, places: NodePlaces) -> list[str]:
    """Remove the driver from the runtime's network configuration, then the program."""
    installer = installer_for(settings, name)
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
    return done


def _remove_state(journal: Path, leases: Path) -> list[str]:
    """Remove the journal and the leases, unless something is still attached."""
    held, state = count_held(journal), journal.parent
    if held:
        what = "1 claim or interface is" if held == 1 else f"{held} claims and interfaces are"
        return [f"kept {state} and {leases}: {what} still in use"]
    done = _removed(state)
    in_use = [
        path
        for path in leases.rglob("*")
        if path.is_file() and not path.name.startswith(BESIDE_LEASES)
    ]
    if in_use:
        return [*done, f"kept {leases}: {in_use[0]} is still there"]
    return done + _removed(leases)


def _texts(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(directory.glob("*")) if path.is_file()}


def _removed(path: Path) -> list[str]:
    if not path.exists():
        return []
    was_empty = path.is_dir() and not any(path.iterdir())
    try:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        if error.errno == errno.EBUSY and path.is_dir() and not any(path.iterdir()):
            return [] if was_empty else [f"emptied {path}, which is mounted here"]
        raise HostError(f"cannot remove {path}: {error.strerror}") from error
    return [f"removed {path}"]
