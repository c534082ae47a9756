"""Run CNI plugins that are programs, as the specification says.

Promise: a call ends within its deadline and a moment for cleaning up, whatever the plugin does; so
does one that is cancelled. What the plugin started in its process group ends with it.
Limit: a descendant that left the group lives on, but cannot hold us up. Programs start in the
network namespace of the calling thread, which must be the host's.

The pipes are watched by hand: `asyncio.create_subprocess_exec` can be cancelled between starting a
program and returning it, which then leaves descendants behind, and it starts a thread per program.
"""

import asyncio
import errno
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec
import structlog

from netclaim.cni.call import CniCall
from netclaim.cni.errors import NO_CODE, CniDeadlineError, CniError, PluginMissingError
from netclaim.errors import HostError

OUTPUT_MAX = 1 << 20  # bytes; a result with 16 interfaces has four thousand
MESSAGE_MAX = 1000  # characters of a plugin's own words that are worth showing
BUSY_PAUSE_S = 0.1  # a plugin being installed: libcni asks each second, a hook has but two in all
REAP_S = 0.25  # SIGKILL takes microseconds, unless the program waits in the kernel for a lock

_CHUNK = 1 << 16  # bytes; what a pipe holds
_TOLD = ("CNI_COMMAND", "CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS", "CNI_PATH")

log = structlog.get_logger(__name__)


class ExecPlugins:
    """Plugins that are programs in the directories of a call's path."""

    def __init__(
        self,
        *,
        inherited: Mapping[str, str],
        deadline_s: float,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`inherited` is the environment that plugins see besides CNI's own variables."""
        self._inherited = {name: inherited[name] for name in inherited if name not in _TOLD}
        self._deadline_s = deadline_s
        self._pause = pause

    async def run(self, call: CniCall) -> bytes:
        """Run the plugin once and return what it printed."""
        program = find_plugin(call.plugin, call.path)
        try:
            async with asyncio.timeout(self._deadline_s):
                child = await self._execute(program, call)
        except TimeoutError as error:
            raise CniDeadlineError(
                f"not done after {self._deadline_s:g} s, killed",
                plugin=call.plugin,
                command=call.command,
            ) from error
        if child.flooded or child.status != 0:
            raise _failure(call, child)
        if child.stderr:
            log.debug("cni.stderr", plugin=call.plugin, text=_shown(child.stderr))
        return bytes(child.stdout)

    async def _execute(self, program: Path, call: CniCall) -> "_Child":
        child = await self._start(program, call)
        try:
            await child.gone.wait()
        finally:
            try:
                if not child.gone.is_set():
                    await child.end()
            finally:
                child.close()
        return child

    async def _start(self, program: Path, call: CniCall) -> "_Child":
        while True:
            try:
                return _Child(program, self._inherited | call.environment(), call.config)
            except OSError as error:
                if error.errno != errno.ETXTBSY:
                    raise HostError(f"cannot run the CNI plugin {program}: {error}") from error
            await self._pause(BUSY_PAUSE_S)


class _Child:
    """A running plugin: what it printed so far, and whether all of it is gone.

    It is reaped when it is closed and not before: until then nobody else can get its number, and
    killing its group hits no stranger.
    """

    def __init__(self, program: Path, environment: Mapping[str, str], config: bytes) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.flooded = False
        self.status = 0
        self.gone = asyncio.Event()  # the program ended, and nothing holds its output open
        self._watched: set[int] = set()
        # A file for its input, as a shell's `<` gives: it can be read late, in part, or not at all.
        with os.fdopen(os.memfd_create("cni-config"), "w+b", buffering=0) as stdin:
            stdin.write(config)
            stdin.seek(0)
            self._process = subprocess.Popen(
                [program],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                process_group=0,
            )
        try:
            self._pidfd = os.pidfd_open(self._process.pid)
        except OSError:
            with self._process:
                self._kill()
            raise
        self._watch(self._pidfd, self._unwatch)
        for pipe, kept in (
            (self._process.stdout, self.stdout),
            (self._process.stderr, self.stderr),
        ):
            assert pipe is not None, "both were asked for"
            self._watch(pipe.fileno(), partial(self._read, kept))

    async def end(self) -> None:
        """Kill the whole group, and wait a moment for its end."""
        self._kill()
        try:
            async with asyncio.timeout(REAP_S):
                await self.gone.wait()
        except TimeoutError:
            log.warning("cni.survivor", pid=self._process.pid)

    def close(self) -> None:
        """Give back the pipes, and reap the program unless the kernel still holds it."""
        for fd in list(self._watched):
            self._unwatch(fd)
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()
        os.close(self._pidfd)
        self.status = self._process.poll() or 0

    def _watch(self, fd: int, act: Callable[[int], None]) -> None:
        self._watched.add(fd)
        asyncio.get_running_loop().add_reader(fd, act, fd)

    def _unwatch(self, fd: int) -> None:
        asyncio.get_running_loop().remove_reader(fd)
        self._watched.discard(fd)
        if not self._watched:
            self.gone.set()

    def _read(self, kept: bytearray, fd: int) -> None:
        data = os.read(fd, _CHUNK)
        room = OUTPUT_MAX - len(kept)
        kept += data[:room]
        if not data:
            self._unwatch(fd)
        elif len(data) > room and kept is self.stdout:
            self.flooded = True
            self._kill()

    def _kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)


def find_plugin(plugin: str, path: tuple[str, ...]) -> Path:
    """Return the program of a plugin type: the first in the path."""
    for directory in path:
        program = Path(directory) / plugin
        if program.is_file():
            return program
    raise PluginMissingError(plugin, path)


class _WireError(msgspec.Struct):
    """A CNI error as plugins print it."""

    code: int
    msg: str = ""
    details: str = ""


def _failure(call: CniCall, child: _Child) -> CniError:
    """Make an error of what a failed plugin left: its own, else its words, else its exit."""
    wire = None
    if child.flooded:
        wire = _WireError(NO_CODE, f"printed more than {OUTPUT_MAX} bytes, killed")
    elif child.stdout:
        wire = _decode_error(bytes(child.stdout))
    if wire is None:
        died = child.status < 0
        ending = f"killed by signal {-child.status}" if died else f"exit status {child.status}"
        words = _shown(child.stderr) or _shown(child.stdout)
        wire = _WireError(NO_CODE, f"{ending}: {words}" if words else f"{ending}, no message")
    return CniError(
        wire.msg, code=wire.code, details=wire.details, plugin=call.plugin, command=call.command
    )


def _decode_error(output: bytes) -> _WireError | None:
    try:
        return msgspec.json.decode(output, type=_WireError)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _shown(output: bytearray) -> str:
    """Return the end of the plugin's words, where the reason stands."""
    return output.decode(errors="replace").strip()[-MESSAGE_MAX:]
