"""Name a wheel after the kind of machine it is for: it contains a compiled program.

hatchling calls this while it builds a wheel; an editable install contains nothing, and may be made
before the program is compiled.
"""

import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "src/netclaim/chained/netclaim-attach"


class WheelHook(BuildHookInterface[Any]):
    """Refuses to build without the program, and sets the tag."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before anything is built; `version` is "standard" or "editable"."""
        if version == "editable":
            return
        if not (Path(self.root) / PROGRAM).is_file():
            raise FileNotFoundError(f"{PROGRAM} is missing; run `make native` first")
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
