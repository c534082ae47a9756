"""The `netclaim` command: one module for each subcommand, imported only when it runs.

A subcommand is a row of `COMMANDS` and a module of the same name in `commands` with a function
`command`, whose parameters are its options; a few have a further word (`FURTHER`). Promise: what
netclaim raises on purpose becomes one line for each fault on stderr, and an exit code that says who
must act: 2 for the user or the machine's owner, 1 if trying again may help. Anything else is our
mistake and keeps its traceback. `output` deals with output that cannot be written.

    commands  the commands                      options       options that several of them have
    app       all of it as typer has it         driving       the driver as this process
    output    standard output that fails        kubectl       all of it as a plugin of kubectl
    asking    a question to the node's driver   uninstalling  what a driver leaves, and its removal
    garbage   reading without its collector     driver_words  the driver's options without typer
    absent    importing without a library       file_results  files that a command converted
    starting  the first files of a driver
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from netclaim.cli.absent import absent
from netclaim.cli.output import guarded_output
from netclaim.errors import NetclaimError, exit_code, faults_in

__all__ = ["COMMANDS", "FURTHER", "main"]

# Each with its line in `netclaim --help`, which is also the first line of its own help.
COMMANDS: Final[Mapping[str, str]] = {
    "check": "Find mistakes in claims and their network parameters.",
    "driver": "Run the network driver of one node.",
    "controller": "Make networks available to pods, for the whole cluster.",
    "demo": "Show the KubeCon demo: three nodes, real links, no cluster.",
    "try": "Run manifests on one machine: real interfaces, no cluster.",
    "explain": "Show why claims get their devices, or why not.",
    "status": "Show nodes, links, claims and pods, and who uses what.",
    "ui": "Show nodes, links, networks, claims and pods in a browser.",
    "doctor": "Find out what is wrong with a cluster or node, and what to do.",
    "convert": "Convert networks and pods of Multus, and claims for dranet.",
    "new": "Write the first files of a driver for other devices.",
    "upgrade": "Convert resource.k8s.io manifests to another API version.",
}
# Commands of two words, each with its module; the help of the first word lists them.
FURTHER: Final[Mapping[tuple[str, str], str]] = {
    ("driver", "gc"): "driver_gc",
    ("driver", "retire"): "driver_retire",
    ("driver", "uninstall"): "driver_uninstall",
    ("status", "kubelet"): "status_kubelet",
    ("ui", "serve"): "ui_serve",
}


def main(arguments: Sequence[str] | None = None, *, name: str = "netclaim") -> None:
    """Run `netclaim` with these arguments, or the process's own, and exit.

    `name` is the program's name in usage texts.
    """
    with guarded_output():
        _run(arguments, name)


def _run(arguments: Sequence[str] | None, name: str) -> None:
    words = list(sys.argv[1:] if arguments is None else arguments)
    faults: list[NetclaimError] = []
    try:
        driver = _driver(words[1:]) if words[:1] == ["driver"] else None
        if driver is not None:
            driver()
            sys.exit()
        from netclaim.cli import app  # noqa: PLC0415 - a driver runs without typer

        app.run(words, name)
    except* NetclaimError as group:  # a group of tasks may fail in several ways at once
        faults = faults_in(group)
    for fault in faults:
        print(f"netclaim: {fault}", file=sys.stderr)
    if faults:
        sys.exit(exit_code(faults))


def _driver(words: Sequence[str]) -> Callable[[], None] | None:
    """Return the driver, ready to run; None if typer has to read its words.

    structlog imports rich if it is installed, to show tracebacks in colour; that is 5 MB for as
    long as the driver runs.
    """
    with absent("rich"):
        from netclaim.cli.driver_words import read_settings  # noqa: PLC0415 - only for the driver

        followed = read_settings(words, os.environ)
        if followed is None:
            return None
        from netclaim.cli.driving import drive  # noqa: PLC0415 - only for the driver

    return partial(drive, followed)
