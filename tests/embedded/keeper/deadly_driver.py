"""A driver for the keeper's tests: prepares claims, and dies of those whose name asks for it.

    kill-…     the process is killed while it is asked, the first time
    poison-…   the same, each time
    bug-…      an error ends the process while it is asked, the first time
    stop-…     the process stops (SIGSTOP), the first time
    refuse-…   the claim is refused

While there is a file `wait` in kubelet's directory, which is its argument, it does not begin to
serve. It writes a line for each event.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from netclaim.chained import OK, Answer, AttachServer, Request
from netclaim.keeper import Keeper
from netclaim.kubelet import HealthBoard, PluginSockets, serve_plugin
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer
from tests.support.kubelet_parts import DRIVER, device_for

POLL_S = 0.01


def say(*words: object) -> None:
    """Write a line for the test."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class Claims:
    """Prepares claims as their names say."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.bug = asyncio.Event()

    def _first(self, name: str) -> bool:
        try:
            (self._root / name).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """One device a claim, or the end."""
        for ref in refs:
            say("asked", ref.name)
            kind = ref.name.partition("-")[0]
            if kind == "poison" or (kind == "kill" and self._first(ref.name)):
                os.kill(os.getpid(), signal.SIGKILL)
            if kind == "stop" and self._first(ref.name):
                os.kill(os.getpid(), signal.SIGSTOP)
            if kind == "bug" and self._first(ref.name):
                self.bug.set()
                await asyncio.Event().wait()
        return {
            ref.uid: PrepareAnswer(error="no such network")
            if ref.name.startswith("refuse")
            else PrepareAnswer(devices=(device_for(ref),))
            for ref in refs
        }

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        """Success for each."""
        return dict.fromkeys((ref.uid for ref in refs), None)


async def _end_by_bug(bug: asyncio.Event) -> None:
    await bug.wait()
    raise RuntimeError("a bug")


def _wait(root: Path) -> None:
    if (root / "wait").exists():
        say("waiting")
    while (root / "wait").exists():
        time.sleep(POLL_S)


async def _serve(root: Path, keeper: Keeper) -> None:
    claims = Claims(root)
    stop = asyncio.Event()

    def end() -> None:
        keeper.stopping = True
        stop.set()

    async def attach(request: Request) -> Answer:
        say("attach", request.command.value)
        if (root / "kill-attach").exists():
            (root / "kill-attach").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return OK

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    sockets = PluginSockets.under(root, DRIVER)
    async with asyncio.TaskGroup() as group:
        parts = [
            group.create_task(_end_by_bug(claims.bug)),
            group.create_task(keeper.stay_known(asyncio.sleep)),
        ]
        async with (
            AttachServer(root / "attach.sock", attach, grace_s=5, keeper=keeper),
            serve_plugin(
                DRIVER,
                sockets,
                claims,
                HealthBoard(),
                lambda verdict: say("registered", verdict.registered),
                keeper=keeper,
            ),
        ):
            say("serving", os.getpid())
            await stop.wait()
        for part in parts:
            part.cancel()


if __name__ == "__main__":
    _wait(Path(sys.argv[1]))
    asyncio.run(_serve(Path(sys.argv[1]), Keeper.from_environment()))
