"""What a guest runs: every case for the kinds of link that most kernels of tests lack.

Prints one JSON object a line: the case's name, and where two ways differ or what went wrong.
`python -m tests.reference.site.qemu_guest DIRECTORY-OF-CNI-PLUGINS`
"""

import sys
import tempfile
from functools import partial
from pathlib import Path

import structlog

from tests.reference.site import limit_cases
from tests.reference.site.chain_site import compare
from tests.reference.site.guest_report import tell
from tests.reference.site.qemu_cases import CASES


def main(cni_plugins: Path) -> None:
    """Do each case, and tell at once."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    for case in CASES:
        with tempfile.TemporaryDirectory() as directory:
            tell(case.name, partial(compare, case, cni_plugins, Path(directory)))
    for name in limit_cases.CASES:
        tell(name, partial(limit_cases.find_faults, name))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
