"""A driver under netclaim-keeper: what its callers see when it dies."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from grpclib.client import Channel, UnaryUnaryMethod

from netclaim.chained import OK, decode_answer
from netclaim.errors import PeerError
from netclaim.kubelet import DraApi, DraClient, PluginSockets, register
from netclaim.kubelet.client import DriverCallError
from netclaim.kubelet.proto import registration_pb2 as pb
from netclaim.kubelet.registration import GET_INFO
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer
from tests.support.kubelet_parts import DRIVER, device_for, files_below, kubelet_directory

CHECKOUT = Path(__file__).parents[3]
LIMIT_S = 300.0  # far beyond what anything here takes
ADD = b"netclaim/1 ADD\ncontainer=c\nnetns=/n\nifname=eth0\nlength=0\n\n"


class Kept:
    """A driver and its keeper."""

    def __init__(self, root: Path, process: asyncio.subprocess.Process) -> None:
        self.root = root
        self.process = process
        self.sockets = PluginSockets.under(root, DRIVER)
        self.pid = 0
        self.lines: list[str] = []

    async def wait_for(self, words: str) -> str:
        """Return the next line that begins with these words."""
        assert self.process.stdout is not None
        async with asyncio.timeout(LIMIT_S):
            while line := (await self.process.stdout.readline()).decode().strip():
                self.lines.append(line)
                if line.startswith(words):
                    return line
        raise AssertionError(f"it ended without {words!r}: {self.lines}")

    async def wait_serving(self) -> None:
        """Wait for the driver's next life."""
        self.pid = int((await self.wait_for("serving")).split()[1])

    async def kill(self) -> None:
        """End the driver; its next life has begun, and does not serve before `go_on`."""
        (self.root / "wait").touch()
        os.kill(self.pid, signal.SIGKILL)
        await self.wait_for("waiting")

    async def go_on(self) -> None:
        """Let the next life serve."""
        (self.root / "wait").unlink()
        await self.wait_serving()


@asynccontextmanager
async def kept_driver(keeper_program: Path) -> AsyncIterator[Kept]:
    """A driver under a keeper, which is ended afterwards."""
    with kubelet_directory() as root:
        command = [sys.executable, "-m", "tests.embedded.keeper.deadly_driver", str(root)]
        process = await asyncio.create_subprocess_exec(
            keeper_program, *command, cwd=CHECKOUT, stdout=asyncio.subprocess.PIPE
        )
        kept = Kept(root, process)
        try:
            await kept.wait_serving()
            yield kept
            process.terminate()
            async with asyncio.timeout(LIMIT_S):
                assert await process.wait() == 0
            assert not [path for path in files_below(root) if path.is_socket()]
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def claim(name: str) -> ClaimRef:
    """A claim of this name."""
    return ClaimRef(uid=f"uid-{name}", namespace="default", name=name)


@asynccontextmanager
async def kubelet_of(kept: Kept) -> AsyncIterator[DraClient]:
    """Kubelet, which has registered the driver and called it once."""
    registered = await register(kept.sockets.registration)
    async with DraClient(registered, deadline_s=LIMIT_S) as client:
        assert await prepared(client, "first")
        yield client


@asynccontextmanager
async def kubelet_restarted(kept: Kept) -> AsyncIterator[DraClient]:
    """Kubelet, which registers the driver again as its next process does, and has not called it."""
    registered = await register(kept.sockets.registration)
    async with DraClient(registered, deadline_s=LIMIT_S) as client:
        yield client


async def prepared(client: DraClient, name: str) -> bool:
    """Have a claim prepared; whether it got its device."""
    ref = claim(name)
    answers = await client.prepare([ref])
    return answers == {ref.uid: PrepareAnswer(devices=(device_for(ref),))}


