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

from netclaim.cli.file_options import Files, MoreFiles, Recursive, named
from netclaim.errors import HostError, RequestError
from netclaim.manifests.conversion import GROUP, VERSIONS, Version
from netclaim.manifests.files import STDIN, ManifestFile, read_files
from netclaim.manifests.json_stream import as_yaml, json_parts
from netclaim.manifests.upgrade import Upgraded, upgrade_documents

__all__ = ["command"]

NEW_FILE: Final = 0o644  # a manifest is no secret


def command(
    *,
    more_files: MoreFiles = None,
    files: Files = None,
    recursive: Recursive = False,
    to: Annotated[
        str, typer.Option("--to", metavar="VERSION", help=f"One of {', '.join(VERSIONS)}.")
    ] = "v1",
    in_place: Annotated[
        bool, typer.Option("--in-place", "-i", help="Overwrite each file with its result.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write each result into DIR."),
    ] = None,
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Convert even if something gets lost.")
    ] = False,
) -> None:
    r"""Convert resource.k8s.io manifests to another version of the API.

    Reads any version since v1alpha1, from any number of files with any number of documents. Other
    kinds of objects stay as they are. Prints to stdout by default, and a summary to stderr. Exits
    with 2, and writes nothing, if anything cannot be read or would be lost.

    \b
    Examples:
      netclaim upgrade -f claim.yaml                      show it in v1
      netclaim upgrade --in-place -f manifests/           convert where they are
      netclaim upgrade -o v1/ -R -f manifests/            convert into a directory
      kubectl get deviceclass -o yaml | netclaim upgrade -f -
      netclaim upgrade --to v1beta1 -f claim.yaml         for Kubernetes 1.32
    """
    if not _is_version(to):
        known = ", ".join(VERSIONS)
        raise RequestError(f'unknown version "{to}"; {GROUP} has {known}', path=("--to",))
    sources = named(files, more_files)
    if in_place and output is not None:
        raise RequestError("--in-place and --output cannot be used together")
    if (in_place or output is not None) and STDIN in sources:
        raise RequestError(
            "standard input has no file to write to; leave out --in-place and --output"
        )
    read = read_files(sources, recursive=recursive)
    targets = _targets(read, in_place=in_place, output=output)
    results = {file: upgrade_documents(file.documents, to) for file in read}
    for line in [line for result in results.values() for line in (*result.notes, *result.losses)]:
        print(line, file=sys.stderr)
    lost = sum(len(result.losses) for result in results.values())
    if lost and not lossy:
        what = f"{_items(lost)} would be lost; use --lossy to accept that"
        raise RequestError(f"nothing written: {what}")
    if targets:
        changed = {
            targets[file]: result.text
            for file, result in results.items()
            if output is not None or result.text != file.text
        }
        _write(changed)
    else:
        sys.stdout.write(_stream([result.text for result in results.values()]))
    for file, result in results.items():
        print(f"{file.name}: {_total(result)}", file=sys.stderr)


def _items(number: int) -> str:
    return f"{number} item{'' if number == 1 else 's'}"


def _total(result: Upgraded) -> str:
    counts = {"converted": result.converted, "kept": result.kept, "left out": result.left_out}
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "no documents"


def _targets(
    files: Sequence[ManifestFile], *, in_place: bool, output: Path | None
) -> dict[ManifestFile, Path]:
    """Return where each result goes; nothing means stdout."""
    if in_place:
        return {file: file.path.resolve() for file in files if file.path}  # a link stays a link
    if output is None:
        return {}
    targets = {file: output / file.below for file in files}
    users: dict[Path, str] = {}
    for file, target in targets.items():
        other = users.setdefault(target, file.name)
        if other != file.name:
            raise RequestError(f"{file.name}: {other} has the same target, {target}")
        here = file.path.resolve() if file.path else target.resolve()
        if here != target.resolve() and here.is_relative_to(output.resolve()):
            raise RequestError(
                f"{file.name} is in {output}, where results are written; choose another directory"
                " for --output"
            )
    return targets


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
    """Join files into one stream of documents, which is YAML if they are several."""
    if len(texts) == 1:
        return texts[0]
    joined = ""
    for text in (as_yaml(part) for whole in texts for part in json_parts(whole)):
        newline = "" if joined.endswith("\n") or not joined else "\n"
        marker = "" if text.startswith("---") or not joined else "---\n"
        joined += newline + marker + text
    return joined


def _is_version(text: str) -> TypeGuard[Version]:
    return text in VERSIONS
