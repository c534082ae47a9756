"""What tuning keeps of a link, in a directory where others may have put something else."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from netclaim.cni import AttachmentKey
from netclaim.errors import HostError
from netclaim.plugins.tuning.backup import BYTES_MAX, Backup, LinkTuning

KEY = AttachmentKey("c0ffee", "net1")
NAME = "c0ffee_net1.json"
BEFORE = LinkTuning(mac="02:00:00:00:00:01", mtu=1500, txqlen=0)


@pytest.fixture
def backup(tmp_path: Path) -> Backup:
    """A backup in a directory that is there."""
    (tmp_path / "tuning").mkdir()
    return Backup(str(tmp_path / "tuning"), KEY)


def test_it_is_read_as_it_was_kept_until_it_is_dropped(tmp_path: Path) -> None:
    """Only root can read it; keeping again replaces it, dropping again does nothing."""
    backup = Backup(str(tmp_path / "a" / "tuning"), KEY)
    assert backup.read() is None
    backup.keep(LinkTuning(mtu=9000, promisc=True))
    backup.keep(BEFORE)
    path = tmp_path / "a" / "tuning" / NAME
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [entry.name for entry in path.parent.iterdir()] == [NAME]
    assert backup.read() == BEFORE
    for _ in range(2):
        backup.drop()
        assert backup.read() is None


def fifo(place: Path, _outside: Path) -> None:
    """Put a FIFO there."""
    os.mkfifo(place)


def symlink(place: Path, outside: Path) -> None:
    """Put a symbolic link there to a file that reads like a backup."""
    place.symlink_to(outside)


def device(place: Path, _outside: Path) -> None:
    """Put a symbolic link there to a device without end."""
    place.symlink_to("/dev/zero")


@pytest.mark.parametrize("trap", [fifo, symlink, device])
@pytest.mark.parametrize("place", [NAME, f".{NAME}.draft"])
def test_what_is_no_file_is_not_read_and_not_written_to(
    tmp_path: Path, backup: Backup, trap: Callable[[Path, Path], None], place: str
) -> None:
    """A backup takes the place of it; what it led to stays as it was."""
    outside = tmp_path / "outside"
    outside.write_text(BEFORE.written())
    trap(tmp_path / "tuning" / place, outside)
    assert backup.read() is None
    backup.keep(LinkTuning(mtu=1400))
    assert backup.read() == LinkTuning(mtu=1400)
    backup.drop()
    assert list((tmp_path / "tuning").iterdir()) == []
    assert outside.read_text() == BEFORE.written()


def test_dropping_a_symbolic_link_leaves_what_it_leads_to(tmp_path: Path, backup: Backup) -> None:
    """The name goes, the file stays."""
    outside = tmp_path / "outside"
    outside.touch()
    (tmp_path / "tuning" / NAME).symlink_to(outside)
    backup.drop()
    assert outside.exists()
    assert list((tmp_path / "tuning").iterdir()) == []


@pytest.mark.parametrize("ending", ["", "/", "/."])
def test_a_directory_that_is_a_symbolic_link_is_not_followed(tmp_path: Path, ending: str) -> None:
    """Nothing is kept there, read there or removed there; a container can go all the same."""
    other = tmp_path / "other"
    other.mkdir()
    (other / NAME).write_text(BEFORE.written())
    (tmp_path / "tuning").symlink_to(other)
    backup = Backup(f"{tmp_path}/tuning{ending}", KEY)
    with pytest.raises(HostError, match="cannot save the settings of net1"):
        backup.keep(LinkTuning(mtu=1))
    assert backup.read() is None
    backup.drop()
    assert (other / NAME).read_text() == BEFORE.written()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"mac": "home"}',
        b'{"mtu": -1}',
        b'{"mtu": 4294967296}',
        b'{"txQLen": -1}',
        b'{"promisc": 1}',
        BEFORE.written().encode() + b" " * BYTES_MAX,
    ],
)
def test_a_backup_that_makes_no_sense_counts_as_absent(
    tmp_path: Path, backup: Backup, content: bytes
) -> None:
    """Settings that no link can have are not tried, and no file is read to its distant end."""
    (tmp_path / "tuning" / NAME).write_bytes(content)
    assert backup.read() is None


@pytest.mark.parametrize("directory", ["/dev/null", "/proc/nothing", "nul\0", "x" * 5000])
def test_a_directory_that_cannot_be_is_told_by_those_who_write(directory: str) -> None:
    """Whatever a configuration says there, a container can go."""
    backup = Backup(directory, KEY)
    with pytest.raises(HostError, match="cannot save"):
        backup.keep(BEFORE)
    assert backup.read() is None
    backup.drop()
