"""Binding the plugin's sockets: leftovers, living neighbours, paths that cannot be."""

import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaim.errors import HostError
from netclaim.kubelet import PluginSockets
from netclaim.kubelet.sockets import ensure_directories, listen
from netclaim.unix_socket import SOCKET_PATH_MAX
from tests.support.kubelet_parts import DRIVER, kubelet_directory, leave_behind


@pytest.fixture
def root() -> Iterator[Path]:
    """Kubelet's root directory."""
    with kubelet_directory() as path:
        yield path


def test_places_are_kubelets_own() -> None:
    """The registration socket lies in kubelet's registry, the DRA socket in the driver's folder."""
    sockets = PluginSockets.under(Path("/var/lib/kubelet"), DRIVER)
    assert sockets.registration == Path(f"/var/lib/kubelet/plugins_registry/{DRIVER}-reg.sock")
    assert sockets.dra == Path(f"/var/lib/kubelet/plugins/{DRIVER}/dra.sock")


def test_relative_root_becomes_absolute(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative kubelet directory still gives absolute paths, which kubelet needs."""
    monkeypatch.chdir(root)
    assert PluginSockets.under(Path(), DRIVER) == PluginSockets.under(root, DRIVER)


def test_own_directory_is_made_twice(root: Path) -> None:
    """The driver's own directory is made, and a second start finds it made."""
    sockets = PluginSockets.under(root, DRIVER)
    ensure_directories(sockets)
    ensure_directories(sockets)
    assert sockets.dra.parent.is_dir()


@pytest.mark.parametrize("missing", ["plugins", "plugins_registry"])
def test_kubelets_directories_are_not_made(root: Path, missing: str) -> None:
    """A missing directory of kubelet's is the node owner's to mend, and is named."""
    (root / missing).rmdir()
    with pytest.raises(HostError, match=f"{root / missing} does not exist"):
        ensure_directories(PluginSockets.under(root, DRIVER))
    assert not (root / missing).exists()


def test_own_directory_that_cannot_be_made(root: Path) -> None:
    """A file in the place of the driver's directory is reported as such."""
    sockets = PluginSockets.under(root, DRIVER)
    sockets.dra.parent.touch()
    with pytest.raises(HostError, match="cannot create the driver's directory"):
        ensure_directories(sockets)


def test_only_the_owner_may_connect(root: Path) -> None:
    """A bound socket is for its owner alone."""
    bound = listen(root / "a.sock")
    bound.listener.close()
    assert stat.S_IMODE(bound.path.stat().st_mode) == 0o600


def test_leftover_is_replaced(root: Path) -> None:
    """A socket that nobody answers on is replaced by a listening one."""
    path = root / "a.sock"
    leave_behind(path)
    bound = listen(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(str(path))
    bound.listener.close()


def test_living_neighbour_keeps_its_socket(root: Path) -> None:
    """A socket that somebody answers on is not taken, and goes on answering."""
    path = root / "a.sock"
    first = listen(path)
    with pytest.raises(HostError, match="another process serves"):
        listen(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(str(path))
    first.listener.close()


def test_busy_neighbour_keeps_its_socket(root: Path) -> None:
    """A neighbour with a full backlog counts as living, and does not hold the start up."""
    path = root / "a.sock"
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as busy,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waiting,
    ):
        busy.bind(str(path))
        busy.listen(0)  # room for one that is not accepted yet
        waiting.connect(str(path))
        with pytest.raises(HostError, match="another process serves"):
            listen(path)


def test_file_in_the_way_is_kept(root: Path) -> None:
    """What is not a socket is never removed."""
    path = root / "a.sock"
    path.write_text("somebody's notes")
    with pytest.raises(HostError, match="is not a socket"):
        listen(path)
    assert path.read_text() == "somebody's notes"


def test_longest_path_is_taken(root: Path) -> None:
    """A path of exactly the kernel's limit can be bound."""
    path = root / ("a" * (SOCKET_PATH_MAX - len(str(root)) - 1))
    listen(path).listener.close()
    assert path.is_socket()


def test_too_long_a_path_says_what_to_change(root: Path) -> None:
    """One byte more is refused with the length, the limit and what to shorten."""
    path = root / ("a" * (SOCKET_PATH_MAX - len(str(root))))
    with pytest.raises(HostError, match=r"108 bytes.* 107.*shorter driver name"):
        listen(path)


def test_missing_directory_is_named(root: Path) -> None:
    """A socket in a directory that is not there names its path and the kernel's reason."""
    with pytest.raises(HostError, match=r"nowhere/a\.sock: No such file"):
        listen(root / "nowhere" / "a.sock")


def test_only_the_own_socket_is_unlinked(root: Path) -> None:
    """A socket that a successor put at the same path stays when the predecessor cleans up."""
    first = listen(root / "a.sock")
    first.path.unlink()
    successor = listen(first.path)
    first.unlink()
    assert successor.path.is_socket()
    successor.unlink()
    successor.unlink()
    assert not successor.path.exists()
    first.listener.close()
    successor.listener.close()
