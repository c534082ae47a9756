"""Options for settings, made from the settings' declarations.

Promise: a command that takes settings has an option for each, with the variable, the default and
the text of the declaration, and `--config` for their file; it is called with their checked
combination. Limit: typer refuses a value of the wrong type.
"""

import inspect
import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import typer
from typer.core import TyperCommand

from netclaim.errors import RequestError
from netclaim.framework.settings.declare import Form, Setting, comma_separated
from netclaim.framework.settings.sources import (
    CONFIG_HELP,
    CONFIG_OPTION,
    CONFIG_VARIABLE,
    Followed,
    Sources,
)
from netclaim.network.settings import REMOVED, check_together, declared

Command: TypeAlias = Callable[..., None]
GIVEN: Final = frozenset({"COMMANDLINE", "ENVIRONMENT"})  # of click's sources of a parameter
TYPES: Final[Mapping[Form, Any]] = {
    "text": str,
    "path": Path,
    "seconds": float,
    "switch": bool,
    "repeated": list[str],
    "commas": str,
}
ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        CONFIG_OPTION,
        envvar=CONFIG_VARIABLE,
        metavar="FILE",
        help=CONFIG_HELP,
        show_default=False,
    ),
]


class SettingsCommand(TyperCommand):
    """A command with options for settings, which explains options that were removed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse removed options, and read the others."""
        given = {arg.partition("=")[0] for arg in args}
        for each in REMOVED:
            if each.option in given:
                raise RequestError(each.message, path=(each.option,))
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


def takes_settings(*names: str) -> Callable[[Command], Command]:
    """Call a command with `followed`, read from the options of the named settings, or of all.

    Settings without an option come from the file, or have their default.
    """
    table = declared()
    chosen = [each for each in table if not names or each.name in names]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(ctx: typer.Context, **options: Any) -> None:
            said = {each.name: options.pop(each.name) for each in chosen}
            given = {
                each.name: _as_said(each, said[each.name])
                for each in chosen
                if _is_given(ctx, each.name)
            }
            for each in REMOVED if not names else ():
                if os.environ.get(each.variable):
                    raise RequestError(each.message, path=(f"${each.variable}",))
            sources = Sources(
                table, given, options.pop("config"), check=check_together, removed=REMOVED
            )
            command(followed=Followed(sources, sources.read()), **options)

        own = inspect.signature(command).parameters.values()
        # What typer reads a command's options from.
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                _keyword("ctx", typer.Context),
                *(each for each in own if each.name != "followed"),
                _keyword("config", ConfigFile, None),
                *map(_parameter, chosen),
            ]
        )
        return run

    return decorate


def _is_given(ctx: typer.Context, name: str) -> bool:
    """Whether a flag or a variable sets it, even to its default."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name in GIVEN


def _as_said(setting: Setting, value: Any) -> Any:
    return comma_separated(value) if setting.form == "commas" else value


def _parameter(setting: Setting) -> inspect.Parameter:
    default = setting.default
    if setting.form == "commas":
        default = ",".join(default)
    option = typer.Option(
        default if default != [] else None,
        _names(setting),
        *setting.also,
        envvar=setting.variable,
        metavar=setting.metavar or None,
        help=setting.text,
        show_default=default not in ("", []),  # the text explains what an empty one means
    )
    # A Literal of a tuple is one of its members.
    kind = Literal[setting.choices] if setting.form == "choice" else TYPES[setting.form]
    return _keyword(setting.name, kind, option)


def _names(setting: Setting) -> str:
    """Return the option, and its opposite if it can be off."""
    off = f"/--no-{setting.option.removeprefix('--')}" if setting.form == "switch" else ""
    return f"{setting.option}{off}"


def _keyword(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
