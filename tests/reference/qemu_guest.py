"""What a guest runs: every case for the kinds of link that most kernels of tests lack.

Prints one JSON object a line: the case's name and where the two ways differ, or what went wrong.
`python -m tests.reference.qemu_guest DIRECTORY-OF-CNI-PLUGINS`
"""

import json
import sys
import tempfile
import traceback
from pathlib import Path

import structlog

from tests.reference.chain_site import compare
from tests.reference.qemu_cases import CASES


def main(cni_plugins: Path) -> None:
    """Do each case, and tell at once."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    for case in CASES:
        with tempfile.TemporaryDirectory() as directory:
            try:
                found = compare(case, cni_plugins, Path(directory))
            except Exception:  # noqa: BLE001 -- whatever it is, the case has failed
                found = [traceback.format_exc()]
        print(json.dumps({"case": case.name, "differences": found}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
