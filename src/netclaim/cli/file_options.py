"""Which manifests a command reads: the same options everywhere, with kubectl's names."""

from typing import Annotated, TypeAlias

import typer

__all__ = ["Files", "MoreFiles", "Recursive", "named"]

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


def named(files: Files, more_files: MoreFiles) -> list[str]:
    """Return everything that was named, in its order."""
    return [*(files or ()), *(more_files or ())]
