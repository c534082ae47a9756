"""Netclaim's own image, built from the checkout without a container engine.

Holds the files that the Dockerfile's image holds, since scripts/image_tree.py lays out both, and
runs as that file's last stage says. What it is made of decides its place in the cache: after a
change to netclaim, only netclaim's own small layer is made again. The first build needs Debian's
archive and the package registry. Two builders at once take turns.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import netclaim
from lab import CHECKOUT
from lab.errors import BootError
from lab.images.dockerfile import DOCKERFILE, read_settings
from lab.images.oci import Image, Layer, Tree, layers_of, pack, write_images
from lab.parts.build import only_one_builder, staged
from lab.parts.pins import cache_root
from lab.progress import Progress

__all__ = ["DRIVER_IMAGE", "LOCK", "DriverImage", "build_driver_image", "build_wheel"]

DRIVER_IMAGE = f"netclaim.dev/netclaim:{netclaim.__version__}"
SCRIPT = CHECKOUT / "scripts" / "image_tree.py"
LOCK = CHECKOUT / "requirements-runtime.lock"
COMPRESSION = 6  # of gzip: the image may be published; 9 takes far longer for 1 % less
KEPT = 6  # of each kind in the cache: those of a few checkouts side by side
ERROR_LINES = 15  # of a failed program's output


@dataclass(frozen=True, slots=True)
class DriverImage:
    """A built image: where it is, and how many bytes its layers have."""

    path: Path
    packed: int
    unpacked: int

    @classmethod
    def read(cls, path: Path) -> "DriverImage":
        """Look into an image's tar."""
        layers = layers_of(path)
        # RFC 1952: the last four bytes of gzip's output are the size of its input.
        unpacked = [int.from_bytes(layer[-4:], "little") for layer in layers]
        return cls(path, sum(map(len, layers)), sum(unpacked))


def build_driver_image(progress: Progress, *, fresh: bool = False) -> DriverImage:
    """Build the image, or find it in the cache; `fresh` asks Debian for newer packages."""
    with only_one_builder("image-"), tempfile.TemporaryDirectory() as work:
        system = cache_root() / f"image-system-{_key(SCRIPT)}"
        packages = cache_root() / f"image-packages-{_key(SCRIPT, LOCK)}"
        if fresh:
            shutil.rmtree(system, ignore_errors=True)
        _make(system, progress, "Debian packages", "system")
        tree = ("--system", f"{system}/tree")
        _make(packages, progress, "Python packages", "packages", *tree, "--lock", str(LOCK))
        wheel = build_wheel(Path(work))
        made_of = [SCRIPT, system / "layer.json", packages / "layer.json", wheel, DOCKERFILE]
        target = cache_root() / f"image-{_key(*made_of)}.tar"
        if target.exists():
            target.touch()  # in use
        else:
            own = Path(work) / "netclaim"
            _make(own, progress, "netclaim", "netclaim", *tree, "--wheel", str(wheel))
            _assemble([system, packages, own], target)
        _forget_older()
        return DriverImage.read(target)


def build_wheel(target: Path) -> Path:
    """Build netclaim's wheel into a directory, with the compiled program in it."""
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target))
    return next(target.glob("netclaim-*.whl"))


def _key(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:12]  # 48 bits: a handful of images never collide


def _make(target: Path, progress: Progress, title: str, *arguments: str) -> None:
    """Have a layer in a directory: its files, and the same packed."""
    if target.is_dir():
        os.utime(target)  # in use
        return
    with progress.step(f"image: {title}"), staged(target) as staging:
        layer, *options = arguments
        _run(sys.executable, str(SCRIPT), layer, str(staging / "tree"), *options)
        tree = Tree()
        tree.add_directory(staging / "tree", "")
        packed = pack(tree, COMPRESSION)
        (staging / "layer.tar.gz").write_bytes(packed.packed)
        (staging / "layer.json").write_text(json.dumps(packed.unpacked_digest))


def _assemble(layers: Sequence[Path], target: Path) -> None:
    settings = read_settings(netclaim.__version__)
    image = Image(
        DRIVER_IMAGE,
        [_read_layer(each) for each in layers],
        entrypoint=settings.entrypoint,
        environment=settings.environment,
        labels=settings.labels,
        user=settings.user,
    )
    unfinished = target.with_suffix(".new")
    write_images([image], unfinished)
    unfinished.rename(target)


def _read_layer(made: Path) -> Layer:
    digest = json.loads((made / "layer.json").read_text())
    return Layer((made / "layer.tar.gz").read_bytes(), digest)


def _forget_older() -> None:
    for kind in ("image-*.tar", "image-system-*", "image-packages-*"):
        made = sorted(cache_root().glob(kind), key=lambda path: path.stat().st_mtime)
        for path in made[:-KEPT]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-ERROR_LINES:]
        raise BootError("the image cannot be built:", "\n".join(f"  {line}" for line in said))
