"""Make the files of a release from a tag: wheel, source distribution, image, chart, checksums.

    python -m scripts.release [--output dist] [--fresh] [--untagged]

Promise: the files come from the commit alone, so the same commit on the same kind of machine gives
the same bytes, as long as Debian's packages in the image are the same; `bom.json` lists these. A
checkout that differs from its commit, or a commit without the version's tag, is refused. What stood
in the way is said before anything is written.
Limit: publishes nothing; docs/releasing.md says how.
"""

import argparse
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lab import CHECKOUT
from lab.errors import LabError
from lab.images.driver_image import build_driver_image
from lab.images.oci import ARCHITECTURES, Tree
from lab.progress import Progress
from netclaim import __version__
from scripts.bill_of_materials import bill_of_materials
from scripts.changelog import released

CHART: Final = "charts/netclaim"
IGNORED: Final = ".helmignore"  # ours has names only, no patterns that a git tree has files for
CHECKSUMS: Final = "SHA256SUMS"
NOTES: Final = "notes.md"


def main() -> int:
    """Make the files, and list them with their sizes."""
    parser = argparse.ArgumentParser(description="Make the files of a release from a tag.")
    parser.add_argument("--output", type=Path, default=Path("dist"), help="where they go")
    parser.add_argument("--fresh", action="store_true", help="fetch the image's Debian packages")
    parser.add_argument("--untagged", action="store_true", help="do not ask for a tag, for trying")
    options = parser.parse_args()
    try:
        refuse(CHECKOUT, __version__, tagged=not options.untagged)
        notes = "" if options.untagged else released(_text("CHANGELOG.md"), __version__)
        made = make(options.output, notes, fresh=options.fresh)
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    for path in made:
        print(f"{path}  {path.stat().st_size / 1000:,.0f} kB")
    return 0


def refuse(checkout: Path, version: str, *, tagged: bool) -> None:
    """End the program if a release cannot be made of this checkout."""
    changed = _git(checkout, "status", "--porcelain")
    if changed:
        first = changed.splitlines()[0][3:]
        raise SystemExit(f"release: the checkout differs from its commit ({first}); commit it")
    tags = _git(checkout, "tag", "--points-at", "HEAD").split()
    if tagged and f"v{version}" not in tags:
        raise SystemExit(
            f"release: the commit does not have the tag v{version}: check out the tag, or try it"
            " with --untagged"
        )


def make(output: Path, notes: str, *, fresh: bool) -> list[Path]:
    """Write the files into a directory; those of other versions stay."""
    output.mkdir(parents=True, exist_ok=True)
    since = _git(CHECKOUT, "log", "-1", "--format=%ct")
    built = {**os.environ, "SOURCE_DATE_EPOCH": since}
    said = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(output.resolve())],
        cwd=CHECKOUT, env=built, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if said.returncode:
        raise SystemExit(f"release: the wheel cannot be built: {said.stderr.strip()}")
    image = build_driver_image(Progress(), fresh=fresh)
    machine = ARCHITECTURES[os.uname().machine]
    archive = output / f"netclaim-{__version__}-image-{machine}.tar"
    shutil.copyfile(image.path, archive)
    bom = output / f"netclaim-{__version__}-image-{machine}.bom.json"
    bom.write_bytes(bill_of_materials(archive, int(since)))
    chart = output / f"netclaim-chart-{__version__}.tgz"
    chart.write_bytes(pack_chart(files_of(CHART)))
    made = [*output.glob(f"netclaim-{__version__}*.whl"), output / f"netclaim-{__version__}.tar.gz"]
    made += [archive, bom, chart]
    if notes:
        (output / NOTES).write_text(notes)
        made.append(output / NOTES)
    sums = "".join(f"{_digest(path)}  {path.name}\n" for path in sorted(made))
    (output / CHECKSUMS).write_text(sums)
    return [*made, output / CHECKSUMS]


def pack_chart(files: Mapping[str, bytes]) -> bytes:
    """Return a chart as Helm packages it, by the paths inside of it; without times."""
    tree = Tree()
    for path, content in files.items():
        tree.add_file(f"/netclaim/{path}", content)
    return gzip.compress(tree.tar(), mtime=0)


def files_of(folder: str) -> dict[str, bytes]:
    """The files below a folder that git knows, without those that Helm ignores."""
    listed = _git(CHECKOUT, "ls-files", "-z", "--", folder).split("\0")
    ignored = _text(f"{folder}/{IGNORED}").split()
    return {
        str(Path(path).relative_to(folder)): (CHECKOUT / path).read_bytes()
        for path in filter(None, listed)
        if Path(path).name not in (*ignored, IGNORED)
    }


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _text(path: str) -> str:
    return (CHECKOUT / path).read_text()


def _git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=checkout, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"release: git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip("\n")


if __name__ == "__main__":
    sys.exit(main())
