"""netclaim-attach in a runtime's directories: put in, kept in, taken out."""

import asyncio
import base64
import json
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from netclaim.chained import Installer, PluginEntry, program_path
from netclaim.errors import HostError

PRIMARY = '{"name": "net", "cniVersion": "1.0.0", "plugins": [{"type": "ptp", "mtu": 1400}]}\n'
RED = PluginEntry("red.example", "/run/red/attach.sock", "/run/red/plans", "/k")
BLUE = PluginEntry("blue.example", "/run/blue/attach.sock", "/run/blue/plans", "/k")


async def no_time(_seconds: float) -> None:
    """Let others have a turn."""
    await asyncio.sleep(0)


class Node:
    """The runtime's two directories."""

    def __init__(self, root: Path) -> None:
        self.conf_dir = root / "net.d"
        self.bin_dir = root / "bin"
        self.results_dir = root / "results"
        self.list = self.conf_dir / "10-primary.conflist"
        self.program = self.bin_dir / "netclaim-attach"
        self.conf_dir.mkdir()
        self.list.write_text(PRIMARY)

    def installer(
        self,
        entry: PluginEntry = RED,
        *,
        sleep: Callable[[float], Awaitable[None]] = no_time,
        program: Path | None = None,
        now: Callable[[], float] = lambda: 0.0,
    ) -> Installer:
        """A driver's installer."""
        return Installer(
            self.conf_dir, self.bin_dir, entry, program=program or program_path(), sleep=sleep,
            now=now, results_dir=self.results_dir,
        )  # fmt: skip

    def drivers(self) -> list[str]:
        """The drivers in the list, in its order."""
        plugins = json.loads(self.list.read_text())["plugins"]
        return [plugin["driver"] for plugin in plugins if plugin["type"] == "netclaim-attach"]

    def names(self) -> set[str]:
        """Every file of both directories."""
        return {path.name for path in (*self.conf_dir.iterdir(), *self.bin_dir.iterdir())}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node whose primary network is there."""
    return Node(tmp_path)


async def test_program_that_running_pods_end_with(node: Node) -> None:
    """It stays while a cached result names it: CRI-O ends a pod with the list it began with."""
    installer = node.installer()
    installer.install()
    node.results_dir.mkdir()
    for name, text in (("pods-a-eth0", node.list.read_text()), ("pods-b-eth0", PRIMARY)):
        config = base64.b64encode(text.encode()).decode()
        (node.results_dir / name).write_text(json.dumps({"kind": "cniCacheV1", "config": config}))
    for name, text in (("odd", "{"), ("odder", '{"config": "%"}'), ("list", "[]")):
        (node.results_dir / name).write_text(text)
    await installer.remove()
    assert (node.drivers(), node.program.exists()) == ([], True)
    assert installer.pods_started_with_it() == 1
    (node.results_dir / "pods-a-eth0").unlink()
    await installer.remove()
    assert not node.program.exists()


def test_put_in(node: Node) -> None:
    """Program and entry are in place, mode and owner of the list are kept, nothing else is left."""
    node.list.chmod(0o640)
    os.chown(node.list, 12, 34)
    installer = node.installer()
    assert installer.install()
    assert installer.installed
    assert node.drivers() == [RED.driver]
    status = node.list.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o640, 12, 34)
    assert node.program.read_bytes() == program_path().read_bytes()
    assert stat.S_IMODE(node.program.stat().st_mode) == 0o755
    assert node.names() == {"10-primary.conflist", "netclaim-attach"}


def test_put_in_again(node: Node) -> None:
    """A second call writes nothing: the runtime has no reason to read anything anew."""
    node.installer().install()
    before = node.list.stat(), node.program.stat()
    assert not node.installer().install()
    assert (node.list.stat().st_ino, node.program.stat().st_ino) == (
        before[0].st_ino,
        before[1].st_ino,
    )


def test_another_version_replaces_the_program(node: Node, tmp_path: Path) -> None:
    """A driver that starts brings its own program; while it runs it leaves another's alone."""
    old = tmp_path / "old"
    old.write_bytes(b"#!/bin/true\n")
    first, second = node.installer(program=old), node.installer(BLUE)
    first.install()
    assert second.install()
    assert not first.install()
    assert node.program.read_bytes() == program_path().read_bytes()


