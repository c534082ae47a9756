"""The lab's parts as pinned in `parts/pins.yaml`: values, and where each lies in the cache.

The cache key of a part covers everything that decides its bytes: its pin, its go.mod, go.sum and
sources, and the compiler's version. Reads files only; building is `lab.parts.build`.
"""

import hashlib
import os
from pathlib import Path

import msgspec
import yaml

__all__ = ["PARTS_DIR", "CompiledPart", "FetchedPart", "Pins", "cache_root", "load_pins"]

PARTS_DIR = Path(__file__).parent
NEWEST = "kubernetes"
OLDER = "kubernetes-"  # how the parts begin that are older releases


class CompiledPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part that is compiled from the Go module registry (or from `parts/NAME`)."""

    module: str
    version: str
    binaries: tuple[str, ...]
    staging: str = ""
    link: dict[str, str] = {}
    rename: dict[str, str] = {}


class FetchedPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files of a module in the Go module registry, with the module's hash as go.sum has it."""

    module: str
    version: str
    sum: str
    files: tuple[str, ...]


class GoPin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The compiler."""

    version: str


class Pins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of pins.yaml."""

    go: GoPin
    compiled: dict[str, CompiledPart]
    on_demand: tuple[str, ...]
    debian: dict[str, str]
    fetched: dict[str, FetchedPart]

    @property
    def kubernetes(self) -> tuple[str, ...]:
        """The releases of Kubernetes, such as 1.32; the newest, which is the default, first."""
        newest = self.compiled[NEWEST].version.removeprefix("v").rpartition(".")[0]
        return (newest, *(n.removeprefix(OLDER) for n in self.compiled if n.startswith(OLDER)))

    def part_of(self, binary: str, kubernetes: str = "") -> str | None:
        """Return the name of the compiled part that holds `binary`, of that release of Kubernetes.

        What an older release is not pinned for comes from the newest.
        """
        older = f"{OLDER}{kubernetes}"
        if kubernetes and binary in self.compiled[older].binaries:
            return older
        holding = (name for name, part in self.compiled.items() if binary in part.binaries)
        return next((name for name in holding if not name.startswith(OLDER)), None)

    def key(self, name: str) -> str:
        """Return what decides the bytes of a part, as a short hash."""
        digest = hashlib.sha256()
        digest.update(msgspec.json.encode([name, self.compiled[name], self.go], order="sorted"))
        for source in sorted((PARTS_DIR / name).iterdir()):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
        return digest.hexdigest()[:12]  # 48 bits: a handful of pins never collide

    def part_dir(self, name: str) -> Path:
        """Return where the part's binaries lie once they are built."""
        part = self.compiled[name]
        return cache_root() / f"{name}-{part.version}-{self.key(name)}"

    def fetched_dir(self, name: str) -> Path:
        """Return where the files of a fetched part lie once they are there."""
        part = self.fetched[name]
        key = hashlib.sha256(msgspec.json.encode(part, order="sorted")).hexdigest()[:12]
        return cache_root() / f"{name}-{part.version}-{key}"


def load_pins() -> Pins:
    """Read pins.yaml."""
    return msgspec.convert(yaml.safe_load((PARTS_DIR / "pins.yaml").read_text()), Pins)


def cache_root() -> Path:
    """Return the directory of all built parts; shared by every checkout of this user."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "netclaim" / "lab"
