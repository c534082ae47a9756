"""Sockets in other namespaces, and the threads that open them."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaim.kernel.host.netns import (
    NamespaceGoneError,
    NamespaceRefusedError,
    Netns,
    current_netns_id,
    is_live,
    open_netns,
    socket_in,
)
from tests.support.kernel_support import fresh_netns, ip, name_of

pytestmark = pytest.mark.embedded

NO_FAMILY = 9999  # beyond any address family there is, so that no socket can be opened


@pytest.fixture
def netns() -> Iterator[Netns]:
    """A namespace of the test's own."""
    with fresh_netns() as made:
        yield made


def test_socket_is_inside_and_the_thread_is_not(netns: Netns) -> None:
    """The socket sees the other namespace's links; the thread that opened it is where it was."""
    ip(netns, "link", "add", "nct-only", "type", "bridge")
    home = current_netns_id()
    with socket_in(netns, socket.AF_INET, socket.SOCK_DGRAM, 0) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"nct-only")
    assert current_netns_id() == home != netns.id


def test_other_threads_stay_where_they_are(netns: Netns) -> None:
    """Many threads open sockets in and out of a namespace; each one ends at home."""
    home = current_netns_id()
    seen = []

    def work() -> None:
        for _ in range(50):
            socket_in(netns, socket.AF_INET, socket.SOCK_DGRAM, 0).close()
            seen.append(current_netns_id())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 200
    assert set(seen) == {home}


def test_a_socket_that_cannot_be_opened_leaves_the_thread_at_home(netns: Netns) -> None:
    """An error inside the other namespace is told with its path, from the namespace at home."""
    home = current_netns_id()
    with pytest.raises(NamespaceRefusedError) as caught:
        socket_in(netns, NO_FAMILY, socket.SOCK_DGRAM, 0)
    assert caught.value.path == netns.path
    assert current_netns_id() == home


def test_no_descriptor_is_left_open(netns: Netns) -> None:
    """Opening a socket inside, or failing to, costs no descriptor beyond the socket."""
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir()))
    socket_in(netns, socket.AF_INET, socket.SOCK_DGRAM, 0).close()
    with pytest.raises(NamespaceRefusedError):
        socket_in(netns, NO_FAMILY, socket.SOCK_DGRAM, 0)
    with pytest.raises(NamespaceGoneError):
        open_netns("/dev/null")
    assert len(list(descriptors.iterdir())) == before


def test_a_thread_that_cannot_return_takes_the_process_down(netns: Netns) -> None:
    """A process that may enter a namespace but not return to its own is aborted."""
    # After unshare(CLONE_NEWUSER) it owns the namespaces made from then on, but not its first.
    program = """
        import ctypes, os, socket
        from netclaim.kernel.host.netns import open_netns, socket_in
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.unshare(0x10000000) == 0, ctypes.get_errno()
        ready, done = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            assert libc.unshare(0x40000000) == 0, ctypes.get_errno()
            os.write(ready[1], b"x")
            os.read(done[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
        foreign = open_netns(f"/proc/{child}/ns/net")
        os.write(done[1], b"x")
        os.waitpid(child, 0)
        socket_in(foreign, socket.AF_INET, socket.SOCK_DGRAM, 0)
        print("still alive")
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGABRT, ended.stderr
    assert "cannot leave network namespace" in ended.stderr
    assert not ended.stdout


def test_an_open_namespace_outlives_its_path() -> None:
    """A socket can be opened in a namespace that was unmounted after it was opened."""
    with fresh_netns() as netns:
        subprocess.run(["ip", "netns", "delete", name_of(netns)], check=True)
        assert not is_live(netns.path)
        socket_in(netns, socket.AF_INET, socket.SOCK_DGRAM, 0).close()


def test_a_vanished_namespace_is_told_by_its_path() -> None:
    """A path that is gone gives NamespaceGoneError with the path."""
    with fresh_netns() as netns:
        subprocess.run(["ip", "netns", "delete", name_of(netns)], check=True)
        with pytest.raises(NamespaceGoneError, match=name_of(netns)) as caught:
            open_netns(netns.path)
    assert caught.value.path == netns.path


def test_a_path_is_live_while_mounted(netns: Netns, tmp_path: Path) -> None:
    """A bind mount of a namespace is live; the plain file left after unmounting is not."""
    path = tmp_path / "pod"
    path.touch()
    assert not is_live(path)
    subprocess.run(["mount", "--bind", netns.path, str(path)], check=True)
    try:
        assert is_live(path)
        with open_netns(path) as same:
            assert same.id == netns.id
    finally:
        subprocess.run(["umount", str(path)], check=True)
    assert not is_live(path)


@pytest.mark.parametrize("kind", ["mnt", "uts"])
def test_a_namespace_of_another_kind_is_no_netns(kind: str) -> None:
    """A mount or host name namespace is not taken for a network namespace."""
    assert not is_live(f"/proc/self/ns/{kind}")


@pytest.mark.parametrize("path", ["", "/proc/self/ns/net/beyond", "/proc/0/ns/net", "a\0b"])
def test_a_path_that_cannot_be_is_gone(path: str) -> None:
    """A path of which the system says that nothing is there names no namespace."""
    assert not is_live(path)


def test_a_path_that_may_not_be_opened_is_refused(tmp_path: Path) -> None:
    """An error that says nothing about the namespace is not taken for its end."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(NamespaceRefusedError) as caught:
        open_netns(loop)
    assert caught.value.path == str(loop)
    assert is_live(loop)


def test_a_fifo_in_the_place_of_a_namespace_does_not_block(tmp_path: Path) -> None:
    """Opening does not wait for a writer when a FIFO lies at the path."""
    os.mkfifo(tmp_path / "pod")
    assert not is_live(tmp_path / "pod")


def test_closing_twice_is_harmless(netns: Netns) -> None:
    """The second close does not close a descriptor that someone else has by now."""
    twice = open_netns(netns.path)
    twice.close()
    fd = os.open("/dev/null", os.O_RDONLY)
    twice.close()
    os.close(fd)
