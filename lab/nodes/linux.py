"""Namespaces, mounts and processes of Linux, as far as the lab needs them.

Python 3.11 has neither setns nor unshare nor mount, so these go through libc. A process is known by
its pid *and* its start time: a number alone may by now belong to another process.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from lab import CHECKOUT
from lab.errors import BootError

__all__ = [
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWUTS",
    "MS_BIND",
    "MS_PRIVATE",
    "MS_REC",
    "MS_SHARED",
    "Process",
    "find_marked",
    "inside_network",
    "kill_all",
    "mount",
    "setns",
    "spawn",
    "spawn_here",
    "spawn_init",
    "umount",
    "uninterrupted",
    "unshare",
]

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_BIND, MS_REC, MS_PRIVATE, MS_SHARED = 0x1000, 0x4000, 1 << 18, 1 << 20
MNT_DETACH = 2

MARK = "NETCLAIM_LAB"  # in the environment of every process of a lab; its value is the lab's name

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` name for new ones."""
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """Enter the namespace that a descriptor stands for."""
    _check(_libc.setns(fd, kind), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount, as the system call of this name does."""
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags),
        options.encode() or None,
    )  # fmt: skip
    _check(result, f"mount {source} on {target}")


def umount(target: str) -> None:
    """Unmount: at once for path lookups, later for processes that still use it."""
    _check(_libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


class Process(NamedTuple):
    """A process of the machine, identified beyond doubt."""

    pid: int
    start: int  # in clock ticks since the machine's boot, from /proc/PID/stat

    @classmethod
    def of(cls, pid: int) -> "Process | None":
        """Return the process that has this pid now; none if it is gone or only a zombie."""
        state, start = _state_and_start(pid)
        return None if state in "ZX" else cls(pid, start)

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return Process.of(self.pid) == self

    @property
    def children(self) -> list["Process"]:
        """The processes that it has started and that still run."""
        try:
            pids = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            return []
        return [found for pid in pids if (found := Process.of(int(pid)))]

    def kill(self) -> None:
        """End it without asking; fine if it is gone."""
        self.send(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; fine if it is gone."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait_gone(self, limit_s: float) -> bool:
        """Wait until it has ended, and bury it if it was our child; False after the limit.

        A process whose first thread has ended looks like a zombie while the others still hold its
        ports and locks: only the descriptor says that all of them have ended.
        A node's process 1 cannot end before its neighbours are buried, and their parents are out
        here: wait for those first.
        """
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        try:
            same = _state_and_start(self.pid)[1] == self.start  # not somebody else by now
            if same and not select.select([fd], [], [], limit_s)[0]:
                return False
        finally:
            os.close(fd)
        with contextlib.suppress(ChildProcessError):  # somebody else's child
            os.waitpid(self.pid, os.WNOHANG)
        return True


def _state_and_start(pid: int) -> tuple[str, int]:
    """Return the state of a process's first thread and when it started; "X" and 0 if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "X", 0
    fields = stat.rpartition(")")[2].split()  # the name before may hold anything
    return fields[0], int(fields[19])


def find_marked(lab: str) -> list[Process]:
    """Return every process that carries the mark of this lab, no matter who started it."""
    wanted = f"{MARK}={lab}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environ = (entry / "environ").read_bytes()
        except OSError:  # gone meanwhile
            continue
        if wanted in environ.split(b"\0") and (process := Process.of(int(entry.name))):
            found.append(process)
    return found


def kill_all(processes: Sequence[Process], limit_s: float = 20.0) -> None:
    """End them all at once, then wait for each in the order given."""
    for process in processes:
        process.kill()
    for process in processes:
        if not process.wait_gone(limit_s):
            raise BootError(f"process {process.pid} did not end, even after SIGKILL")


@contextmanager
def inside_network(init: Process) -> Iterator[None]:
    """Let this thread make sockets in a node's network namespace."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/proc/{init.pid}/ns/net", os.O_RDONLY)
    try:
        setns(there, CLONE_NEWNET)
        try:
            yield
        finally:
            setns(own, CLONE_NEWNET)
    finally:
        os.close(own)
        os.close(there)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the block is done: no process is started and not written down.

    Where it is ignored, as in a script's background, it still is.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    held: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt


@contextmanager
def _children_in(pid_namespace: int | None) -> Iterator[None]:
    """Put the children that are made meanwhile into a PID namespace: a given one, or a new one."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        if pid_namespace is None:
            unshare(CLONE_NEWPID)
        else:
            setns(pid_namespace, CLONE_NEWPID)
        try:
            yield
        finally:
            setns(own, CLONE_NEWPID)
    finally:
        os.close(own)


def spawn_init(command: Sequence[str], lab: str, log: IO[bytes], inherited: int) -> Process:
    """Start process 1 of a new PID namespace, with one more descriptor."""
    with _children_in(None):
        return spawn_here(command, lab, log, inherited)


def spawn_here(command: Sequence[str], lab: str, log: IO[bytes], inherited: int) -> Process:
    """Start a process of the lab outside its nodes, with one more descriptor."""
    child = subprocess.Popen(
        command, env=_marked(lab, {"PYTHONPATH": str(CHECKOUT)}),
        stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        pass_fds=[inherited],
    )  # fmt: skip
    process = Process.of(child.pid)
    child.returncode = 0  # it outlives us on purpose; Process.wait_gone buries it if we are there
    if process is None:
        raise BootError(f"{command[0]} ended at once")
    return process


def spawn(
    init: Process, command: Sequence[str], lab: str, log: IO[bytes], environ: Mapping[str, str]
) -> Process:
    """Start a process inside the node whose process 1 is `init`, as an orphan of that process.

    So it is buried inside the node: process 1 cannot end before all of its namespace is buried, and
    out here nobody may be there to do it.
    """
    kinds = (("net", CLONE_NEWNET), ("uts", CLONE_NEWUTS), ("mnt", CLONE_NEWNS))
    with contextlib.ExitStack() as stack:
        descriptors = {}
        for kind, _ in (*kinds, ("pid", 0)):
            descriptors[kind] = os.open(f"/proc/{init.pid}/ns/{kind}", os.O_RDONLY)
            stack.callback(os.close, descriptors[kind])
        told, tells = os.pipe()
        stack.callback(os.close, told)

        def enter() -> None:
            if os.fork():  # the parent inside the namespace goes: its child is process 1's now
                os._exit(0)
            os.setsid()
            os.write(tells, str(Path("/proc/self").readlink()).encode())  # as it is seen out here
            for kind, flag in kinds:  # the mount namespace last: it hides the machine's /proc
                setns(descriptors[kind], flag)
            os.chdir("/")

        try:
            with _children_in(descriptors["pid"]):
                parent = subprocess.Popen(
                    command, env=_marked(lab, environ), stdin=subprocess.DEVNULL, stdout=log,
                    stderr=log, preexec_fn=enter,  # noqa: PLW1509
                )  # fmt: skip
        finally:
            os.close(tells)
        parent.wait()
        process = Process.of(int(os.read(told, 20)))
    if process is None:
        raise BootError(f"{command[0]} ended at once")
    return process


def _marked(lab: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a lab process: little, so that a node depends on nobody's shell."""
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"PATH": path, "HOME": "/root", "LANG": "C.UTF-8", MARK: lab, **environ}
