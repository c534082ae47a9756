"""Run all tests as two pytest processes: those that compute beside those that mostly wait.

The pure rung and the policy's fuzz keep one core busy; the others wait for a kernel or a cluster.
Beside each other they take as long as the longer one. What the computing ones say is shown whole,
after the others. Promise: fails if either process does; Ctrl-C ends both.
Arguments go to both, such as `--randomly-seed=1`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
# Both work in namespaces of their own, if in any, and have no clock but pytest's limit.
COMPUTING = ("tests/pure", "tests/embedded/test_policy_fuzz.py")
CACHE = ".pytest_cache/computing"  # for `--last-failed`; the other process has the usual one


def main(arguments: list[str]) -> int:
    """Run both; returns the first exit code that is not 0."""
    pytest = [sys.executable, "-m", "pytest", *arguments]
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
        sys.stdout.buffer.write(f"\nBeside that, {' and '.join(COMPUTING)}:\n".encode())
        sys.stdout.buffer.write(said.read())
    return code or beside.returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)  # as shells have it: 128 and SIGINT
