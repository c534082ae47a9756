"""Run something in namespaces of its own that end with it, whatever happens.

    the caller        waits; if it is killed, the kernel kills the next, and so on
    └ the keeper      takes the namespaces, as root or as root of a user namespace of its own
      └ process 1     does the work; when it ends, the kernel ends all it has started

Promise: nothing is left behind, not even after SIGKILL: namespaces, links and mounts are gone with
their last process. What netclaim raises on purpose inside is raised again outside. Limit: this
forks, so the caller must not have running threads.
"""

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from netclaim.errors import INTERRUPTED, HostError, NetclaimError, PeerError, RequestError
from netclaim.kernel.host.syscalls import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    die_with_parent,
    unshare,
)

OWN: Final = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC
FAILED: Final = 1
ERRORS: Final[dict[str, type[NetclaimError]]] = {
    kind.__name__: kind for kind in (RequestError, PeerError, HostError, NetclaimError)
}
APPARMOR: Final = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")


class _Told(msgspec.Struct, frozen=True):
    """An error on its way to the caller."""

    kind: str
    text: str


def contained(action: Callable[[], int]) -> int:
    """Run an action as process 1 of new namespaces; returns its exit code.

    A NetclaimError comes out as the RequestError, PeerError or HostError it was, with its text.
    """
    told, tells = os.pipe()
    alive, lives = os.pipe()  # only we hold the other end, so its closing means that we are gone
    sys.stdout.flush()
    sys.stderr.flush()
    keeper = os.fork()
    if keeper == 0:
        os.close(told)
        os.close(lives)
        _exit_with(lambda: _keep(action, alive), tells)
    os.close(tells)
    os.close(alive)
    try:
        with os.fdopen(told, "rb") as pipe, _deaf_to_interrupts():
            errors = [_raised(line) for line in pipe]
            _, status = os.waitpid(keeper, 0)
    except BaseException:
        os.kill(keeper, signal.SIGKILL)
        os.waitpid(keeper, 0)
        raise
    finally:
        os.close(lives)
    if len(errors) > 1:
        raise ExceptionGroup("inside the namespaces", errors)
    if errors:
        raise errors[0]
    return os.waitstatus_to_exitcode(status)


def _keep(action: Callable[[], int], alive: int) -> int:
    """Create the namespaces and wait for process 1 in them."""
    die_with_parent()
    _take_namespaces()
    first = os.fork()
    if first == 0:
        die_with_parent()
        os.set_blocking(alive, False)
        if _is_over(alive):  # the caller ended before we could ask to end with it
            return FAILED
        os.close(alive)
        return action()
    with _deaf_to_interrupts():
        _, status = os.waitpid(first, 0)
    os._exit(max(os.waitstatus_to_exitcode(status), FAILED) if status else 0)


def _take_namespaces() -> None:
    """Create namespaces as root, or as root of a new user namespace where that is not allowed."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        if uid == 0:
            return unshare(OWN)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise HostError(f"cannot create namespaces: {error.strerror}") from error
    try:
        unshare(CLONE_NEWUSER | OWN)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    except OSError as error:
        raise HostError(_no_user_namespace(error)) from error


def _no_user_namespace(error: OSError) -> str:
    told = f"this needs root, or a user namespace, which the kernel refuses ({error.strerror})"
    if APPARMOR.exists() and APPARMOR.read_text().strip() == "1":
        return f"{told}: run it with sudo, or set {APPARMOR} to 0"
    return f"{told}: run it with sudo, or allow unprivileged user namespaces"


def _is_over(alive: int) -> bool:
    try:
        return os.read(alive, 1) == b""
    except BlockingIOError:
        return False


def _exit_with(work: Callable[[], int], tells: int) -> NoReturn:
    """Do the work of a forked process and end it, without returning into the caller's code."""
    code = FAILED
    try:
        code = work()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else FAILED
    except BaseExceptionGroup as group:
        ours, others = group.split(NetclaimError)
        _tell(tells, list(_leaves(ours)) if ours else [])
        if others is not None:
            traceback.print_exception(others)
    except NetclaimError as error:
        _tell(tells, [error])
    except BaseException:  # noqa: BLE001 - nothing may get back into the caller's stack
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _leaves(group: BaseExceptionGroup[NetclaimError]) -> Iterator[NetclaimError]:
    for member in group.exceptions:
        if isinstance(member, BaseExceptionGroup):
            yield from _leaves(member)
        else:
            yield member


def _tell(tells: int, errors: list[NetclaimError]) -> None:
    for error in errors:
        kind = next(name for name, kind in ERRORS.items() if isinstance(error, kind))
        os.write(tells, msgspec.json.encode(_Told(kind, str(error))) + b"\n")


def _raised(line: bytes) -> NetclaimError:
    told = msgspec.json.decode(line, type=_Told)
    return ERRORS[told.kind](told.text)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Leave Ctrl-C, which a terminal sends to all, to process 1."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
