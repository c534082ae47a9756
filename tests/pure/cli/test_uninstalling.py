"""A driver that has retired cleans up, unless the next one is there by then."""

import os
from pathlib import Path

import pytest

from netclaim.cli.uninstalling import leave
from netclaim.framework import Settings
from netclaim.framework.journal.journal import open_journal
from netclaim.framework.journal.store import JournalBusyError, locked
from netclaim.framework.process.node_places import NodePlaces

NAME = "driver.example"


def settings_in(root: Path) -> Settings:
    """Everything below one directory."""
    return Settings(
        node_name="n",
        run_dir=root / "run",
        state_dir=root / "state",
        kubelet_dir=root / "kubelet",
        cni_conf_dir=root / "net.d",
        cni_program_dir=root / "bin",
        cdi_dir=root / "cdi",
    )


async def test_next_one_keeps_everything(tmp_path: Path) -> None:
    """A driver that was installed again at once has its journal and its socket still."""
    settings = settings_in(tmp_path)
    journal = settings.state_dir / NAME / "journal.db"
    socket = NodePlaces.of(settings, NAME).socket
    socket.parent.mkdir(parents=True)
    socket.touch()
    async with open_journal(journal, "boot"):
        (said,) = await leave(settings, NAME, tmp_path / "leases")
        assert "taken over" in said
        assert socket.exists()
        assert journal.exists()
    done = await leave(settings, NAME, tmp_path / "leases")
    assert done == [f"removed {socket.parent}", f"removed {journal.parent}"]
    assert not socket.exists()


def test_lock_that_was_removed_is_none(tmp_path: Path) -> None:
    """Who opened the file before it was removed would hold what nobody else looks at."""
    journal = tmp_path / "journal.db"
    lock = journal.with_suffix(".lock")
    lock.touch()
    real = os.open

    def open_then_remove(path: Path, flags: int, mode: int) -> int:
        descriptor = real(path, flags, mode)
        lock.unlink()
        return descriptor

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", open_then_remove)
        with pytest.raises(JournalBusyError, match="removed"), locked(journal):
            pass
    with locked(journal):
        assert lock.exists()