async def asked(path: Path, request: bytes = ADD) -> bytes:
    """Everything that is answered, to the end."""
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        async with asyncio.timeout(LIMIT_S):
            writer.write(request)
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def test_call_is_answered_by_the_next_life(keeper_program: Path) -> None:
    """Calls under way when the driver is killed are answered by its next life, with no error."""
    async with kept_driver(keeper_program) as kept, kubelet_of(kept) as kubelet:
        before = kept.pid
        names = ["kill-it", *(f"other-{number}" for number in range(40))]
        assert all(await asyncio.gather(*(prepared(kubelet, name) for name in names)))
        await kept.wait_serving()
        assert kept.pid != before
        assert "registered True" in kept.lines[kept.lines.index("asked kill-it") :]


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGSEGV])
async def test_calls_wait_for_the_next_life(way: signal.Signals, keeper_program: Path) -> None:
    """Calls that come while there is no driver wait for it, on the connection that kubelet has."""
    async with kept_driver(keeper_program) as kept, kubelet_of(kept) as kubelet:
        os.kill(kept.pid, way)
        assert all(await asyncio.gather(*(prepared(kubelet, f"c{i}") for i in range(150))))


async def test_bug_costs_no_call(keeper_program: Path) -> None:
    """A driver that ends with an error leaves the calls under way unanswered for its next life."""
    async with kept_driver(keeper_program) as kept, kubelet_of(kept) as kubelet:
        assert all(
            await asyncio.gather(*(prepared(kubelet, name) for name in ("bug-1", "a", "b", "c")))
        )


async def test_frozen_driver_is_replaced(keeper_program: Path) -> None:
    """A driver that stops answering is killed, and the next life answers."""
    async with kept_driver(keeper_program) as kept, kubelet_of(kept) as kubelet:
        assert await prepared(kubelet, "stop-it")


async def test_refusal_is_an_answer(keeper_program: Path) -> None:
    """A claim that is refused is answered at once, and not asked for again."""
    async with kept_driver(keeper_program) as kept, kubelet_of(kept) as kubelet:
        ref = claim("refuse-it")
        assert await kubelet.prepare([ref]) == {ref.uid: PrepareAnswer(error="no such network")}
        assert await prepared(kubelet, "last")
        await kept.wait_for("asked last")
        assert kept.lines.count("asked refuse-it") == 1


async def test_poison_call_is_given_up(keeper_program: Path) -> None:
    """A call that kills each driver fails after three of them, and the others are answered."""
    async with kept_driver(keeper_program) as kept, kubelet_of(kept) as kubelet:
        with pytest.raises(DriverCallError):
            await prepared(kubelet, "poison-1")
        assert await prepared(kubelet, "harmless")
        await kept.wait_for("asked harmless")
        assert kept.lines.count("asked poison-1") == 3


async def test_stream_ends_with_its_driver(keeper_program: Path) -> None:
    """A stream whose answer has begun ends with an error, so that kubelet asks for it again."""
    async with kept_driver(keeper_program) as kept, kubelet_of(kept) as kubelet:
        async with asyncio.timeout(LIMIT_S), aclosing(kubelet.watch_health()) as healths:
            assert await anext(healths) == ()
            os.kill(kept.pid, signal.SIGKILL)
            with pytest.raises(DriverCallError):
                await anext(healths)
        assert await prepared(kubelet, "after")


async def test_attach_is_made_again(keeper_program: Path) -> None:
    """The chained plugin's call waits while there is no driver, and is made again if one died."""
    async with kept_driver(keeper_program) as kept:
        (kept.root / "kill-attach").touch()
        assert await asked(kept.root / "attach.sock") == b""  # it died
        assert decode_answer(await asked(kept.root / "attach.sock")) == OK


async def test_socket_that_was_taken_away(keeper_program: Path) -> None:
    """A path that was removed is bound again by the next life."""
    async with kept_driver(keeper_program) as kept:
        kept.sockets.registration.unlink()
        os.kill(kept.pid, signal.SIGKILL)
        await kept.wait_serving()
        await register(kept.sockets.registration)


async def test_restarted_kubelet_registers_meanwhile(keeper_program: Path) -> None:
    """A kubelet that asks who is there while nobody is registers the driver, and its calls wait."""
    async with kept_driver(keeper_program) as kept, kubelet_of(kept):
        await kept.kill()
        async with kubelet_restarted(kept) as kubelet:
            call = asyncio.create_task(prepared(kubelet, "meanwhile"))
            await kept.go_on()
            assert await call
        await kept.kill()
        async with kubelet_restarted(kept):  # the next life's answers count as well
            await kept.go_on()


