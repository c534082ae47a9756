"""Whether a pod's namespace still lives is asked of the kernel, not of the directory."""

import subprocess
from pathlib import Path

import pytest

from netclaim.framework.parts import is_there
from tests.embedded.kernel_support import fresh_netns

pytestmark = pytest.mark.embedded


def test_a_bind_mount_of_a_namespace_is_there_until_it_is_unmounted(tmp_path: Path) -> None:
    """The file on which a namespace was mounted stays when it is unmounted, and is none."""
    mounted = tmp_path / "pod"
    assert not is_there(str(mounted))
    mounted.touch()
    assert not is_there(str(mounted))
    with fresh_netns() as netns:
        assert is_there(netns.path)
        subprocess.run(["mount", "--bind", netns.path, str(mounted)], check=True)
        try:
            assert is_there(str(mounted))
        finally:
            subprocess.run(["umount", str(mounted)], check=True)
    assert mounted.exists()
    assert not is_there(str(mounted))
    assert not is_there(netns.path)


def test_a_bind_mount_keeps_the_namespace(tmp_path: Path) -> None:
    """A namespace whose first path is gone is there at its second."""
    mounted = tmp_path / "pod"
    mounted.touch()
    with fresh_netns() as netns:
        subprocess.run(["mount", "--bind", netns.path, str(mounted)], check=True)
    try:
        assert is_there(str(mounted))
        assert not is_there(netns.path)
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def test_another_kind_of_namespace_is_none() -> None:
    """A mount namespace is a namespace, but not a network."""
    assert is_there("/proc/self/ns/net")
    assert not is_there("/proc/self/ns/mnt")


def test_what_cannot_be_looked_at_counts_as_there(tmp_path: Path) -> None:
    """A path that the kernel refuses to open is no proof that a pod has ended."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)  # ELOOP, also for root
    assert is_there(str(loop))
