"""A driver that is given up leaves a node on which every pod starts."""

import asyncio
import json
from pathlib import Path

import pytest

from netclaim.chained import Installer, program_path
from netclaim.cli import main
from netclaim.framework import Settings
from netclaim.framework.journal.journal import open_journal
from netclaim.framework.process.node_places import NodePlaces
from netclaim.network.settings import LinkSettings

pytestmark = pytest.mark.embedded

NAME = LinkSettings(state_dir=Path()).name
LIST = {"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "ptp"}]}


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


def leases_in(settings: Settings) -> Path:
    """Where address leases are kept."""
    return settings.state_dir.with_name("leases")


async def make_journal(settings: Settings) -> None:
    """A journal that lists nothing."""
    async with open_journal(settings.state_dir / NAME / "journal.db", "boot"):
        pass


def install(settings: Settings) -> Path:
    """What a driver leaves when it ends; the runtime's list."""
    settings.cni_conf_dir.mkdir()
    conflist = settings.cni_conf_dir / "10-pods.conflist"
    conflist.write_text(json.dumps(LIST))
    places = NodePlaces.of(settings, NAME)
    entry = places.entry(NAME)
    Installer(
        settings.cni_conf_dir, settings.cni_program_dir, entry, program=program_path()
    ).install()
    for path in (places.program, places.plans / "pods" / "u1"):
        path.parent.mkdir(parents=True)
        path.touch()
    return conflist


def uninstall(settings: Settings, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """Run the command; its exit code and what it prints."""
    options = ("run_dir", "state_dir", "kubelet_dir", "cni_conf_dir", "cni_program_dir", "cdi_dir")
    words = [f"--{each.replace('_', '-')}={getattr(settings, each)}" for each in options]
    words.append(f"--lease-dir={leases_in(settings)}")
    with pytest.raises(SystemExit) as ended:
        main(["driver", "uninstall", *words])
    said = capsys.readouterr()
    return int(ended.value.code or 0), (said.out + said.err).splitlines()


def test_everything_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The entry, both programs and the files go, a line each; again, there is nothing."""
    settings = settings_in(tmp_path)
    conflist = install(settings)
    code, lines = uninstall(settings, capsys)
    assert (code, len(lines)) == (0, 4)
    assert json.loads(conflist.read_text()) == LIST
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == [conflist]
    assert uninstall(settings, capsys) == (0, ["nothing to remove"])


def test_what_containers_restart_with_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """While pods hold claims, the program that their CDI files name is kept, and said to be."""
    settings = settings_in(tmp_path)
    install(settings)
    settings.cdi_dir.mkdir()
    (settings.cdi_dir / f"{NAME}_u1.json").touch()
    (settings.cdi_dir / "another_u2.json").touch()
    code, lines = uninstall(settings, capsys)
    program = NodePlaces.of(settings, NAME).program
    assert (code, len(lines), program.exists()) == (0, 4, True)
    assert lines[-1] == f"kept {program.parent}: pods still use 1 claim and need it to restart"


def test_the_journal_goes_when_nothing_is_attached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty journal is removed, and with it what host-local keeps beside its leases."""
    settings = settings_in(tmp_path)
    install(settings)
    (settings.state_dir / NAME).mkdir(parents=True)
    asyncio.run(make_journal(settings))
    network = leases_in(settings) / NAME / "class" / "leases" / "net"
    network.mkdir(parents=True)
    (network / "lock").touch()
    (network / "last_reserved_ip.0").write_text("10.0.0.1")
    code, lines = uninstall(settings, capsys)
    assert (code, lines[-2:]) == (
        0,
        [f"removed {settings.state_dir / NAME}", f"removed {leases_in(settings) / NAME}"],
    )
    assert not (settings.state_dir / NAME).exists()


def test_a_lease_keeps_its_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An address that somebody may still have is not given away."""
    settings = settings_in(tmp_path)
    install(settings)
    lease = leases_in(settings) / NAME / "class" / "leases" / "net" / "10.0.0.1"
    lease.parent.mkdir(parents=True)
    lease.touch()
    code, lines = uninstall(settings, capsys)
    assert (code, lease.exists()) == (0, True)
    assert lines[-1] == f"kept {leases_in(settings) / NAME}: {lease} is still there"


async def test_running_driver_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A driver that runs would put it all back."""
    settings = settings_in(tmp_path)
    conflist = install(settings)
    before = conflist.read_text()
    (settings.state_dir / NAME).mkdir(parents=True)
    async with open_journal(settings.state_dir / NAME / "journal.db", "boot"):
        code, lines = uninstall(settings, capsys)
    assert (code, conflist.read_text()) == (2, before)
    assert "is running on this node; stop it first" in lines[-1]
