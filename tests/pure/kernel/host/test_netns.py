"""Paths that lead to a network namespace, and that do not."""

import os
from pathlib import Path

import pytest

from netclaim.kernel import is_live


def test_a_network_namespace_is_one() -> None:
    """The namespace of this process is found through its path."""
    assert is_live("/proc/self/ns/net")


@pytest.mark.parametrize("path", ["", "/nonexistent", "a\0b", "/proc/self/ns/mnt", "/dev/null"])
def test_other_paths_are_not(path: str) -> None:
    """No path, a namespace of another kind and another file are not network namespaces."""
    assert not is_live(path)


def test_what_is_left_of_one_is_not(tmp_path: Path) -> None:
    """Neither an empty file nor a pipe counts, and the pipe is not waited for."""
    (tmp_path / "leftover").touch()
    os.mkfifo(tmp_path / "pipe")
    assert not is_live(str(tmp_path / "leftover"))
    assert not is_live(str(tmp_path / "pipe"))
    assert not is_live(str(tmp_path))


def test_one_that_cannot_be_looked_at_may_be_alive(tmp_path: Path) -> None:
    """An error that says nothing about the namespace, as of too many files, is not its end."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)  # ELOOP, also for root
    assert is_live(loop)
