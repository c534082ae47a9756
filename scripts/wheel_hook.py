"""Compile the programs that a wheel contains, and name the wheel after the machines it is for.

hatchling calls this while it builds a wheel, in a checkout or in an unpacked source distribution;
an editable install contains nothing, and may be made where there is no compiler.
"""

import platform
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAMS = ("src/netclaim/chained/netclaim-attach", "src/netclaim/keeper/netclaim-keeper")


class WheelHook(BuildHookInterface[Any]):
    """Refuses to build without the programs, and sets the tag."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before anything is built; `version` is "standard" or "editable"."""
        if version == "editable":
            return
        make = ["make", "--silent", "--no-print-directory", "native"]
        done = subprocess.run(make, cwd=self.root, capture_output=True, text=True, check=False)
        missing = [program for program in PROGRAMS if not (Path(self.root) / program).is_file()]
        if done.returncode or missing:
            raise RuntimeError(
                f"{' and '.join(missing or PROGRAMS)} cannot be compiled, which needs make, gcc and"
                f" a static C library (Debian: make gcc libc6-dev): {done.stderr.strip()}"
            )
        build_data["pure_python"] = False
        # The programs are static, so any C library will do: the oldest that pip still asks for.
        build_data["tag"] = f"py3-none-manylinux_2_17_{platform.machine()}"
