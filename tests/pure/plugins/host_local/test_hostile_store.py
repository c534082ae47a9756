"""A lease store in a directory where somebody has put what does not belong there.

Each test lays a trap, has host-local walk into it, and looks at what lies outside the store.
"""

import asyncio
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import pytest

from netclaim.cni import AttachmentKey, CniError, CniErrorKind, Plugins
from netclaim.errors import HostError
from netclaim.plugins.engine.engine import InProcess
from netclaim.plugins.host_local.host_local import HostLocal
from netclaim.plugins.host_local.lease_files import LEASE_BYTES_MAX
from netclaim.plugins.host_local.lease_store import MANY, LeaseStore
from tests.support.plugin_calls import call_of, host_local, printed, server

KEY = AttachmentKey("c0ffee", "net1")
RANGE = [{"subnet": "10.9.0.0/29"}]
SECRET = "the owner's own words\n"
SOON_S = 0.05  # a patience that ends while the lock is held all the time
WAITERS = 50

Trap = Callable[[Path, Path], None]


@pytest.fixture
def own() -> Plugins:
    """The plugin in this process."""
    return server("host-local")


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A file that is none of the store's, and is the same afterwards."""
    path = tmp_path / "outside"
    path.write_text(SECRET)
    yield path
    assert path.read_text() == SECRET


def names(directory: Path) -> list[str]:
    """List a directory."""
    return sorted(path.name for path in directory.iterdir())


def open_files() -> int:
    """How many files this process has open."""
    return len(names(Path("/proc/self/fd")))


def fifo(place: Path, _outside: Path) -> None:
    """Put a FIFO there, which would keep a reader waiting for a writer."""
    os.mkfifo(place)


def symlink(place: Path, outside: Path) -> None:
    """Put a symbolic link there."""
    place.symlink_to(outside)


def dangling(place: Path, outside: Path) -> None:
    """Put a symbolic link there that would make a file elsewhere."""
    place.symlink_to(outside.with_name("made"))


def device(place: Path, _outside: Path) -> None:
    """Put a symbolic link to a device there that never ends."""
    place.symlink_to("/dev/zero")


def directory(place: Path, _outside: Path) -> None:
    """Put a directory there."""
    place.mkdir()


TRAPS = [fifo, symlink, dangling, device, directory]


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("command", ["ADD", "DEL", "CHECK"])
async def test_a_lock_that_is_no_file_is_an_error(
    tmp_path: Path, outside: Path, own: Plugins, trap: Trap, command: str
) -> None:
    """Nobody waits for it, follows it, or goes on without a lock."""
    net = tmp_path / "net"
    net.mkdir()
    trap(net / "lock", outside)
    with pytest.raises(CniError, match=f"cannot open the leases in {net}"):
        await own.run(call_of(command, host_local(tmp_path, RANGE)))
    assert names(net) == ["lock"]
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("trap", TRAPS)
async def test_a_lease_that_is_no_file_is_passed_over(
    tmp_path: Path, outside: Path, own: Plugins, trap: Trap
) -> None:
    """Its address is taken, the next one is leased, and the thing stays as it is."""
    net = tmp_path / "net"
    net.mkdir()
    trap(net / "10.9.0.2", outside)
    before = (net / "10.9.0.2").lstat()
    config = host_local(tmp_path, RANGE)
    result = json.loads(await printed(own, call_of("ADD", config)))
    assert result["ips"][0]["address"] == "10.9.0.3/29"
    await own.run(call_of("DEL", config))
    await own.run(call_of("GC", config | {"cni.dev/valid-attachments": []}))
    after = (net / "10.9.0.2").lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert not (net / "10.9.0.3").exists()
    assert not (tmp_path / "made").exists()


