"""What the documentation shows is what the commands print."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent.parent


def test_shown_outputs_are_current() -> None:
    """Every output in the README is what its command prints now."""
    script = CHECKOUT / "scripts" / "readme_output.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_there_are_outputs() -> None:
    """The README shows outputs, so that the check above checks something."""
    assert (CHECKOUT / "README.md").read_text().count("<!-- output of: ") >= 2
