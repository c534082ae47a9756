"""`netclaim check`: every mistake in manifests, before a cluster or a pod meets it.

Promise: it only reads, and reports all mistakes at once, each with file, line, field and what to
change. Exit codes for CI: 1 for mistakes, 0 without (warnings pass), 2 if a file cannot be read.
"""

import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from netclaim.cli.options.files import Files, MoreFiles, Recursive, named
from netclaim.cli.options.formats import document, refuse_unknown_format
from netclaim.cli.options.policy import POLICY_HELP, PolicyName, level_of, listed
from netclaim.plain_text import plain_json
from netclaim.screen.words import counted

if TYPE_CHECKING:
    from netclaim.check.report import Report

MISTAKES: Final = 1


def command(
    *,
    more_files: MoreFiles = None,
    files: Files = None,
    recursive: Recursive = False,
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FORMAT", help="Output format: text, json or yaml."),
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
    from netclaim.check.claims.policy import Policy
    from netclaim.check.report import check_files
    from netclaim.manifests.text.files import read_files
    from netclaim.screen import screen_for

    refuse_unknown_format(output)
    manifests = read_files(named(files, more_files), recursive=recursive)
    drivers = Policy(level_of(policy), frozenset(listed(claim_plugins)))
    report = check_files(manifests, policy=drivers, namespace=namespace)
    if output != "text":
        print(document(_json(report), output))
    else:
        screen = screen_for(sys.stdout)
        for finding in report.findings:
            screen.line(str(finding), good=False if finding.severity == "error" else None)
    print(_summary(report), file=sys.stderr)
    if report.errors:
        raise typer.Exit(MISTAKES)


def _json(report: "Report") -> str:
    import msgspec

    found = {
        "errors": report.errors,
        "warnings": report.warnings,
        "objects": report.objects,
        "files": report.files,
        "notChecked": report.not_checked,
        "podsOnly": report.pods_only,
        "findings": report.findings,
    }
    return msgspec.json.format(plain_json(msgspec.json.encode(found)), indent=2).decode() + "\n"


def _summary(report: "Report") -> str:
    faults = f"{counted(report.errors, 'error')}, {counted(report.warnings, 'warning')}"
    read = f"{counted(report.objects, 'object')} of {counted(report.files, 'file')}"
    passed_over = ", ".join(f"{n} {kind}" for kind, n in report.not_checked.items())
    rest = f"; not checked: {passed_over}" if passed_over else ""
    pods = ", ".join(f"{n} {kind}" for kind, n in report.pods_only.items())
    only = f"; only the claims of pods in: {pods}" if pods else ""
    return f"{faults} in {read}{only}{rest}"
