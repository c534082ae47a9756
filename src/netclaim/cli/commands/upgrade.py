"""`netclaim upgrade`: manifests of resource.k8s.io from one version of the API to another.

Promise: documents of other kinds stay byte for byte; converted ones keep their comments and order
where the new form has a place for them. A file that cannot be read or converted is named and stays
as it is; the others are converted all the same. They are written only if all of them can be, each
whole or not at all. What would be lost is named, and nothing is written without `--lossy`.
"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from netclaim.cli.options.files import Files, InPlace, MoreFiles, OutputDirectory, Recursive, named
from netclaim.errors import RequestError
from netclaim.manifests.versions.conversion import VERSIONS, is_version
from netclaim.screen.words import counted

if TYPE_CHECKING:
    from netclaim.manifests.text.files import ManifestFile
    from netclaim.manifests.versions.upgrade import Upgraded


def command(
    *,
    more_files: MoreFiles = None,
    files: Files = None,
    recursive: Recursive = False,
    to: Annotated[
        str, typer.Option("--to", metavar="VERSION", help=f"One of {', '.join(VERSIONS)}.")
    ] = "v1",
    in_place: InPlace = False,
    output: OutputDirectory = None,
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Convert even if something gets lost.")
    ] = False,
) -> None:
    r"""Convert resource.k8s.io manifests to another API version.

    Reads any version since v1alpha1, from any number of files with any number of documents. Other
    kinds of objects stay as they are, except for the claims of pods as they were before 1.31.
    Prints to stdout by default, and a summary to stderr. Exits with 2 if a file cannot be read,
    which does not keep the others from being converted, and, writing nothing, if anything would be
    lost.

    \b
    Examples:
      netclaim upgrade -f claim.yaml                      show it in v1
      netclaim upgrade --in-place -f manifests/           convert where they are
      netclaim upgrade -o v1/ -R -f manifests/            convert into a directory
      kubectl get deviceclass -o yaml | netclaim upgrade -f -
      netclaim upgrade --to v1beta1 -f claim.yaml         for Kubernetes 1.32
    """
    from netclaim.cli.file_results import check_targets, stream, targets_of, write_files
    from netclaim.manifests.kinds import GROUP
    from netclaim.manifests.text.files import noted, raise_faults, read_readable
    from netclaim.manifests.versions.upgrade import upgrade_documents

    if not is_version(to):
        known = ", ".join(VERSIONS)
        raise RequestError(f'unknown version "{to}"; {GROUP} has {known}', path=("--to",))
    sources = named(files, more_files)
    check_targets(sources, in_place=in_place, output=output)
    read, faults = read_readable(sources, recursive=recursive)
    targets = targets_of(read, in_place=in_place, output=output)
    results: dict[ManifestFile, Upgraded] = {}
    for file in read:
        with noted(faults):
            results[file] = upgrade_documents(file.documents, to)
    for line in [line for result in results.values() for line in (*result.notes, *result.losses)]:
        print(line, file=sys.stderr)
    lost = sum(len(result.losses) for result in results.values())
    if lost and not lossy:
        what = f"{counted(lost, 'item')} would be lost; use --lossy to accept that"
        raise RequestError(f"nothing written: {what}")
    if targets:
        changed = {
            targets[file]: result.text
            for file, result in results.items()
            if output is not None or result.text != file.text
        }
        write_files(changed)
    else:
        sys.stdout.write(stream([result.text for result in results.values()]))
    for file, result in results.items():
        print(f"{file.name}: {_total(result)}", file=sys.stderr)
    raise_faults(faults)


def _total(result: "Upgraded") -> str:
    counts = {"converted": result.converted, "kept": result.kept, "left out": result.left_out}
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "no documents"
