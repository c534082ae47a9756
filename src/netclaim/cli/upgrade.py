"""`netclaim upgrade`: manifests of resource.k8s.io from one version of the API to another.

Promise: documents of other kinds stay byte for byte; converted ones keep their comments and order
where the new form has a place for them. Nothing is written unless everything can be, and a file is
replaced whole or not at all. What would be lost is named, and refused without `--lossy`.
"""

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final, TypeGuard

import typer

from netclaim.cli.upgrade_text import Upgraded, upgrade_text
from netclaim.errors import HostError, RequestError
from netclaim.kube.conversion import GROUP, VERSIONS, Version
from netclaim.kube.manifest import SIZE_MAX, decode

__all__ = ["command"]

STDIN: Final = "-"
NEW_FILE: Final = 0o644  # a manifest is no secret


def command(
    *,
    more_files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", hidden=True)  # -f *.yaml, expanded
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option("-f", "--file", metavar="FILE", help="A file of manifests; - is stdin."),
    ] = None,
    to: Annotated[
        str, typer.Option("--to", metavar="VERSION", help=f"One of {', '.join(VERSIONS)}.")
    ] = "v1",
    in_place: Annotated[
        bool, typer.Option("--in-place", "-i", help="Write each result over its file.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write each result into DIR."),
    ] = None,
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Convert although something gets lost.")
    ] = False,
) -> None:
    r"""Convert resource.k8s.io manifests to another version of the API.

    Reads any version since v1alpha1, of one file or many, with any number of documents. Other
    kinds of objects stay as they are. Prints to stdout unless told where to write; says on stderr
    what it did. Exits with 2, and writes nothing, if anything cannot be read or would be lost.

    \b
    Examples:
      netclaim upgrade -f claim.yaml                      show it in v1
      netclaim upgrade --in-place -f manifests/*.yaml     convert where they are
      netclaim upgrade -o v1/ -f manifests/*.yaml         convert into a directory
      kubectl get deviceclass -o yaml | netclaim upgrade -f -
      netclaim upgrade --to v1beta1 -f claim.yaml         for Kubernetes 1.32
    """
    if not _is_version(to):
        raise RequestError(f"--to {to}: {GROUP} has the versions {', '.join(VERSIONS)}")
    sources = [*(files or ()), *(more_files or ())]
    targets = _targets(sources, in_place=in_place, output=output)
    names = ["stdin" if source == STDIN else source for source in sources]
    results = [
        upgrade_text(_read(source, name), name, to)
        for source, name in zip(sources, names, strict=True)
    ]
    for line in [line for result in results for line in (*result.notes, *result.losses)]:
        print(line, file=sys.stderr)
    lost = sum(len(result.losses) for result in results)
    if lost and not lossy:
        raise RequestError(f"nothing written: {lost} would be lost; --lossy accepts that")
    if targets:
        _write({path: result.text for path, result in zip(targets, results, strict=True)})
    else:
        sys.stdout.write(_stream([result.text for result in results]))
    for name, result in zip(names, results, strict=True):
        print(f"{name}: {_total(result)}", file=sys.stderr)


def _total(result: Upgraded) -> str:
    counts = {"converted": result.converted, "kept": result.kept, "left out": result.left_out}
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "no documents"


def _targets(sources: Sequence[str], *, in_place: bool, output: Path | None) -> list[Path]:
    """Return where each result goes; nothing means stdout."""
    if not sources:
        raise RequestError("name a file with -f, or - for standard input")
    if in_place and output is not None:
        raise RequestError("--in-place and --output exclude each other")
    if not in_place and output is None:
        return []
    if STDIN in sources:
        raise RequestError("standard input has no file to write to; print to stdout instead")
    if output is None:
        return [Path(source).resolve() for source in sources]  # a link stays a link
    targets = [output / Path(source).name for source in sources]
    for index, target in enumerate(targets):
        if target in targets[:index]:
            raise RequestError(f"{sources[index]}: another input is called {target.name} too")
    return targets


def _read(source: str, name: str) -> str:
    try:
        if source == STDIN:
            return decode(sys.stdin.buffer.read(SIZE_MAX + 1), name)
        with Path(source).open("rb") as file:
            return decode(file.read(SIZE_MAX + 1), name)
    except OSError as error:
        raise RequestError(f"{source}: {error.strerror}") from error


def _write(texts: Mapping[Path, str]) -> None:
    """Write all files beside their targets, then move each into its place."""
    with ExitStack() as leftovers:
        try:
            ready = {
                _write_beside(target, text, leftovers): target for target, text in texts.items()
            }
            for temporary, target in ready.items():
                temporary.replace(target)
        except OSError as error:
            raise HostError(f"{error.filename}: {error.strerror}") from error


def _write_beside(target: Path, text: str, leftovers: ExitStack) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    leftovers.callback(temporary.unlink, missing_ok=True)  # nothing to do once it is in its place
    with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - a descriptor
        os.fchmod(descriptor, target.stat().st_mode & 0o7777 if target.exists() else NEW_FILE)
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    return temporary


def _stream(texts: Sequence[str]) -> str:
    """Join files into one stream of documents."""
    joined = texts[0]
    for text in texts[1:]:
        newline = "" if joined.endswith("\n") or not joined else "\n"
        marker = "" if text.startswith("---") or not joined else "---\n"
        joined += newline + marker + text
    return joined


def _is_version(text: str) -> TypeGuard[Version]:
    return text in VERSIONS
