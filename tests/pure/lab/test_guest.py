"""What a guest starts from: an archive that the kernel can unpack, modules in a loadable order."""

import subprocess
from pathlib import Path

from lab.guest.initramfs import archive
from lab.guest.kernel import load_order, needed_by
from tests.reference.site.qemu_cases import CASES


def module(*needs: str) -> bytes:
    """Write as much of a module as is read: what it needs."""
    return b"\x7fELF\0license=GPL\0depends=" + ",".join(needs).encode() + b"\0retpoline=Y\0"


def test_an_archive_holds_what_was_put_in(tmp_path: Path) -> None:
    """Another program unpacks the files, the directories they lie in, and empty ones."""
    files = {"init": b"#!/bin/sh\n", "modules/a.ko": b"abc", "deep/er/file": bytes(1000)}
    packed = archive(files, ("proc",))
    command = ["busybox", "cpio", "-idm"]
    subprocess.run(command, input=packed, cwd=tmp_path, check=True, capture_output=True)
    found = {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*")}
    assert found == {*files, "modules", "deep", "deep/er", "proc"}
    assert {name: (tmp_path / name).read_bytes() for name in files} == files
    assert (tmp_path / "init").stat().st_mode == 0o100755


def test_the_same_files_give_the_same_archive() -> None:
    """The order in which files are given does not matter."""
    assert archive({"a": b"1", "b/c": b"2"}) == archive({"b/c": b"2", "a": b"1"})


def test_what_a_module_needs_is_read_from_it() -> None:
    """A module names what it needs; a hyphen in a name means an underscore."""
    assert needed_by(module("virtio-ring", "virtio")) == ["virtio_ring", "virtio"]
    assert needed_by(module()) == []
    assert needed_by(b"\x7fELF") == []


def test_modules_come_after_what_they_need(tmp_path: Path) -> None:
    """Each module stands once, after all that it needs, and nothing stands there unneeded."""
    needs = {"a": ("b", "c"), "b": ("c",), "c": (), "d": ("c",), "unneeded": ()}
    for name, of_it in needs.items():
        (tmp_path / f"{name}.ko").write_bytes(module(*of_it))
    found = {path.stem: path for path in tmp_path.glob("*.ko")}
    assert load_order(["a", "d"], found) == ["c", "b", "a", "d"]


def test_every_case_of_a_guest_has_a_name_of_its_own() -> None:
    """A guest tells of a case by its name alone."""
    assert len({case.name for case in CASES}) == len(CASES)
