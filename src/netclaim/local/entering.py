"""Find the embedded cluster that runs on this machine, and enter its network to talk to it.

Promise: it finds what `netclaim try --keep` and `netclaim demo --keep` run, of the same user or, as
root, of any; it changes nothing there. The files of such a process may be a trap: of its kubeconfig
only the server counts, so that no program is run and no file sent for it; and root does not enter
another user's user namespace, since its owner could take over a process that enters.
Limit: this process stays in that network until it ends. It must be called before a process has
threads: the kernel moves only single-threaded processes into a user namespace.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from netclaim.errors import HostError, RequestError
from netclaim.kernel.host.syscalls import CLONE_NEWNET, CLONE_NEWUSER, setns
from netclaim.kube import Cluster, StoredSecrets, load_cluster
from netclaim.local.cluster import KUBECONFIG

PROC: Final = Path("/proc")
NONE: Final = (
    "no embedded cluster of this user is running; start one with `netclaim try -f FILE --keep`"
    " or `netclaim demo --keep`"
)


def enter_cluster(pid: int = 0) -> Cluster:
    """Enter the embedded cluster of a process, or the only one that is running."""
    pids = sorted(_first_processes())
    if not pids:
        raise RequestError(NONE)
    running = ", ".join(map(str, pids))
    if pid and pid not in pids:
        raise RequestError(f"process {pid} is no embedded cluster; those are {running}")
    if not pid and len(pids) > 1:
        raise RequestError(
            f"several embedded clusters are running: use --pid with one of {running}"
        )
    pid = pid or pids[0]
    server = load_cluster(str(_kubeconfig(pid))).server
    try:
        _enter(pid)
    except OSError as error:
        raise HostError(
            f"cannot enter the network of process {pid}: {error.strerror}; run this as the same"
            " user, or as root"
        ) from error
    return Cluster(server, StoredSecrets())


def _first_processes() -> Iterator[int]:
    """Yield process 1 of each embedded cluster, by its number here."""
    for entry in PROC.iterdir():
        if entry.name.isdigit() and _is_first(entry):
            pid = int(entry.name)
            if os.access(_kubeconfig(pid), os.R_OK) and not _is_here(entry):
                yield pid


def _is_first(entry: Path) -> bool:
    """Whether it is process 1 of a PID namespace that is not ours."""
    try:
        text = (entry / "status").read_text()
    except OSError:
        return False  # it has ended meanwhile
    numbers = _numbers(text, "NSpid:")
    return len(numbers) > 1 and numbers[-1] == "1"


def _uid(pid: int) -> int:
    """Return the user of a process; the owner of its directory may be another."""
    return int(_numbers((PROC / str(pid) / "status").read_text(), "Uid:")[0])


def _numbers(status: str, field: str) -> list[str]:
    lines = (line.split() for line in status.splitlines())
    return next((numbers for name, *numbers in lines if name == field), [])


def _is_here(entry: Path) -> bool:
    """Whether it shares our files; then the kubeconfig is not an embedded cluster's."""
    try:
        return (entry / "ns" / "mnt").readlink() == (PROC / "self" / "ns" / "mnt").readlink()
    except OSError:
        return True


def _kubeconfig(pid: int) -> Path:
    return PROC / str(pid) / "root" / KUBECONFIG.relative_to("/")


def _enter(pid: int) -> None:
    there, here = PROC / str(pid) / "ns", PROC / "self" / "ns"
    kinds = {"user": CLONE_NEWUSER} if _uid(pid) == os.geteuid() else {}
    for name, kind in {**kinds, "net": CLONE_NEWNET}.items():
        if (there / name).readlink() != (here / name).readlink():
            descriptor = os.open(there / name, os.O_RDONLY | os.O_CLOEXEC)
            try:
                setns(descriptor, kind)
            finally:
                os.close(descriptor)