async def test_taken_out(node: Node) -> None:
    """The list is as it was, byte for byte, the program is gone, and a second call does nothing."""
    installer = node.installer()
    installer.install()
    other = node.conf_dir / "99-other.conflist"
    other.write_text(node.list.read_text())
    for _ in range(2):
        await installer.remove()
        assert (node.list.read_text(), other.read_text()) == (PRIMARY, PRIMARY)
        assert not node.program.exists()
        assert not installer.installed


async def test_the_order_of_going(node: Node) -> None:
    """The program is there as long as the runtime may still think that the list names it."""
    seen: list[tuple[list[str], bool]] = []

    async def look(_seconds: float) -> None:
        seen.append((node.drivers(), node.program.exists()))

    installer = node.installer(sleep=look)
    installer.install()
    await installer.remove()
    assert seen == [([], True)]
    assert not node.program.exists()


async def test_two_drivers(node: Node) -> None:
    """Entries of two drivers come and go by themselves; the last one takes the program with it."""
    red, blue = node.installer(RED), node.installer(BLUE)
    red.install()
    blue.install()
    assert node.drivers() == [RED.driver, BLUE.driver]
    await red.remove()
    assert node.drivers() == [BLUE.driver]
    assert node.program.exists()
    await blue.remove()
    assert node.list.read_text() == PRIMARY
    assert not node.program.exists()


def test_the_runtimes_choice(node: Node) -> None:
    """The file that sorts first by its bytes is edited, and none that the runtime passes over."""
    for name in ("05-x.conflist.bak", ".tmp", "10-primary", "00-off.disabled", "1-a.conflist~"):
        (node.conf_dir / name).write_text("not for the runtime")
    (node.conf_dir / "00-dir.conflist").mkdir()
    for name in ("a.conflist", "99-last.conf"):
        (node.conf_dir / name).write_text(PRIMARY)
    node.installer().install()
    assert node.drivers() == [RED.driver]
    first = node.conf_dir / ".hidden.conflist"
    first.write_text(PRIMARY)
    node.installer().install()
    assert "red.example" in first.read_text()


@pytest.mark.parametrize("name", ["05-first.conf", "05-first.json"])
def test_a_single_plugin_is_left_alone(node: Node, name: str) -> None:
    """A configuration of one plugin cannot have another: it is named, and nothing is written."""
    conf = node.conf_dir / name
    conf.write_text('{"name": "n", "type": "bridge"}')
    with pytest.raises(HostError, match=rf"{name} is a single plugin.*\.conflist"):
        node.installer().install()
    assert conf.read_text() == '{"name": "n", "type": "bridge"}'
    assert node.drivers() == []


@pytest.mark.parametrize("content", [b"", b"{", b'{"name": "n", "plugins": []}', b"\xff"])
def test_a_list_that_cannot_be_read(node: Node, content: bytes) -> None:
    """A broken file is named and stays as it is."""
    node.list.write_bytes(content)
    installer = node.installer()
    with pytest.raises(HostError, match=str(node.list)):
        installer.install()
    assert not installer.installed
    assert node.list.read_bytes() == content


async def test_a_broken_file_does_not_keep_the_others(node: Node) -> None:
    """The entry is taken out where it can be; the program stays for what could not be read."""
    installer = node.installer()
    installer.install()
    broken = node.conf_dir / "20-broken.conflist"
    broken.write_text(node.list.read_text()[:-3])
    with pytest.raises(HostError, match=r"20-broken\.conflist is not JSON"):
        await installer.remove()
    assert node.list.read_text() == PRIMARY
    assert node.program.exists()


def test_a_symbolic_link_stays_one(node: Node, tmp_path: Path) -> None:
    """A list that lies elsewhere is edited there."""
    real = tmp_path / "real.conflist"
    node.list.rename(real)
    node.list.symlink_to(real)
    node.installer().install()
    assert node.list.is_symlink()
    assert "red.example" in real.read_text()
    assert node.names() == {"10-primary.conflist", "netclaim-attach"}


