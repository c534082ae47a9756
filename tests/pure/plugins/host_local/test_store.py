"""The store of leases: its lock, its oldest forms, its many files."""

import asyncio
import fcntl
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from netclaim.cni import AttachmentKey, CniError, Plugins
from netclaim.errors import HostError
from netclaim.plugins.host_local.lease_files import Leases
from netclaim.plugins.host_local.lease_store import MANY, LeaseStore
from tests.support.plugin_calls import call_of, host_local, printed, server

KEY = AttachmentKey("c0ffee", "net1")


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Hold a store's lock, as another process would."""
    directory.mkdir(parents=True, exist_ok=True)
    fd = os.open(directory / "lock", os.O_CREAT | os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def store_of(directory: Path) -> LeaseStore:
    """Make a store with a thread of its own."""
    return LeaseStore(str(directory), ThreadPoolExecutor(1))


async def lock_is_free(store: LeaseStore) -> None:
    """Take the lock, which waits for as long as somebody has it."""
    await store.transact(lambda leases: leases.files)


@pytest.fixture
def own() -> Plugins:
    """The plugin in this process."""
    return server("host-local")


async def test_a_lock_that_another_has_holds_up_nobody_else(tmp_path: Path, own: Plugins) -> None:
    """While an ADD waits for the lock, the event loop goes on; it gets it when it is free."""
    call = call_of("ADD", host_local(tmp_path, [{"subnet": "10.9.0.0/24"}]))
    async with asyncio.TaskGroup() as group:
        with held(tmp_path / "net"):
            waiting = group.create_task(printed(own, call))
            for _ in range(20):
                await asyncio.sleep(0)  # a loop that waited for the lock would never come here
            assert not waiting.done()
    assert json.loads(waiting.result())["ips"][0]["address"] == "10.9.0.2/24"


async def test_a_cancelled_wait_does_not_keep_the_lock(tmp_path: Path) -> None:
    """Who was waiting for the lock and is cancelled does not get it later."""
    store = store_of(tmp_path / "net")
    with held(tmp_path / "net"):
        task = asyncio.ensure_future(lock_is_free(store))
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await lock_is_free(store)
    await lock_is_free(store_of(tmp_path / "net"))


async def test_a_store_that_was_forgotten_meanwhile_is_made_anew(
    tmp_path: Path, own: Plugins
) -> None:
    """Who waited for the lock of a store that its holder removed writes no lease into nowhere."""
    call = call_of("ADD", host_local(tmp_path, [{"subnet": "10.9.0.0/24"}]))
    async with asyncio.TaskGroup() as group:
        with held(tmp_path / "net"):
            waiting = group.create_task(printed(own, call))
            for _ in range(20):
                await asyncio.sleep(0)
            (tmp_path / "net" / "lock").unlink()
            (tmp_path / "net").rmdir()
    assert json.loads(waiting.result())["ips"][0]["address"] == "10.9.0.2/24"
    assert (tmp_path / "net" / "10.9.0.2").is_file()


async def test_many_leases_are_read_in_a_thread(tmp_path: Path) -> None:
    """With more files than are read at once, the event loop goes on, and the lock holds."""
    store = store_of(tmp_path)
    for number in range(MANY + 10):
        (tmp_path / f"10.9.{number // 250}.{number % 250 + 1}").write_text("other\r\nnet1")
    entered, leave = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slowly(leases: Leases) -> int:
        loop.call_soon_threadsafe(entered.set)
        asyncio.run_coroutine_threadsafe(leave.wait(), loop).result()
        return len(leases.files)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(store.transact(slowly))
        await entered.wait()
        fd = os.open(tmp_path / "lock", os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(fd)
        leave.set()
    assert task.result() == MANY + 10


async def test_a_cancelled_transaction_keeps_the_lock_until_its_thread_is_done(
    tmp_path: Path,
) -> None:
    """Nobody changes the store while a thread whose caller is gone still works on it."""
    store = store_of(tmp_path)
    for number in range(MANY + 1):
        (tmp_path / f"10.9.{number // 250}.{number % 250 + 1}").write_text("other\r\nnet1")
    entered, leave = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slowly(_leases: Leases) -> None:
        loop.call_soon_threadsafe(entered.set)
        asyncio.run_coroutine_threadsafe(leave.wait(), loop).result()

    task = asyncio.ensure_future(store.transact(slowly))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    fd = os.open(tmp_path / "lock", os.O_RDONLY)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        leave.set()
        await asyncio.to_thread(fcntl.flock, fd, fcntl.LOCK_EX)
    finally:
        os.close(fd)


async def test_the_oldest_leases_have_no_interface_name(tmp_path: Path, own: Plugins) -> None:
    """A lease of a container id alone is found, and released, where there is no better one."""
    config = host_local(tmp_path, [{"subnet": "10.9.0.0/24"}])
    old = tmp_path / "net" / "10.9.0.7"
    old.parent.mkdir()
    old.write_text("c0ffee\n")
    await own.run(call_of("CHECK", config))
    with pytest.raises(CniError, match=r"10\.9\.0\.7"):
        await own.run(call_of("ADD", config))
    await own.run(call_of("DEL", config))
    assert not old.exists()


async def test_garbage_collection_knows_the_oldest_leases_by_their_container(
    tmp_path: Path, own: Plugins
) -> None:
    """A lease without interface name is kept while any attachment of its container is valid."""
    store = tmp_path / "net"
    store.mkdir()
    for name, content in (("10.9.0.7", "kept"), ("10.9.0.8", "dead"), ("10.9.0.9", "kept\r\nnet2")):
        (store / name).write_text(content)
    valid = [{"containerID": "kept", "ifname": "net1"}]
    config = host_local(tmp_path, [{"subnet": "10.9.0.0/24"}])
    await own.run(call_of("GC", config | {"cni.dev/valid-attachments": valid}))
    assert {path.name for path in store.glob("10.*")} == {"10.9.0.7"}


@pytest.mark.parametrize(
    ("said", "code"),
    [({}, 7), ({"cni.dev/valid-attachments": [7]}, 6), ({"cni.dev/attachments": [{}]}, 6)],
)
async def test_garbage_collection_without_a_list_releases_nothing(
    tmp_path: Path, own: Plugins, said: dict[str, Any], code: int
) -> None:
    """Not to be told what is valid is an error, and so is a list that is none."""
    config = host_local(tmp_path, [{"subnet": "10.9.0.0/24"}])
    await own.run(call_of("ADD", config))
    with pytest.raises(CniError) as caught:
        await own.run(call_of("GC", config | said))
    assert caught.value.code == code
    assert (tmp_path / "net" / "10.9.0.2").exists()


async def test_garbage_collection_with_nothing_valid_releases_all(
    tmp_path: Path, own: Plugins
) -> None:
    """The reference library writes null where no attachment is valid."""
    config = host_local(tmp_path, [{"subnet": "10.9.0.0/24"}])
    await own.run(call_of("ADD", config))
    await own.run(call_of("GC", config | {"cni.dev/valid-attachments": None}))
    assert not (tmp_path / "net" / "10.9.0.2").exists()


async def test_a_lease_that_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    """What lies in an address's place and is no file has that address."""
    (tmp_path / "10.9.0.2").mkdir()
    address = ip_address("10.9.0.2")
    store = store_of(tmp_path)
    assert not await store.transact(lambda leases: leases.reserve(address, KEY, 0))


async def test_a_store_that_cannot_be_made_is_the_hosts_fault(tmp_path: Path) -> None:
    """A file where the directory should be is told as such."""
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match="leases"):
        await lock_is_free(store_of(tmp_path / "file" / "net"))


async def test_a_shorter_last_address_replaces_a_longer_one(tmp_path: Path, own: Plugins) -> None:
    """The file of the last address holds that address and nothing else."""
    ranges = [{"subnet": "10.9.0.0/24", "rangeStart": "10.9.0.100", "rangeEnd": "10.9.0.100"}]
    await own.run(call_of("ADD", host_local(tmp_path, ranges)))
    await own.run(call_of("DEL", host_local(tmp_path, ranges)))
    await own.run(call_of("ADD", host_local(tmp_path, [{"subnet": "10.9.0.0/29"}])))
    assert (tmp_path / "net" / "last_reserved_ip.0").read_text() == "10.9.0.2"
