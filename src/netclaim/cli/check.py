"""`netclaim check`: every mistake in manifests, before a cluster or a pod meets it.

Promise: reads only; all mistakes at once, each with file, line, field and what to change. Exit
codes for CI: 1 for mistakes, 0 without (warnings pass), 2 for what cannot be read.
"""

import sys
from typing import Annotated, Final

import msgspec
import typer

from netclaim.check.policy import Policy
from netclaim.check.report import Report, check_files
from netclaim.cli.file_options import Files, MoreFiles, Recursive, named
from netclaim.cli.policy_options import POLICY_HELP, PolicyName, level_of, listed
from netclaim.errors import RequestError
from netclaim.manifests.files import read_files

__all__ = ["command"]

MISTAKES: Final = 1
FORMATS: Final = ("text", "json")


def command(
    *,
    more_files: MoreFiles = None,
    files: Files = None,
    recursive: Recursive = False,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FORMAT", help="Output format: text or json.")
    ] = "text",
    namespace: Annotated[
        str,
        typer.Option(
            "-n", "--namespace", help="The namespace of objects that name none. Default: default."
        ),
    ] = "",
    policy: Annotated[PolicyName, typer.Option(help=POLICY_HELP)] = "baseline",
    claim_plugins: Annotated[
        str,
        typer.Option(
            metavar="TYPE,…", help="What the drivers' --claim-plugins lists, if it is set."
        ),
    ] = "",
) -> None:
    r"""Find mistakes in claims and their network parameters.

    Checks DeviceClasses, ResourceClaims and ResourceClaimTemplates of any version, the pods that
    use them and how they refer to each other, and reports what the drivers' policy would refuse.
    Needs no cluster. Prints findings to stdout, and a summary to stderr that names the kinds that
    were not checked.

    Exits with 0 if there is no mistake, with 1 if there is one, and with 2 if a file cannot be
    read. Warnings are about what files alone cannot answer; they do not change the exit code.

    \b
    Examples:
      netclaim check -f claim.yaml
      netclaim check -R -f manifests/ -o json
      netclaim check -f claim.yaml --policy restricted
      helm template chart | netclaim check -f -
    """
    if output not in FORMATS:
        known = " or ".join(FORMATS)
        raise RequestError(f'unknown format "{output}"; write {known}', path=("--output",))
    manifests = read_files(named(files, more_files), recursive=recursive)
    drivers = Policy(level_of(policy), frozenset(listed(claim_plugins)))
    report = check_files(manifests, policy=drivers, namespace=namespace)
    if output == "json":
        sys.stdout.write(_json(report))
    else:
        for finding in report.findings:
            print(finding)
    print(_summary(report), file=sys.stderr)
    if report.errors:
        raise typer.Exit(MISTAKES)


def _json(report: Report) -> str:
    found = {
        "errors": report.errors,
        "warnings": report.warnings,
        "objects": report.objects,
        "files": report.files,
        "notChecked": report.not_checked,
        "findings": report.findings,
    }
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n"


def _summary(report: Report) -> str:
    parts = (
        (report.errors, "error"),
        (report.warnings, "warning"),
        (report.objects, "object"),
        (report.files, "file"),
    )
    errors, warnings, objects, files = (f"{n} {word}{'' if n == 1 else 's'}" for n, word in parts)
    passed_over = ", ".join(f"{n} {kind}" for kind, n in report.not_checked.items())
    rest = f"; not checked: {passed_over}" if passed_over else ""
    return f"{errors}, {warnings} in {objects} of {files}{rest}"
