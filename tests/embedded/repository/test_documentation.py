"""What the documentation shows is what the commands print."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from scripts import recording, shown_output

CHECKOUT: Final = Path(__file__).parents[3]
PAGES: Final = [page for page in shown_output.DOCUMENTS if "<!-- output of: " in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_shown_outputs_are_current(page: Path) -> None:
    """Every output that a page shows is what its command prints now."""
    script = CHECKOUT / "scripts" / "shown_output.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check", str(page)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_recording_is_current() -> None:
    """The recording on the first page shows what its commands print now."""
    recorded = recording.picture(recording.record())
    assert recording.texts(recorded) == recording.texts(recording.PICTURE.read_text())
    assert "1 pod ready, with 1 claimed interface" in recording.texts(recorded)


def test_there_are_outputs() -> None:
    """The README and several pages show outputs, so that the check above checks something."""
    assert CHECKOUT / "README.md" in PAGES
    assert len(PAGES) > 5


def test_the_vlan_runs_as_far_as_the_kernel_goes(tmp_path: Path) -> None:
    """The page's file runs, or the kernel's lack of VLANs is all that stops it."""
    files = shown_output.titled((CHECKOUT / "docs" / "howto-vlan.md").read_text())
    (tmp_path / "vlan.yaml").write_text(files["vlan.yaml"])
    done = subprocess.run(
        [sys.executable, "-m", "netclaim", "try", "-f", "vlan.yaml", "-o", "json"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    (pod,) = json.loads(done.stdout)["pods"]
    if pod["ready"]:
        assert [each["name"] for each in pod["interfaces"]] == ["vlan100"]
    else:
        assert pod["stage"] == "attach"
        assert re.search(r"this kernel has no vlan links \(module 8021q\)", pod["reason"])
