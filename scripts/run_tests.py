"""Run all rungs of tests as two pytest processes: the pure rung beside the others.

The pure rung keeps one core busy, the others mostly wait for a kernel or a cluster: beside each
other they take as long as the longer one. What the pure rung says is shown whole, after the others.
Promise: fails if either does; Ctrl-C, and the end of either by a signal, ends both.
Arguments go to both, such as `--randomly-seed=1`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
BESIDE = "pure"
# Each keeps what failed last for `pytest --last-failed` in a place of its own.
PYTEST = (sys.executable, "-m", "pytest")


def main(arguments: list[str]) -> int:
    """Run both; returns the first exit code that is not 0."""
    rungs = sorted(path.name for path in TESTS.iterdir() if (path / "__init__.py").exists())
    others = [str(TESTS / rung) for rung in rungs if rung != BESIDE]
    beside = [str(TESTS / BESIDE), "-o", f"cache_dir=.pytest_cache/{BESIDE}"]
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen([*PYTEST, *beside, *arguments], stdout=said, stderr=said) as pure:
            try:
                code = subprocess.run([*PYTEST, *others, *arguments], check=False).returncode
                print(f"The {BESIDE} rung, which ran beside the others:", flush=True)
                pure.wait()
            except BaseException:
                pure.terminate()
                raise
        said.seek(0)
        sys.stdout.buffer.write(said.read())
    return code or pure.returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)  # as shells have it: 128 and SIGINT
