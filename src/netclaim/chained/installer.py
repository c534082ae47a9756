"""Keep netclaim-attach in the runtime's network configuration.

The runtime takes the first file of its directory by name (containerd: .conf, .conflist and .json,
hidden ones too), and reads the directory again when something in it is written, removed or renamed.
So the new content is written beside the file, under a name that the runtime ignores, and renamed
within the directory: a file that comes in from another directory is not noticed.

Promise: pods that claim nothing never suffer. The program is there before the list names it, and
the list stops naming it before the program is removed. The program stays while pods run that were
started with it, because some runtimes end a pod with the list it was started with. A file is
replaced whole, with its mode and owner, and only by something that a runtime can load. Every method
may be called twice.
Limit: if a primary network's installer writes at the very moment between our last look and our
renaming, its content is overwritten with what it had written before, and it has to write again.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import structlog

from netclaim.chained.conflist import (
    PLUGIN_TYPE,
    ConflistError,
    PluginEntry,
    with_plugin,
    without_plugin,
)
from netclaim.chained.files import (
    Sight,
    cached_with,
    conf_files,
    host_errors,
    mentions,
    nudge,
    read_text,
    replace_file,
    sight_of,
    write_draft,
)
from netclaim.errors import HostError

log = structlog.get_logger()

PROGRAM_MODE: Final = 0o755
LOOK_S: Final = 1.0  # a look is one listing and two stats
SETTLE_S: Final = 1.0  # the runtime reads the directory anew within milliseconds
FIGHT_COUNT: Final = 5  # put back so often within FIGHT_WINDOW_S: somebody removes it on purpose
FIGHT_WINDOW_S: Final = 60.0
FIGHT_PAUSE_S: Final = 60.0  # how long an installer that removes it on purpose is left alone
RUNTIME_RESULTS: Final = Path("/var/lib/cni/results")  # where CNI's library keeps what it did
NOTHING_THERE: Final = "there is no network configuration in {}"
ATTEMPTS: Final = 5  # at a file that changes under our hands, in one call


class Installer:
    """One driver's entry in the list of one runtime, and the program that it names."""

    def __init__(
        self,
        conf_dir: Path,
        bin_dir: Path,
        entry: PluginEntry,
        *,
        program: Path,
        results_dir: Path = RUNTIME_RESULTS,
        settle_s: float = SETTLE_S,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._conf_dir = conf_dir
        self._bin_dir = bin_dir
        self._entry = entry
        self._program = program
        self._results_dir = results_dir
        self._settle_s = settle_s
        self._now = now
        self._sleep = sleep
        self._done = asyncio.Event()
        self._program_put = False
        self._seen: tuple[Sight | None, Sight | None] | None = None
        self.complaint = ""  # why the runtime does not call us, for people

    @property
    def installed(self) -> bool:
        """Whether the runtime calls us, as of the last look."""
        return self._done.is_set()

    async def wait_installed(self) -> None:
        """Wait until the runtime calls us, which `watch` brings about."""
        await self._done.wait()

    def install(self) -> bool:
        """Put the program and the entry in place; returns whether anything had to be done.

        Without a network configuration there is nothing to do yet, and `installed` stays False.
        """
        self._seen = None
        try:
            before = self._look()
            changed = self._put_program()
            path = self._first_file()
            if path is not None:
                changed |= self._edit(path, lambda text: with_plugin(text, self._entry))
        except HostError:
            self._done.clear()
            raise
        if path is None:
            self._done.clear()
        else:
            self._done.set()
        if not changed:
            self._seen = before  # otherwise look again: somebody may have written just after us
        return changed

    def pods_started_with_it(self) -> int:
        """Count the pods that a runtime may end by executing the program."""
        return cached_with(self._results_dir, PLUGIN_TYPE)

    async def remove(self) -> None:
        """Remove the entry from every file, then the program if no pod needs it any more."""
        self._done.clear()
        changed = False
        faults: list[HostError] = []
        for path in self._files_with_us():
            try:
                changed |= self._edit(path, lambda text: without_plugin(text, self._entry.driver))
            except HostError as error:
                faults.append(error)  # the other files can be edited nevertheless
        if faults:
            raise HostError("; ".join(map(str, faults))) from faults[0]
        if self._files_with_us():
            return
        if changed:
            await self._sleep(self._settle_s)  # a pod that starts now may still have to call it
        if self.pods_started_with_it():
            return
        with host_errors(PLUGIN_TYPE, self._target):
            self._target.unlink(missing_ok=True)

    async def watch(self) -> None:
        """Put the entry back whenever it is gone; runs until it is cancelled.

        If it is removed again and again, it is left out for a while each time, with a warning.
        """
        put_back: list[float] = []
        while True:
            pause_s = LOOK_S
            try:
                if self._look() != self._seen:
                    was_installed = self.installed
                    if self.install() and self.installed:
                        log.info("chained.installed", conf_dir=str(self._conf_dir))
                        if was_installed:
                            put_back.append(self._now())
                            pause_s = self._pause_after(put_back)
                self.complaint = "" if self.installed else NOTHING_THERE.format(self._conf_dir)
            except HostError as error:
                if str(error) != self.complaint:
                    log.warning("chained.not_installed", error=str(error))
                self.complaint = str(error)
            await self._sleep(pause_s)

    def _pause_after(self, put_back: list[float]) -> float:
        recent = [at for at in put_back if at > self._now() - FIGHT_WINDOW_S]
        put_back[:] = recent
        if len(recent) < FIGHT_COUNT:
            return LOOK_S
        log.warning(
            "chained.taken_out_repeatedly", times=len(recent), window_s=FIGHT_WINDOW_S,
            next_look_s=FIGHT_PAUSE_S, conf_dir=str(self._conf_dir),
        )  # fmt: skip
        return FIGHT_PAUSE_S

    # -- the directory -------------------------------------------------------------------------

    @property
    def _target(self) -> Path:
        return self._bin_dir / PLUGIN_TYPE

    def _first_file(self) -> Path | None:
        files = conf_files(self._conf_dir)
        if not files:
            return None
        if files[0].suffix != ".conflist":
            raise HostError(
                f"the runtime's network configuration {files[0]} is a single plugin, to which"
                f" {PLUGIN_TYPE} cannot be added; write it as a network list (.conflist)"
            )
        return files[0]

    def _files_with_us(self) -> list[Path]:
        return [path for path in conf_files(self._conf_dir) if mentions(path, PLUGIN_TYPE)]

    def _look(self) -> tuple[Sight | None, Sight | None]:
        files = conf_files(self._conf_dir)
        return sight_of(files[0]) if files else None, sight_of(self._target)

    # -- writing -------------------------------------------------------------------------------

    def _put_program(self) -> bool:
        """Replace another version's program once; later only put back a missing one.

        Two running versions would otherwise replace each other's program for ever.
        """
        with host_errors(PLUGIN_TYPE, self._target):
            there = os.access(self._target, os.X_OK)
            if there and self._program_put:
                return False
            content = self._program.read_bytes()
            changed = not there or self._target.read_bytes() != content
            if changed:
                self._bin_dir.mkdir(parents=True, exist_ok=True)
                replace_file(self._target, content, PROGRAM_MODE)
            self._program_put = True
        return changed

    def _edit(self, path: Path, change: Callable[[str], str]) -> bool:
        """Replace a file by what `change` makes of it; returns whether that differs."""
        for _ in range(ATTEMPTS):
            before = sight_of(path)
            text = read_text(path)
            try:
                edited = change(text)
            except ConflistError as error:
                raise HostError(f"{path} {error}") from error
            if edited == text:
                return False
            real = path.resolve() if path.is_symlink() else path  # a symbolic link stays one
            with host_errors(PLUGIN_TYPE, path):
                status = real.stat()
                draft = write_draft(real, edited.encode(), status.st_mode & 0o7777)
                try:
                    os.chown(draft, status.st_uid, status.st_gid)
                    if sight_of(path) == before:
                        draft.rename(real)
                        if real != path:
                            # The runtime does not watch the directory that the link leads to.
                            nudge(self._conf_dir)
                        return True
                finally:
                    draft.unlink(missing_ok=True)
        raise HostError(f"{path} keeps changing; {PLUGIN_TYPE} could not be added or removed")


def program_path() -> Path:
    """Return the program that this package contains."""
    path = Path(__file__).with_name(PLUGIN_TYPE)
    if not path.is_file():
        raise HostError(f"{path} is missing; `make native` compiles it, and wheels contain it")
    return path
