"""Whether a pod's namespace still lives is asked of the kernel, not of the directory."""

import subprocess
from pathlib import Path

import pytest

from netclaim.framework.attach.sandbox import has_netns
from netclaim.model import PodSandbox
from tests.support.kernel_support import fresh_netns

pytestmark = pytest.mark.embedded


def test_a_bind_mount_of_a_namespace_is_there_until_it_is_unmounted(tmp_path: Path) -> None:
    """The file on which a namespace was mounted stays when it is unmounted, and is none."""
    mounted = tmp_path / "pod"
    assert not _lives(mounted)
    mounted.touch()
    assert not _lives(mounted)
    with fresh_netns() as netns:
        assert _lives(netns.path)
        subprocess.run(["mount", "--bind", netns.path, str(mounted)], check=True)
        try:
            assert _lives(mounted)
        finally:
            subprocess.run(["umount", str(mounted)], check=True)
    assert mounted.exists()
    assert not _lives(mounted)
    assert not _lives(netns.path)


def test_a_bind_mount_keeps_the_namespace(tmp_path: Path) -> None:
    """A namespace whose first path is gone is there at its second."""
    mounted = tmp_path / "pod"
    mounted.touch()
    with fresh_netns() as netns:
        subprocess.run(["mount", "--bind", netns.path, str(mounted)], check=True)
    try:
        assert _lives(mounted)
        assert not _lives(netns.path)
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def test_another_kind_of_namespace_is_none() -> None:
    """A mount namespace is a namespace, but not a network."""
    assert _lives("/proc/self/ns/net")
    assert not _lives("/proc/self/ns/mnt")


def test_what_cannot_be_looked_at_counts_as_there(tmp_path: Path) -> None:
    """A path that the kernel refuses to open is no proof that a pod has ended."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)  # ELOOP, also for root
    assert _lives(loop)


def test_a_sandbox_without_a_namespace_has_none() -> None:
    """A pod on the node's own network has no namespace that could be alive."""
    assert not has_netns(PodSandbox("sandbox-1", "pod-1", "default", "pod-1"))


def _lives(path: str | Path) -> bool:
    return has_netns(PodSandbox("sandbox-1", "pod-1", "default", "pod-1", netns=str(path)))
