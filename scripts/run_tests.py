"""Run all tests as two pytest processes: those that compute beside those that mostly wait.

The pure and the reference rung and most of the embedded one keep one core busy; the others wait for
the lab that they share, or measure. Beside each other they take as long as the longer one, so what
has a lab of its own is where there is time. The output of the computing ones is shown after that of
the others, whole if something failed. Each process lists its slowest tests at the end.
Promise: fails if either process does; Ctrl-C ends both.
Arguments go to both, such as `--randomly-seed=1`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
# All of these work in namespaces or a lab of their own, if in any, and a busy machine only delays
# them. What measures traffic, memory or a stalled loop is not among them.
COMPUTING = (
    "tests/pure",
    "tests/reference",
    *(
        f"tests/embedded/{each}"
        for each in (
            *("chained", "commands", "framework", "keeper", "kernel", "local", "policy", "ui"),
            *("repository", "network/test_live_links.py"),
        )
    ),
    "tests/cluster/chart/test_chart_networks.py",
)
CACHE = ".pytest_cache/computing"  # for `--last-failed`; the other process has the usual one
SLOWEST = 20  # as many as fit a screen, so that the summary of failures below stays in sight


def main(arguments: list[str]) -> int:
    """Run both; returns the first exit code that is not 0."""
    pytest = [sys.executable, "-m", "pytest", f"--durations={SLOWEST}", *arguments]
    computing = [*pytest, "-o", f"cache_dir={CACHE}", *COMPUTING]
    others = [*pytest, *(f"--ignore={path}" for path in COMPUTING)]
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(computing, cwd=CHECKOUT, stdout=said, stderr=said) as beside:
            try:
                code = subprocess.run(others, cwd=CHECKOUT, check=False).returncode
                beside.wait()
            except BaseException:
                beside.terminate()
                raise
        said.seek(0)
        output = said.read()
    # A failure is looked for at the end of the output: a rung that passed must not push it away.
    shown = output if beside.returncode else closing(output)
    sys.stdout.buffer.write(b"\nBeside that, those that compute:\n" + shown)
    return code or beside.returncode


def closing(output: bytes) -> bytes:
    """The slowest tests and the last line, without the dots and the reasons of skips."""
    _, title, rest = output.rstrip().rpartition(b" slowest ")
    listed = title.lstrip() + rest.partition(b"\n=")[0] + b"\n" if title else b""
    return listed + output.rstrip().rpartition(b"\n")[2] + b"\n"


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)  # as shells have it: 128 and SIGINT
