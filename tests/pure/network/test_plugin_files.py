"""Where plugins keep files for claims."""

from pathlib import Path

from netclaim.network.plugin_files import LOOKED_AT, UNUSED_MAX, PluginFiles


def test_namespaces_and_classes_have_directories_of_their_own(tmp_path: Path) -> None:
    """A claim's network is kept by namespace, a class's apart from all of them."""
    files = PluginFiles(tmp_path)
    assert files.directory("a", trusted=False) == f"{tmp_path}/namespace/a"
    assert files.directory("b", trusted=False) == f"{tmp_path}/namespace/b"
    assert files.directory("a", trusted=True) == f"{tmp_path}/class"


def test_networks_that_nobody_uses_are_forgotten(tmp_path: Path) -> None:
    """Of many networks those with leases stay, and the one that is about to be used."""
    files = PluginFiles(tmp_path)
    leases = tmp_path / "namespace/a/leases"
    other = tmp_path / "namespace/b/leases/net-1"
    other.mkdir(parents=True)
    for number in range(UNUSED_MAX + 1):
        (leases / f"net-{number}").mkdir(parents=True)
        (leases / f"net-{number}" / "lock").touch()
    (leases / "net-3" / "10.0.0.2").write_text("sandbox\r\nnet1")
    (leases / "net-4" / "fd00::2").write_text("sandbox\r\nnet1")
    assert files.are_many("a")
    files.tidy("a", {"net-5"})
    assert sorted(path.name for path in leases.iterdir()) == ["net-3", "net-4", "net-5"]
    assert other.is_dir()


def test_few_networks_stay(tmp_path: Path) -> None:
    """Where a round of addresses is, is remembered as long as it costs nothing."""
    files = PluginFiles(tmp_path)
    assert not files.are_many("a")
    (tmp_path / "namespace/a/leases/net-1").mkdir(parents=True)
    assert not files.are_many("a")
    files.tidy("a", {"net-2"})
    assert (tmp_path / "namespace/a/leases/net-1").is_dir()


def test_nobody_else_reads_them(tmp_path: Path) -> None:
    """The directory of all networks is made for the driver alone, and stays as it is."""
    root = tmp_path / "some" / "root"
    files = PluginFiles(root)
    files.make_root()
    files.make_root()
    assert root.stat().st_mode & 0o777 == 0o700


def test_networks_are_looked_at_in_turn(tmp_path: Path) -> None:
    """Unused networks behind many that are in use are forgotten by one of the next calls."""
    files = PluginFiles(tmp_path)
    leases = tmp_path / "namespace/a/leases"
    for number in range(3 * LOOKED_AT):
        (leases / f"a-{number}").mkdir(parents=True)
        (leases / f"a-{number}" / "10.0.0.2").write_text("sandbox\r\nnet1")
    (leases / "b").mkdir()
    calls = 0
    while (leases / "b").exists():
        files.tidy("a", ())
        calls += 1
    assert calls == 4
    (leases / "a-0" / "10.0.0.2").unlink()
    for _ in range(4):
        files.tidy("a", ())
    assert not (leases / "a-0").exists()
