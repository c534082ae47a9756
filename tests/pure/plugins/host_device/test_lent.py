"""What is remembered of links that are in containers, whatever else lies in its directory."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from netclaim.cni import AttachmentKey
from netclaim.errors import HostError
from netclaim.plugins.host_device.lent_links import BYTES_MAX, LentLink, LentLinks, device_of

KEY = AttachmentKey("c0ffee", "net1")
NAME = "c0ffee@net1.json"
LENT = LentLink(
    "net", KEY.container_id, "/ns", KEY.ifname, "eth1", "02:00:00:00:00:01", 1500, True, True
)


def lents_in(directory: Path, boot: str = "this") -> LentLinks:
    """Remember links in a directory, in some run of the machine."""
    return LentLinks(directory, boot=lambda: boot)


def test_a_link_is_remembered_until_it_is_dropped_or_the_machine_starts_anew(
    tmp_path: Path,
) -> None:
    """Keeping again replaces, dropping again does nothing."""
    lents = lents_in(tmp_path / "lent")
    assert (lents.find(KEY), lents.all()) == (None, [])
    lents.drop(KEY)
    for _ in range(2):
        lents.keep(LENT)
    assert [path.name for path in (tmp_path / "lent").iterdir()] == [NAME]
    assert (lents.find(KEY), lents.all()) == (LENT, [LENT])
    assert lents_in(tmp_path / "lent", "another").find(KEY) is None
    for _ in range(2):
        lents.drop(KEY)
        assert lents.all() == []


def fifo(place: Path, _outside: Path) -> None:
    """Put a FIFO there."""
    os.mkfifo(place)


def symlink(place: Path, outside: Path) -> None:
    """Put a symbolic link there to what reads like a lent link."""
    place.symlink_to(outside)


def device(place: Path, _outside: Path) -> None:
    """Put a symbolic link there to a device without end."""
    place.symlink_to("/dev/zero")


def endless(place: Path, _outside: Path) -> None:
    """Put a file there that is too long, and takes no room on the disk."""
    with place.open("wb") as file:
        file.truncate(BYTES_MAX + 1)


@pytest.mark.parametrize("trap", [fifo, symlink, device, endless])
def test_what_is_no_file_of_ours_is_unknown(
    tmp_path: Path, trap: Callable[[Path, Path], None]
) -> None:
    """It is reported and not read; keeping a link puts a file in its place."""
    lents_in(tmp_path / "elsewhere").keep(LENT)
    outside = tmp_path / "elsewhere" / NAME
    before = outside.read_bytes()
    directory = tmp_path / "lent"
    directory.mkdir()
    trap(directory / NAME, outside)
    lents = lents_in(directory)
    with capture_logs() as logs:
        assert (lents.find(KEY), lents.all()) == (None, [])
    assert {line["event"] for line in logs} == {"plugins.lent_link_unreadable"}
    lents.keep(LENT)
    assert lents.find(KEY) == LENT
    lents.drop(KEY)
    assert list(directory.iterdir()) == []
    assert outside.read_bytes() == before


def test_a_directory_that_is_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    """Nothing is remembered where it leads, and nothing forgotten."""
    lents_in(tmp_path / "elsewhere").keep(LENT)
    (tmp_path / "lent").symlink_to(tmp_path / "elsewhere")
    lents = lents_in(tmp_path / "lent")
    assert (lents.find(KEY), lents.all()) == (None, [])
    with pytest.raises(HostError, match="cannot save the record of the link eth1"):
        lents.keep(LENT)
    with pytest.raises(HostError, match="cannot remove the record"):
        lents.drop(KEY)
    assert lents_in(tmp_path / "elsewhere").find(KEY) == LENT


def test_a_draft_that_a_crash_left_is_no_link(tmp_path: Path) -> None:
    """The next one takes its place."""
    (tmp_path / f".{NAME}.draft").write_text("{")
    lents = lents_in(tmp_path)
    assert lents.all() == []
    lents.keep(LENT)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_hardware_is_there_until_it_is_unplugged(tmp_path: Path) -> None:
    """Its link ends with its kernel driver already. Without a device in sysfs, neither is known."""
    card = tmp_path / "devices/pci0/0000:03:00.0"
    card.mkdir(parents=True)
    net = tmp_path / "class/net/eth1"
    net.mkdir(parents=True)
    (net / "device").symlink_to("../../../devices/pci0/0000:03:00.0")
    lent = replace(LENT, device=device_of("eth1", tmp_path))
    (card / "net").mkdir()  # empty where the link is in another namespace
    there = lent.unplugged, lent.ended
    (card / "net").rmdir()
    unbound = lent.unplugged, lent.ended
    card.rmdir()
    assert [there, unbound] == [(False, False), (False, True)]
    assert (lent.unplugged, lent.ended) == (True, True)
    assert device_of("eth1", tmp_path) == device_of("eth2", tmp_path) == ""
    assert (LENT.unplugged, LENT.ended) == (False, False)
