"""Helm, and netclaim's chart, on a lab: the real program with the admin's rights."""

import subprocess
from collections.abc import Sequence

from lab import CHECKOUT
from lab.cluster import Lab
from lab.errors import LabError
from lab.images.driver_image import build_driver_image

__all__ = ["CHART", "CHART_NAMESPACE", "Helm", "HelmError", "load_driver_image"]

CHART = CHECKOUT / "charts" / "netclaim"
CHART_NAMESPACE = "netclaim-system"
RELEASE = "netclaim"
WAIT_S = 300  # until a driver is Ready on every node, or was replaced there; a busy machine is slow


class HelmError(LabError):
    """Helm ended with an error; the text is its own."""


class Helm:
    """Runs helm against a lab."""

    def __init__(self, lab: Lab) -> None:
        self._program = lab.binaries.path("helm")
        self._start = [f"--kubeconfig={lab.state.kubeconfig}", f"--namespace={CHART_NAMESPACE}"]

    def __call__(self, *arguments: str) -> str:
        """Return standard output; raises with standard error."""
        done = subprocess.run(
            [str(self._program), *arguments, *self._start],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise HelmError(f"helm {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def install(self, *options: str) -> str:
        """Install the checkout's chart, and wait until the driver is Ready on every node."""
        return self("install", RELEASE, str(CHART), "--create-namespace", *self._waiting, *options)

    def upgrade(self, *options: str) -> str:
        """Change the release, and wait until every node has it."""
        return self("upgrade", RELEASE, str(CHART), *self._waiting, *options)

    def rollback(self, revision: int) -> str:
        """Go back to an earlier revision, and wait until every node has it."""
        return self("rollback", RELEASE, str(revision), *self._waiting)

    def uninstall(self) -> str:
        """Remove the release; pods end when they are done."""
        return self("uninstall", RELEASE)

    def test(self) -> str:
        """Run the chart's own test; raises if it fails."""
        return self("test", RELEASE, f"--timeout={WAIT_S}s")

    @property
    def _waiting(self) -> Sequence[str]:
        return ("--wait", f"--timeout={WAIT_S}s")


def load_driver_image(lab: Lab) -> None:
    """Build netclaim's image and load it on every node."""
    image = build_driver_image(lab.progress)
    with image.path.open("rb") as content:
        lab.load_image(content, lab.require_up().nodes)
