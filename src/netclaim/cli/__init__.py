"""The `netclaim` command: one module for each subcommand, imported only when it runs.

A subcommand is a row of `COMMANDS` and a module of the same name in `commands` with a function
`command`, whose parameters are its options; a few have a further word (`FURTHER`). Promise: what
netclaim raises on purpose becomes one line for each fault on stderr, and an exit code that says who
must act: 2 for the user or the machine's owner, 1 if trying again may help. Anything else is our
mistake and keeps its traceback. `output` deals with output that cannot be written.

    commands  the commands                      options       options that several of them have
    output    standard output that fails        kubectl       all of it as a plugin of kubectl
    asking    a question to the node's driver   uninstalling  what a driver leaves, and its removal
    file_results  files that a command converted
"""

import importlib
import inspect
import keyword
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from netclaim import __version__
from netclaim.cli.output import guarded_output
from netclaim.errors import NetclaimError, RequestError, exit_code, faults_in
from netclaim.manifests.near import near

__all__ = ["COMMANDS", "FURTHER", "build_app", "load_command", "main"]

# Each with its line in `netclaim --help`, which is also the first line of its own help.
COMMANDS: Final[Mapping[str, str]] = {
    "check": "Find mistakes in claims and their network parameters.",
    "driver": "Run the network driver of one node.",
    "controller": "Make networks available to pods, for the whole cluster.",
    "demo": "Show the KubeCon demo: three nodes, real links, no cluster.",
    "try": "Run manifests on one machine: real interfaces, no cluster.",
    "explain": "Show why claims get their devices, or why not.",
    "status": "Show nodes, links, claims and pods, and who uses what.",
    "doctor": "Find out what is wrong with a cluster or node, and what to do.",
    "convert": "Convert networks and pods of Multus to PodNetworks and claims.",
    "upgrade": "Convert resource.k8s.io manifests to another API version.",
}
# Commands of two words, each with its module; the help of the first word lists them.
FURTHER: Final[Mapping[tuple[str, str], str]] = {
    ("driver", "gc"): "driver_gc",
    ("driver", "retire"): "driver_retire",
    ("driver", "uninstall"): "driver_uninstall",
    ("status", "kubelet"): "status_kubelet",
}


class _LazyGroup(TyperGroup):
    """A group that knows its commands' names and first lines, and imports only what it runs."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's signature
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - typer's signature
        summary = COMMANDS.get(cmd_name)
        return None if summary is None else TyperCommand(cmd_name, help=summary)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        close = "" if args[0] in COMMANDS else near(args[0], COMMANDS)
        if close:
            raise RequestError(f'unknown command "{args[0]}"; did you mean "{close}"?')
        name, _, rest = super().resolve_command(ctx, args)
        further = FURTHER.get((str(name), rest[0])) if rest else None
        if further is not None:
            return f"{name} {rest[0]}", load_command(further), rest[1:]
        return name, load_command(str(name)), rest


def load_command(name: str) -> Any:
    """Import a subcommand's module, by the module's name, and return its parser."""
    suffix = "_" if keyword.iskeyword(name) else ""
    module = importlib.import_module(f"netclaim.cli.commands.{name}{suffix}")
    # Raw docstrings spell out the backspace by which typer leaves a paragraph's lines alone.
    text = (inspect.getdoc(module.command) or "").replace("\\b", "\b")
    alone = _typer()
    kind = getattr(module, "COMMAND_CLASS", TyperCommand)
    alone.command(name, help=text, cls=kind)(module.command)
    return typer.main.get_command(alone)


def build_app() -> typer.Typer:
    """Return the whole command line."""
    app = _typer(cls=_LazyGroup, no_args_is_help=True, add_completion=True)
    app.callback()(_options)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        print(f"netclaim {__version__}")
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Network interfaces for Kubernetes pods through Dynamic Resource Allocation."""


def _typer(*, add_completion: bool = False, **settings: Any) -> typer.Typer:
    # Plain help: importing rich would take longer than everything else `--help` does.
    return typer.Typer(
        add_completion=add_completion,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
        **settings,
    )


def main(arguments: Sequence[str] | None = None, *, name: str = "netclaim") -> None:
    """Run `netclaim` with these arguments, or the process's own, and exit.

    `name` is the program's name in usage texts.
    """
    with guarded_output():
        _run(arguments, name)


def _run(arguments: Sequence[str] | None, name: str) -> None:
    faults: list[NetclaimError] = []
    try:
        build_app()(args=arguments, prog_name=name)
    except* NetclaimError as group:  # a group of tasks may fail in several ways at once
        faults = faults_in(group)
    for fault in faults:
        print(f"netclaim: {fault}", file=sys.stderr)
    if faults:
        sys.exit(exit_code(faults))
