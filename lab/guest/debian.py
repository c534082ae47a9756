"""Debian packages by pinned version and hash, downloaded without installing anything.

Promise: what apt knows and has on this machine stays as it is; the suite need not be configured.
The bytes are those of the pin, or it is an error that says what to change.
Limit: a machine with Debian's own release of `base`, whose mirror is in apt's configuration.
"""

import hashlib
import lzma
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec
import yaml

from lab.errors import BootError, UsageError

__all__ = ["GuestPins", "PackagePin", "download", "files_of", "load_guest_pins"]

PINS = Path(__file__).parent / "pins.yaml"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
READ_BYTES = 1 << 20
ERROR_CHARS = 500  # the end of what apt says, which is where it says why


class PackagePin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One package, as it has to be."""

    version: str
    sha256: str


class GuestPins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of pins.yaml."""

    suite: str
    base: str
    kernel: str
    packages: dict[str, PackagePin]

    @property
    def key(self) -> str:
        """What decides all bytes, as a short hash."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:12]


def load_guest_pins() -> GuestPins:
    """Read pins.yaml."""
    return msgspec.convert(yaml.safe_load(PINS.read_text()), GuestPins)


def download(pins: GuestPins, directory: Path) -> Mapping[str, Path]:
    """Download every pinned package into a directory; returns the files by package."""
    if shutil.which("apt-get") is None:
        raise UsageError("a guest with cards is made of Debian packages; apt-get is not installed")
    state = directory / "apt"
    apt = _apt(state, pins)
    run_apt([*apt, "update"])
    wanted = [f"{name}={pin.version}" for name, pin in pins.packages.items()]
    try:
        run_apt([*apt, "download", *wanted], directory)
    except BootError as error:
        hint = f"  other versions in {pins.suite}? they are pinned in {PINS.name} beside {__name__}"
        raise BootError(str(error), hint) from error
    shutil.rmtree(state)
    return {name: _checked(directory, name, pin) for name, pin in pins.packages.items()}


def files_of(
    package: Path, wanted: Callable[[PurePosixPath], bool]
) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield the files of a package that are wanted, unpacked if they are packed each."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                content = tar.extractfile(member) if member.isfile() and wanted(path) else None
                if content is not None:
                    yield (path, _read(path, content))
    if process.returncode != 0:
        raise BootError(f"{package.name} cannot be unpacked")


def run_apt(command: Sequence[str], directory: Path | None = None) -> str:
    """Run a program of apt; returns what it prints."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip()[-ERROR_CHARS:]
        raise BootError(f"{command[0]} {command[-1]} failed:", f"  {said}")
    return done.stdout


def _read(path: PurePosixPath, content: IO[bytes]) -> bytes:
    with closing(content):
        data = content.read()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def _checked(directory: Path, name: str, pin: PackagePin) -> Path:
    (package,) = directory.glob(f"{name}_*.deb")
    with package.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != pin.sha256:
        raise BootError(f"{name} {pin.version} has the hash {found}, not the one in {PINS.name}")
    return package


def _apt(state: Path, pins: GuestPins) -> list[str]:
    """Return apt with a state of its own, which knows the base and the suite."""
    for each in ("sources", "lists/partial", "cache/archives/partial"):
        (state / each).mkdir(parents=True)
    source = (
        f"Types: deb\nURIs: {_mirror(pins.base)}\nSuites: {pins.base} {pins.suite}\n"
        f"Components: main\nSigned-By: {KEYS}\n"
    )
    (state / "sources" / "guest.sources").write_text(source)
    options = {
        "APT::Sandbox::User": "root",
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": f"{state}/sources",
        "Dir::State::Lists": f"{state}/lists",
        "Dir::Cache": f"{state}/cache",
    }
    return ["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items())]


def _mirror(base: str) -> str:
    """Return where this machine gets its release from."""
    targets = run_apt(["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)"])
    for line in targets.splitlines():
        release, _, uri = line.partition(" ")
        if release == base:
            return uri
    raise UsageError(f"a guest with cards needs Debian's {base}, which apt does not know here")
