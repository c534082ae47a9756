"""Run CNI plugins that are programs, as the specification says.

Promise: a call ends within its deadline and a moment for cleaning up, whatever the plugin does; so
does one that is cancelled. What the plugin started in its process group ends with it. Only so many
run at a time; the others wait, which counts as well. A program gets no arguments, and of variables
those it inherits and CNI's own: nothing that a claim says chooses the name of one.
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
from pathlib import Path

import msgspec
import structlog

from netclaim.cni.call import CniCall, Command
from netclaim.cni.conflist import PLAIN_NAME
from netclaim.cni.errors import (
    NO_CODE,
    CniDeadlineError,
    CniError,
    PluginBusyError,
    PluginMissingError,
)
from netclaim.cni.result import Result, read_result
from netclaim.errors import HostError
from netclaim.json_text import UNREADABLE

# Programs at a time. Each is a Go program that takes some 15 MB and, for some milliseconds, a core:
# more of them are not done sooner, and half a gigabyte is what a node can spare. Fewer would let a
# handful of programs that hang hold up all the others until their deadline.
AT_ONCE = 32
OUTPUT_MAX = 1 << 18  # bytes; a result with 16 interfaces has four thousand
WORDS_MAX = 1 << 13  # bytes of stderr that are kept, its last; twice what is shown of it at most
MESSAGE_MAX = 1000  # characters of a plugin's own words that are worth showing
BUSY_PAUSE_S = 0.1  # a plugin being installed: libcni asks each second, an NRI hook has but one
REAP_S = 0.25  # SIGKILL takes microseconds, unless the program waits in the kernel for a lock

BUSY = "not started within {:g} s: too many other plugins are running"

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
        at_once: int = AT_ONCE,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`inherited` is the environment that plugins see besides CNI's own variables.

        `at_once` is how many of them run at the same time.
        """
        self._inherited = {name: inherited[name] for name in inherited if name not in _TOLD}
        self._deadline_s = deadline_s
        self._places = asyncio.Semaphore(at_once)
        self._pause = pause

    async def run(self, call: CniCall) -> Result | None:
        """Run the plugin once and return its result, which only ADD has."""
        output = await self.output(call)
        return read_result(output, call.version) if call.command is Command.ADD else None

    async def output(self, call: CniCall) -> bytes:
        """Run the plugin once and return what it printed."""
        program = find_plugin(call.plugin, call.path)
        begun = False
        try:
            async with asyncio.timeout(self._deadline_s), self._places:
                begun = True
                child = await self._execute(program, call)
        except TimeoutError as error:
            kind = CniDeadlineError if begun else PluginBusyError
            ending = "not finished after {:g} s, killed" if begun else BUSY
            raise kind(
                ending.format(self._deadline_s), plugin=call.plugin, command=call.command
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
                return _Child(program, self._inherited | call.environment(), call.standard_input())
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
        for pipe, read in (
            (self._process.stdout, self._read_answer),
            (self._process.stderr, self._read_words),
        ):
            assert pipe is not None, "both were asked for"
            self._watch(pipe.fileno(), read)

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

    def _read_answer(self, fd: int) -> None:
        data = os.read(fd, _CHUNK)
        room = OUTPUT_MAX - len(self.stdout)
        self.stdout += data[:room]
        if not data:
            self._unwatch(fd)
        elif len(data) > room:
            self.flooded = True
            self._kill()

    def _read_words(self, fd: int) -> None:
        data = os.read(fd, _CHUNK)
        self.stderr += data
        del self.stderr[:-WORDS_MAX]
        if not data:
            self._unwatch(fd)

    def _kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)


def find_plugin(plugin: str, path: tuple[str, ...]) -> Path:
    """Return the program of a plugin type: the first in the path.

    The type is a name and not a path, so that the program is in one of the directories themselves.
    """
    if not PLAIN_NAME.fullmatch(plugin):
        raise PluginMissingError(plugin, path)
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
        wire = msgspec.json.decode(output, type=_WireError)
    except UNREADABLE:
        return None
    return _WireError(wire.code, wire.msg[:MESSAGE_MAX], wire.details[:MESSAGE_MAX])


def _shown(output: bytearray) -> str:
    """Return the end of the plugin's words, where the reason stands."""
    return output.decode(errors="replace").strip()[-MESSAGE_MAX:]
