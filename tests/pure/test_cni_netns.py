"""Paths that lead to a network namespace, and that do not."""

import os
from pathlib import Path

import pytest

from netclaim.cni import netns_alive


def test_a_network_namespace_is_one() -> None:
    """The namespace of this process is found through its path."""
    assert netns_alive("/proc/self/ns/net")


@pytest.mark.parametrize("path", ["", "/nonexistent", "a\0b", "/proc/self/ns/mnt", "/dev/null"])
def test_other_paths_are_not(path: str) -> None:
    """No path, a namespace of another kind and another file are not network namespaces."""
    assert not netns_alive(path)


def test_what_is_left_of_one_is_not(tmp_path: Path) -> None:
    """Neither an empty file nor a pipe counts, and the pipe is not waited for."""
    (tmp_path / "leftover").touch()
    os.mkfifo(tmp_path / "pipe")
    assert not netns_alive(str(tmp_path / "leftover"))
    assert not netns_alive(str(tmp_path / "pipe"))
    assert not netns_alive(str(tmp_path))
