"""Debian's stock kernel, with the modules that a guest loads: fetched once, into the cache.

Promise: nothing is installed on this machine; the package is unpacked beside the lab's other parts,
and only what is wanted of it. Needs apt and the package registry, but only the first time.
Limit: the version is the one that Debian has on that day; `release` says which.
"""

import hashlib
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lab.errors import BootError, UsageError
from lab.parts.build import only_one_builder, staged
from lab.parts.pins import cache_root
from lab.progress import Progress

__all__ = ["KERNEL", "RELEASE", "GuestKernel", "fetch_kernel", "load_order", "plain_name"]

PACKAGE = "linux-image-amd64"  # depends on the package of the kernel that is current
KERNEL = "vmlinuz"
RELEASE = "release"


@dataclass(frozen=True, slots=True)
class GuestKernel:
    """A kernel and modules, unpacked."""

    directory: Path
    modules: tuple[Path, ...]  # in the order in which they can be loaded

    @property
    def image(self) -> Path:
        """The kernel itself."""
        return self.directory / KERNEL

    @property
    def release(self) -> str:
        """Debian's name for this version."""
        return (self.directory / RELEASE).read_text().strip()


def fetch_kernel(modules: Sequence[str], progress: Progress) -> GuestKernel:
    """Return the kernel with these modules and those that they need, unpacked now if need be."""
    key = hashlib.sha256(" ".join([PACKAGE, *sorted(modules)]).encode()).hexdigest()[:12]
    target = cache_root().parent / f"qemu-{key}"
    if not target.is_dir():
        with only_one_builder():
            if not target.is_dir():
                _fetch(target, modules, progress)
    found = {path.stem: path for path in target.glob("*.ko")}
    return GuestKernel(target, tuple(found[name] for name in load_order(modules, found)))


def load_order(wanted: Sequence[str], found: dict[str, Path]) -> list[str]:
    """Name the modules that are wanted and those that they need, each after what it needs."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        for other in needed_by(found[name].read_bytes()):
            visit(other)
        order.append(name)

    for name in wanted:
        visit(name)
    return order


def needed_by(module: bytes) -> list[str]:
    """Read from a module the names of those that it needs."""
    match = re.search(rb"\0depends=([^\0]*)\0", module)
    listed = match[1].decode() if match else ""
    return [plain_name(name) for name in listed.split(",") if name]


def plain_name(name: str) -> str:
    """Return a module's name as the kernel writes it."""
    return name.replace("-", "_")  # a module's file may have either, and means the same


def _fetch(target: Path, modules: Sequence[str], progress: Progress) -> None:
    if shutil.which("apt-get") is None:
        raise UsageError("a guest's kernel is a Debian package, and apt-get is not installed")
    with progress.step(f"fetch Debian's kernel ({PACKAGE})"), staged(target) as directory:
        package = _current_package()
        _run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package], directory)
        (downloaded,) = directory.glob("*.deb")
        _unpack(downloaded, directory)
        downloaded.unlink()
        (directory / RELEASE).write_text(downloaded.stem + "\n")
        found = {path.stem: path for path in directory.glob("*.ko")}
        if lacking := [name for name in modules if name not in found]:
            raise BootError(f"{package} has no module {', '.join(lacking)}")
        needed = set(load_order(modules, found))
        for name in found.keys() - needed:
            found[name].unlink()


def _current_package() -> str:
    """Return the package of the kernel that PACKAGE stands for today."""
    pattern = re.compile(r"Depends: (linux-image-\S+)")
    command = ["apt-cache", "depends", PACKAGE]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    match = pattern.search(listed)
    if match is None:  # a machine that never asked what there is
        _run(["apt-get", "-q", "update"])
        match = pattern.search(_run(command))
    if match is None:
        raise UsageError(f"apt knows no package {PACKAGE}")
    return match[1]


def _unpack(package: Path, directory: Path) -> None:
    """Take the kernel and all modules out of a package; half a gigabyte would be the whole."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                content = tar.extractfile(member) if member.isfile() else None
                if content is None:
                    continue
                if path.name.startswith(KERNEL):
                    (directory / KERNEL).write_bytes(content.read())
                elif path.suffix == ".ko":
                    (directory / f"{plain_name(path.stem)}.ko").write_bytes(content.read())
    if process.returncode != 0 or not (directory / KERNEL).exists():
        raise BootError(f"{package.name} holds no kernel")


def _run(command: Sequence[str], directory: Path | None = None) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BootError(f"{' '.join(command[:2])} failed:", f"  {done.stderr.strip()[-500:]}")
    return done.stdout
