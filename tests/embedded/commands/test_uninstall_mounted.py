"""A driver that is uninstalled in its container, where its directories are mounts of the node's."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.embedded

CONTAINER = """
import asyncio, sys
from pathlib import Path
from netclaim.cli.uninstalling import leave
from netclaim.framework import Settings

root = Path(sys.argv[1])
settings = Settings(
    node_name="n", run_dir=root / "run", state_dir=root / "state", kubelet_dir=root / "kubelet",
    cni_conf_dir=root / "net.d", cni_program_dir=root / "bin", cdi_dir=root / "cdi",
)
print(*asyncio.run(leave(settings, "driver.example", root / "leases")), sep="\\n")
"""
MOUNTED = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'


def test_a_directory_that_is_mounted_is_emptied(tmp_path: Path) -> None:
    """Kubelet mounts the driver's directory of plugins, so only its contents can be removed."""
    own, inside = tmp_path / "host", tmp_path / "kubelet" / "plugins" / "driver.example"
    (own / "metadata").mkdir(parents=True)
    (own / "netclaim-attach").touch()
    inside.mkdir(parents=True)
    mounted = ["unshare", "--mount", "sh", "-c", MOUNTED, "sh", str(own), str(inside)]
    for said in ([f"emptied {inside}, which is mounted here"], []):
        done = subprocess.run(
            [*mounted, sys.executable, "-c", CONTAINER, str(tmp_path)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stderr == ""
        assert [line for line in done.stdout.splitlines() if str(inside) in line] == said
        assert list(own.iterdir()) == []
