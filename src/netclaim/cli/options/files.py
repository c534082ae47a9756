"""Which manifests a command reads, and where it writes them: the same options everywhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Files: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "-f",
        "--file",
        "--filename",
        metavar="FILE",
        help="A file or directory of manifests, or - for stdin. May be given several times.",
    ),
]
MoreFiles: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="FILE", hidden=True)  # -f *.yaml, expanded
]
Recursive: TypeAlias = Annotated[
    bool, typer.Option("-R", "--recursive", help="Also read the subdirectories of a directory.")
]
InPlace: TypeAlias = Annotated[
    bool, typer.Option("--in-place", "-i", help="Overwrite each file with its result.")
]
OutputDirectory: TypeAlias = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Write each result into DIR."),
]


def told_apart(arguments: Sequence[str], files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words that name something, and all files: a shell expands `-f *.yaml`."""
    from netclaim.manifests.text.files import SUFFIXES

    more = [one for one in arguments if files and one.endswith(SUFFIXES)]
    return [one for one in arguments if one not in more], [*files, *more]


def named(files: Files, more_files: MoreFiles) -> list[str]:
    """Return everything that was named, in order."""
    return [*(files or ()), *(more_files or ())]