@pytest.mark.parametrize("known", [None, ()], ids=["unknown", "refused"])
async def test_only_an_accepted_driver_is_spoken_for(
    known: tuple[DraApi, ...] | None, keeper_program: Path
) -> None:
    """Kubelet learns from nobody but the driver of one that it has not accepted yet, or refused."""
    async with kept_driver(keeper_program) as kept:
        if known is not None:
            await register(kept.sockets.registration)
            with pytest.raises(PeerError):
                await register(kept.sockets.registration, known)
        await kept.kill()
        async with Channel(path=str(kept.sockets.registration)) as channel:
            get_info = UnaryUnaryMethod(channel, GET_INFO, pb.InfoRequest, pb.PluginInfo)
            call = asyncio.create_task(get_info(pb.InfoRequest(), timeout=LIMIT_S))
            await asked(kept.sockets.registration, b"GET / HTTP/1.1\r\n\r\n")  # the keeper is here
            assert not call.done()
            await kept.go_on()
            assert (await call).name == DRIVER


@pytest.mark.parametrize("code", [0, 2])
async def test_end_by_itself(code: int, keeper_program: Path) -> None:
    """A driver that is done, or that refuses its settings, is not started again."""
    process = await asyncio.create_subprocess_exec(
        keeper_program, sys.executable, "-c", f"print('once'); raise SystemExit({code})",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await process.communicate()
    assert (output, process.returncode) == (b"once\n", code)


async def test_giving_up(keeper_program: Path) -> None:
    """A driver that dies again and again soon after its start ends the keeper, which says so."""
    process = await asyncio.create_subprocess_exec(
        keeper_program, sys.executable, "-c", "raise SystemExit(1)",
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, errors = await process.communicate()
    assert process.returncode == 70
    assert errors.decode().splitlines()[-1] == (
        "netclaim-keeper: the driver ended with code 1 9 times in a row within 10 s of its start;"
        " giving up. Its own messages above say why"
    )


async def test_program_that_is_not_there(keeper_program: Path) -> None:
    """A command that cannot be run is named."""
    process = await asyncio.create_subprocess_exec(
        keeper_program, "/no/such/program", stderr=asyncio.subprocess.PIPE
    )
    _, errors = await process.communicate()
    assert process.returncode == 127
    assert errors == b"netclaim-keeper: cannot run /no/such/program: No such file or directory\n"


async def test_signal_is_passed_on(keeper_program: Path) -> None:
    """The driver's exit code after SIGTERM is the keeper's."""
    program = "import signal, sys; signal.signal(15, lambda *_: sys.exit(5)); print(1, flush=True); signal.pause()"  # noqa: E501
    process = await asyncio.create_subprocess_exec(
        keeper_program, sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    process.terminate()
    assert await process.wait() == 5


async def test_orphans_end_before_the_next_life(keeper_program: Path) -> None:
    """What a dead driver had started does not run beside the next one."""
    program = """
import os, subprocess, sys, pathlib
mark = pathlib.Path(sys.argv[1])
if mark.exists():
    print(pathlib.Path(f"/proc/{mark.read_text()}").exists())
    sys.exit(0)
child = subprocess.Popen(["sleep", "3600"], start_new_session=True)
mark.write_text(str(child.pid))
os.kill(os.getpid(), 9)
"""
    with kubelet_directory() as root:
        process = await asyncio.create_subprocess_exec(
            keeper_program, sys.executable, "-c", program, str(root / "mark"),
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        output, _ = await process.communicate()
        assert output == b"False\n"


async def test_no_http2(keeper_program: Path) -> None:
    """Bytes that are no HTTP/2 end their connection, and no other."""
    async with kept_driver(keeper_program) as kept, kubelet_of(kept) as kubelet:
        await asked(kept.sockets.dra, b"GET / HTTP/1.1\r\n\r\n")
        assert await prepared(kubelet, "still")
