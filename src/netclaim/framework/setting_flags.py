"""The settings of a driver that an author builds on the framework: flags, variables and a file.

Promise: a program has what `netclaim driver` has: the same flag and environment variable for each
setting, a file (`--config`), and the same order among them.
Limit: an author's own flags have neither; the file knows only the framework's settings.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from netclaim.errors import NetclaimError, RequestError, exit_code, faults_in
from netclaim.framework.setting import Setting, comma_separated, fill
from netclaim.framework.setting_sources import (
    CONFIG_HELP,
    CONFIG_OPTION,
    CONFIG_VARIABLE,
    Followed,
    Resolved,
    Sources,
)
from netclaim.framework.settings import Settings, declared

__all__ = [
    "add_flags",
    "followed_from_command_line",
    "settings_from",
    "settings_from_command_line",
    "settings_of",
    "sources_from",
]

GIVEN: Final = "given_settings"  # where a namespace keeps the names of the flags that were there
TRUE: Final = frozenset({"1", "true", "t", "yes", "y", "on"})  # as `netclaim driver` reads them
FALSE: Final = frozenset({"0", "false", "f", "no", "n", "off"})


class _Note(argparse.Action):
    """Stores a value, and that it was given: a default looks the same."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 (argparse's signature)
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        setattr(namespace, self.dest, values)
        setattr(namespace, GIVEN, getattr(namespace, GIVEN, frozenset()) | {self.dest})


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each setting, such as `--node-name` for `node_name`, and `--config`."""
    parser.add_argument(
        CONFIG_OPTION, type=Path, metavar="FILE", help=f"{CONFIG_HELP} ${CONFIG_VARIABLE}"
    )
    for each in declared():
        parser.add_argument(
            each.option,
            dest=each.name,
            metavar=None if each.choices else each.name.removesuffix("_s").upper(),
            action=_Note,
            type=float if each.form == "seconds" else Path if each.form == "path" else str,
            choices=each.choices or None,
            default=None if each.required else each.default,
            help=f"{each.text} ${each.variable}"
            + ("" if each.required else " Default: %(default)s"),
        )


def sources_from(options: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> Sources:
    """Where the settings come from whose flags `add_flags` added; `serve` follows their file."""
    given = {
        each.name: _from_text(each, environ[each.variable])
        for each in declared()
        if environ.get(each.variable)
    }
    given |= {name: getattr(options, name) for name in getattr(options, GIVEN, ())}
    named = options.config or environ.get(CONFIG_VARIABLE)
    return Sources(declared(), given, Path(named) if named else None, lambda each: each.option)


def settings_from(options: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings that `add_flags` added; exits with a line if one is wrong.

    The file, if one is named, is read this once.
    """
    return settings_of(read_or_exit(lambda: sources_from(options, environ)).started)


def settings_from_command_line(
    description: str, argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Read the settings of a program that has no other options."""
    return settings_of(followed_from_command_line(description, argv, environ).started)


def followed_from_command_line(
    description: str, argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ
) -> Followed:
    """Likewise, with their file if one is named, which can be followed."""
    parser = argparse.ArgumentParser(description=description)
    add_flags(parser)
    options = parser.parse_args(argv)
    return read_or_exit(lambda: sources_from(options, environ))


def settings_of(resolved: Resolved) -> Settings:
    """Every driver's settings among others."""
    settings: Settings = fill(Settings, resolved.values)
    return settings


def read_or_exit(sources: Callable[[], Sources]) -> Followed:
    """Read the settings; a wrong one ends the program, as argparse does it."""
    faults: list[NetclaimError] = []
    try:
        there = sources()
        return Followed(there, there.read())
    except* RequestError as group:
        faults = faults_in(group)
    for fault in faults:
        sys.stderr.write(f"{Path(sys.argv[0]).name}: {' '.join(str(fault).split())}\n")
    sys.exit(exit_code(faults))


def _from_text(setting: Setting, text: str) -> Any:
    """What a variable says, as a flag would say it."""
    match setting.form:
        case "seconds":
            try:
                return float(text)
            except ValueError:
                raise RequestError("must be a number", path=(f"${setting.variable}",)) from None
        case "switch":
            if text.lower() not in TRUE | FALSE:
                raise RequestError("must be true or false", path=(f"${setting.variable}",))
            return text.lower() in TRUE
        case "repeated":
            return text.split()
        case "commas":
            return comma_separated(text)
        case _:
            return text
