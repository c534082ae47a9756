"""The results of a command that converts files: where each goes, and writing all of them.

Promise: nothing is written unless everything can be, and a file is replaced whole or not at all. A
file that is written into another directory keeps its path below the directory that was named.
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from netclaim.errors import HostError, RequestError
from netclaim.manifests.text.files import STDIN, ManifestFile
from netclaim.manifests.text.json_stream import as_yaml, json_parts

NEW_FILE: Final = 0o644  # a manifest is no secret


def check_targets(sources: Sequence[str], *, in_place: bool, output: Path | None) -> None:
    """Refuse options that contradict each other, before anything is read."""
    if in_place and output is not None:
        raise RequestError("--in-place and --output cannot be used together")
    if (in_place or output is not None) and STDIN in sources:
        raise RequestError(
            "standard input has no file to write to; leave out --in-place and --output"
        )


def targets_of(
    files: Sequence[ManifestFile], *, in_place: bool, output: Path | None
) -> dict[ManifestFile, Path]:
    """Return where each result goes; empty for stdout."""
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


def write_files(texts: Mapping[Path, str]) -> None:
    """Write all files beside their targets, then move each to its place."""
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


def stream(texts: Sequence[str]) -> str:
    """Join files into one stream of documents, which is YAML if there are several."""
    if len(texts) == 1:
        return texts[0]
    joined = ""
    for text in (as_yaml(part) for whole in texts for part in json_parts(whole)):
        newline = "" if joined.endswith("\n") or not joined else "\n"
        marker = "" if text.startswith("---") or not joined else "---\n"
        joined += newline + marker + text
    return joined