async def test_a_fifo_that_somebody_writes_to_is_no_lease(tmp_path: Path, own: Plugins) -> None:
    """What comes out of it is not read, though it would read like a lease."""
    net = tmp_path / "net"
    net.mkdir()
    os.mkfifo(net / "10.9.0.2")
    fd = os.open(net / "10.9.0.2", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(fd, b"c0ffee\r\nnet1")
        with pytest.raises(CniError, match="has no lease"):
            await own.run(call_of("CHECK", host_local(tmp_path, RANGE)))
        assert os.read(fd, 100) == b"c0ffee\r\nnet1"
    finally:
        os.close(fd)


@pytest.mark.parametrize("trap", TRAPS)
async def test_a_last_address_that_is_no_file_is_an_error(
    tmp_path: Path, outside: Path, own: Plugins, trap: Trap
) -> None:
    """Nothing is written to it, and the lease that it was for is not kept."""
    net = tmp_path / "net"
    net.mkdir()
    trap(net / "last_reserved_ip.0", outside)
    with pytest.raises(CniError, match=r"cannot write the lease of 10\.9\.0\.2"):
        await own.run(call_of("ADD", host_local(tmp_path, RANGE)))
    assert names(net) == ["last_reserved_ip.0", "lock"]
    assert not (tmp_path / "made").exists()


async def test_a_fifo_with_a_reader_is_not_written_to(tmp_path: Path, own: Plugins) -> None:
    """Not even one that could be opened."""
    net = tmp_path / "net"
    net.mkdir()
    os.mkfifo(net / "last_reserved_ip.0")
    reader = os.open(net / "last_reserved_ip.0", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(CniError, match="not a regular file"):
            await own.run(call_of("ADD", host_local(tmp_path, RANGE)))
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)


async def test_a_file_with_another_name_is_not_written_to(
    tmp_path: Path, outside: Path, own: Plugins
) -> None:
    """A hard link is as good as a symbolic one for who wants another file changed."""
    net = tmp_path / "net"
    net.mkdir()
    (net / "last_reserved_ip.0").hardlink_to(outside)
    with pytest.raises(CniError, match="a second name"):
        await own.run(call_of("ADD", host_local(tmp_path, RANGE)))


async def test_a_network_that_is_a_symbolic_link_is_not_followed(
    tmp_path: Path, own: Plugins
) -> None:
    """Leases that lie where the link leads are neither seen nor released; nothing is made there."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "10.9.0.2").write_text("c0ffee\r\nnet1")
    (tmp_path / "net").symlink_to(other)
    config = host_local(tmp_path, RANGE)
    for command in ("ADD", "DEL", "CHECK"):
        with pytest.raises(CniError, match="Not a directory"):
            await own.run(call_of(command, config))
    assert names(other) == ["10.9.0.2"]


async def test_a_directory_of_networks_may_be_a_symbolic_link(tmp_path: Path, own: Plugins) -> None:
    """Only what is below it must be real: /var/run is a link on most machines."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    await own.run(call_of("ADD", host_local(tmp_path / "link", RANGE)))
    assert (tmp_path / "real" / "net" / "10.9.0.2").exists()


@pytest.mark.parametrize("data_dir", ["/dev/null", "/proc/self", "nul\0", "x" * 5000])
async def test_a_directory_that_cannot_be_is_an_error(own: Plugins, data_dir: str) -> None:
    """Whatever is written there, the answer is that of a plugin."""
    config = host_local(Path(), RANGE)
    config["ipam"]["dataDir"] = data_dir
    with pytest.raises(CniError, match="cannot open the leases"):
        await own.run(call_of("ADD", config))


async def test_files_of_other_names_are_not_touched(tmp_path: Path, own: Plugins) -> None:
    """What is not named like an address is no lease, though it reads like one."""
    net = tmp_path / "net"
    net.mkdir()
    for name in ("passwd", "10.9.0.9.bak", "last_reserved_ip.", ".10.9.0.9"):
        (net / name).write_text("c0ffee\r\nnet1")
    config = host_local(tmp_path, RANGE)
    with pytest.raises(CniError, match="has no lease"):
        await own.run(call_of("CHECK", config))
    await own.run(call_of("DEL", config))
    await own.run(call_of("GC", config | {"cni.dev/valid-attachments": []}))
    assert len(names(net)) == 5


async def test_a_lease_without_end_is_not_read_to_its_end(tmp_path: Path, own: Plugins) -> None:
    """A file of a terabyte, of which nothing is on disk, is somebody's lease and no more."""
    net = tmp_path / "net"
    net.mkdir()
    with (net / "10.9.0.2").open("wb") as file:
        file.write(b"c0ffee\r\nnet1" + b" " * LEASE_BYTES_MAX)
        file.truncate(1 << 40)
    call = call_of("ADD", host_local(tmp_path, RANGE), ifname="net2")
    result = json.loads(await printed(own, call))
    assert result["ips"][0]["address"] == "10.9.0.3/29"


async def test_a_directory_with_too_many_entries_is_refused(tmp_path: Path) -> None:
    """The message says where, and how many; nothing is changed."""
    store = LeaseStore(str(tmp_path), ThreadPoolExecutor(1), entries_max=MANY + 50)
    for number in range(MANY + 49):
        (tmp_path / f"junk{number}").touch()
    assert await store.transact(lambda leases: leases.files) == {}
    (tmp_path / "one-more").touch()
    with pytest.raises(HostError, match=f"{tmp_path} has more than {MANY + 50} entries"):
        await store.transact(lambda leases: leases.reserve(ip_address("10.9.0.2"), KEY, 0))
    assert not (tmp_path / "10.9.0.2").exists()


@contextmanager
def held_by_another_process(directory: Path) -> Iterator[None]:
    """Have another process hold a store's lock, as a stopped plugin would."""
    directory.mkdir(parents=True, exist_ok=True)
    program = (
        "import fcntl, sys; lock = open(sys.argv[1], 'w'); fcntl.flock(lock, fcntl.LOCK_EX); "
        "print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(directory / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield
        process.communicate()


async def test_a_lock_that_is_never_free_is_given_up(tmp_path: Path) -> None:
    """All who wait for it are told so, in the time of one; no thread of anybody's is used."""
    own = InProcess(HostLocal(lock_s=SOON_S))
    config = host_local(tmp_path, RANGE)
    loop = asyncio.get_running_loop()
    only = ThreadPoolExecutor(1)
    loop.set_default_executor(only)
    with held_by_another_process(tmp_path / "net"):
        calls = [
            asyncio.ensure_future(own.run(call_of("ADD", config, container_id=f"c{number}")))
            for number in range(WAITERS)
        ]
        assert await asyncio.to_thread(lambda: "free") == "free"
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert len(outcomes) == WAITERS
    for outcome in outcomes:
        assert isinstance(outcome, CniError)
        assert outcome.kind is CniErrorKind.TRY_AGAIN
        assert f"{tmp_path}/net/lock, was held by others" in outcome.msg
    assert names(tmp_path / "net") == ["lock"]
    await own.run(call_of("ADD", config))  # and now it is free


async def test_waiting_for_a_lock_uses_no_thread_and_few_files(tmp_path: Path) -> None:
    """Fifty tasks of one network wait with two descriptors; cancelled, they leave none."""
    plugin = HostLocal()
    own = InProcess(plugin)
    config = host_local(tmp_path, RANGE)
    with held_by_another_process(tmp_path / "net"):
        before = open_files()
        calls = [
            asyncio.ensure_future(own.run(call_of("ADD", config, container_id=f"c{number}")))
            for number in range(WAITERS)
        ]
        for _ in range(20):
            await asyncio.sleep(0)
        assert open_files() == before + 2
        assert not plugin._store_threads._threads
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        assert all(call.cancelled() for call in calls)
        assert open_files() == before
    await own.run(call_of("ADD", config))


async def test_work_that_never_began_leaves_nothing_open(tmp_path: Path) -> None:
    """A transaction that is cancelled while all threads are busy closes what it had opened."""
    for number in range(MANY + 1):
        (tmp_path / f"10.9.{number // 250}.{number % 250 + 1}").write_text("other\r\nnet1")
    threads = ThreadPoolExecutor(1)
    busy, leave = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def block() -> None:
        loop.call_soon_threadsafe(busy.set)
        asyncio.run_coroutine_threadsafe(leave.wait(), loop).result()

    blocked = asyncio.wrap_future(threads.submit(block))
    await busy.wait()
    before = open_files()
    store = LeaseStore(str(tmp_path), threads)
    task = asyncio.ensure_future(store.transact(lambda leases: leases.files))
    for _ in range(20):
        await asyncio.sleep(0)
    assert open_files() == before + 4
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert open_files() == before
    fd = os.open(tmp_path / "lock", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)
    leave.set()
    await blocked


async def test_stores_are_not_kept_after_their_use(tmp_path: Path) -> None:
    """However many networks there were, none is remembered."""
    plugin = HostLocal()
    own = InProcess(plugin)
    for number in range(100):
        await own.run(call_of("ADD", host_local(tmp_path, RANGE) | {"name": f"net{number}"}))
    assert len(plugin._stores) == 0


async def test_two_names_of_a_network_are_refused(tmp_path: Path, own: Plugins) -> None:
    """The one that is checked and the one that becomes a path cannot be two."""
    config = host_local(tmp_path / "leases", RANGE) | {"NAME": "../../elsewhere"}
    with pytest.raises(CniError, match="'name' and 'NAME'"):
        await own.run(call_of("ADD", config))
    assert names(tmp_path) == []
