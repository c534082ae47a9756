"""Run all tests as two pytest processes: those that compute beside those that mostly wait.

The pure and the reference rung and the policy's fuzz keep one core busy; the others wait for a
cluster, whole or embedded. Beside each other they take as long as the longer one. What the
computing ones say is shown after the others, whole if something failed.
Promise: fails if either process does; Ctrl-C ends both.
Arguments go to both, such as `--randomly-seed=1`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
# Both work in namespaces of their own, if in any, and have no clock but pytest's limit.
COMPUTING = ("tests/pure", "tests/reference", "tests/embedded/test_policy_fuzz.py")
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
        output = said.read()
    # Whoever reads a failure looks at the end: a rung that passed is not to push it away.
    shown = output if beside.returncode else output.rstrip().rpartition(b"\n")[2] + b"\n"
    sys.stdout.buffer.write(f"\nBeside that, {', '.join(COMPUTING)}:\n".encode() + shown)
    return code or beside.returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)  # as shells have it: 128 and SIGINT