def test_no_program_no_entry(node: Node, tmp_path: Path) -> None:
    """If the program cannot be put in place, the list does not name it."""
    with pytest.raises(HostError, match="nowhere"):
        node.installer(program=tmp_path / "nowhere").install()
    assert node.drivers() == []


class Watched:
    """A watch that stands still between its looks, until the test lets it look again."""

    def __init__(self, node: Node) -> None:
        self.pauses: asyncio.Queue[float] = asyncio.Queue()
        self._turn = asyncio.Semaphore(0)
        self.clock_s = 0.0
        self.installer = node.installer(sleep=self._pause, now=lambda: self.clock_s)

    async def _pause(self, seconds: float) -> None:
        self.pauses.put_nowait(seconds)
        await self._turn.acquire()

    async def look(self) -> float:
        """Let it look; returns for how long it wants to rest then."""
        self._turn.release()
        return await self.pauses.get()


async def test_it_is_put_back(node: Node) -> None:
    """Whatever the primary network's installer does, the entry is back after the next look."""
    watched = Watched(node)
    async with asyncio.TaskGroup() as group:
        watch = group.create_task(watched.installer.watch())
        await watched.pauses.get()
        await watched.installer.wait_installed()
        node.list.write_text(PRIMARY)  # rewritten in place
        await watched.look()
        assert node.drivers() == [RED.driver]
        replacement = node.conf_dir / "new"
        replacement.write_text(PRIMARY)
        replacement.rename(node.list)
        await watched.look()
        assert node.drivers() == [RED.driver]
        node.program.unlink()
        await watched.look()
        assert node.program.exists()
        (node.conf_dir / "00-new.conflist").write_text(PRIMARY)  # another network comes first
        await watched.look()
        assert "red.example" in (node.conf_dir / "00-new.conflist").read_text()
        watch.cancel()


async def test_a_network_that_comes_later(node: Node) -> None:
    """Without a network, or a directory for it, the watch waits for one."""
    node.list.unlink()
    node.conf_dir.rmdir()
    watched = Watched(node)
    async with asyncio.TaskGroup() as group:
        watch = group.create_task(watched.installer.watch())
        await watched.pauses.get()
        assert not watched.installer.installed
        node.conf_dir.mkdir()
        await watched.look()
        assert not watched.installer.installed
        node.list.write_text("{")  # half written
        with capture_logs() as logs:
            await watched.look()
            await watched.look()
        assert [line["event"] for line in logs] == ["chained.not_installed"]  # said once
        node.list.write_text(PRIMARY)
        await watched.look()
        await watched.installer.wait_installed()
        assert node.drivers() == [RED.driver]
        watch.cancel()


async def test_a_quiet_node_is_only_looked_at(node: Node) -> None:
    """While nothing changes, nothing is written, not even a draft."""
    watched = Watched(node)
    async with asyncio.TaskGroup() as group:
        watch = group.create_task(watched.installer.watch())
        await watched.pauses.get()
        await watched.look()
        before = node.list.stat().st_ctime_ns, node.conf_dir.stat().st_mtime_ns
        for _ in range(3):
            await watched.look()
        assert (node.list.stat().st_ctime_ns, node.conf_dir.stat().st_mtime_ns) == before
        watch.cancel()


async def test_somebody_who_means_it(node: Node) -> None:
    """An installer that takes the entry out again and again is left alone for a while."""
    watched = Watched(node)
    async with asyncio.TaskGroup() as group:
        watch = group.create_task(watched.installer.watch())
        await watched.pauses.get()
        rests: list[float] = []
        with capture_logs() as logs:
            for _ in range(5):
                node.list.write_text(PRIMARY)
                rests.append(await watched.look())
        assert rests == [1, 1, 1, 1, 60]
        assert logs[-1]["event"] == "chained.taken_out_repeatedly"
        watched.clock_s += 61
        node.list.write_text(PRIMARY)
        assert await watched.look() == 1
        watch.cancel()
