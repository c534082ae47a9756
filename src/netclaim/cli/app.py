"""The command line by typer: a group that imports only the command that runs.

Promise: the help of all commands needs none of their modules, and that of one command needs no more
than what declares its options.
"""

import importlib
import inspect
import keyword
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from netclaim import __version__
from netclaim.cli import COMMANDS, FURTHER
from netclaim.errors import RequestError
from netclaim.manifests.near import near

__all__ = ["build_app", "load_command", "run"]


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
        if args[0] in COMMANDS:
            return _resolve(args)
        return super().resolve_command(ctx, args)


def run(words: Sequence[str], name: str) -> None:
    """Run a command line, and exit. `name` is the program's name in usage texts.

    A command does not need the group around it, which has options of its own: in order to read that
    they were not given, typer loads pydantic, which takes longer than the rest of `check --help`.
    """
    words = _habitual(words)
    if words and words[0] in COMMANDS:
        command, parser, rest = _resolve(words)
        parser(args=rest, prog_name=f"{name} {command}")
    build_app()(args=list(words), prog_name=name)


def _habitual(words: Sequence[str]) -> Sequence[str]:
    """Read `version` and `help COMMAND` as options, since many programs have them as commands."""
    if tuple(words) == ("version",):
        return ["--version"]
    return [*words[1:], "--help"] if words[:1] == ["help"] else words


def _resolve(words: Sequence[str]) -> tuple[str, Any, list[str]]:
    """Return the command that the words begin with, its parser, and the rest of the words."""
    for command, module in FURTHER.items():
        if tuple(words[:2]) == command:
            return " ".join(command), load_command(module), list(words[2:])
    return words[0], load_command(words[0]), list(words[1:])


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
