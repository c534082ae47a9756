"""The settings of a driver that an author builds on the framework: flags, variables and a file.

Promise: a program has what `netclaim driver` has: the same flag and environment variable for each
setting, a file (`--config`), and the same order among them.
Limit: an author's own flags have neither; the file knows only the framework's settings.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from netclaim.errors import NetclaimError, RequestError, exit_code, faults_in
from netclaim.framework.settings.declare import Setting, declared_in, fill
from netclaim.framework.settings.fields import Settings
from netclaim.framework.settings.sources import (
    CONFIG_HELP,
    CONFIG_OPTION,
    CONFIG_VARIABLE,
    Followed,
    Resolved,
    Sources,
)

GIVEN: Final = "given_settings"  # where a namespace keeps the names of the flags that were there


class _Note(argparse.Action):
    """Stores a value, and that it was given, since a default looks the same."""

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
    for each in declared_in(Settings):
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


def settings_from(options: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings that `add_flags` added; exits with a message if one is wrong.

    A file that is named is read once, and not followed.
    """
    return settings_of(_followed_from(options, environ).started)


def settings_from_command_line(
    description: str, argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Read the settings of a program that has no other options."""
    return settings_of(followed_from_command_line(description, argv, environ).started)


def followed_from_command_line(
    description: str, argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ
) -> Followed:
    """Read the settings and, if a file is named, keep what is needed to follow it."""
    parser = argparse.ArgumentParser(description=description)
    add_flags(parser)
    return _followed_from(parser.parse_args(argv), environ)


def settings_of(resolved: Resolved) -> Settings:
    return fill(Settings, resolved.values)


def _followed_from(options: argparse.Namespace, environ: Mapping[str, str]) -> Followed:
    """Read the settings; a wrong one ends the program, as argparse does it."""
    faults: list[NetclaimError] = []
    try:
        sources = _sources(options, environ)
        return Followed(sources, sources.read())
    except* RequestError as group:
        faults = faults_in(group)
    for fault in faults:
        sys.stderr.write(f"{Path(sys.argv[0]).name}: {fault}\n")
    sys.exit(exit_code(faults))


def _sources(options: argparse.Namespace, environ: Mapping[str, str]) -> Sources:
    table = declared_in(Settings)
    given = {
        each.name: _from_text(each, environ[each.variable])
        for each in table
        if environ.get(each.variable)
    }
    given |= {name: getattr(options, name) for name in getattr(options, GIVEN, ())}
    named = options.config or environ.get(CONFIG_VARIABLE)
    return Sources(table, given, Path(named) if named else None)


def _from_text(setting: Setting, text: str) -> Any:
    """The value of a variable, as a flag would have it: a text, a path or a time."""
    if setting.form != "seconds":
        return text
    try:
        return float(text)
    except ValueError:
        raise RequestError("must be a number", path=(f"${setting.variable}",)) from None
