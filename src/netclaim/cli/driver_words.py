"""The driver's command line, read without typer.

A driver runs for as long as its node, and typer and pydantic would take 15 MB of its memory all the
while, and a tenth of a second of each start. Promise: what is read here means what typer reads; a
test compares them for every setting. Limit: whatever is not understood, such as `--help`, a further
word, an unknown option or a value of the wrong type, is None, and typer's to explain.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from netclaim.framework.settings.declare import Form, Setting, comma_separated
from netclaim.framework.settings.sources import CONFIG_OPTION, CONFIG_VARIABLE, Followed, Sources
from netclaim.network.settings import REMOVED, check_together, declared

READERS: Final[Mapping[Form, Callable[[str], Any]]] = {
    "text": str,
    "choice": str,
    "path": Path,
    "seconds": float,
    "switch": {"true": True, "false": False}.__getitem__,
    "commas": comma_separated,
}


class _NotUnderstoodError(Exception):
    """Typer has to read this, and say what is wrong with it."""


def read_settings(words: Sequence[str], environ: Mapping[str, str]) -> Followed | None:
    """Return the settings; None if typer has to read them. Raises RequestErrors as it does."""
    table = declared()
    if any(environ.get(each.variable) for each in REMOVED):
        return None
    try:
        texts = _flags(words, table)
        given = {
            each.name: _from_variable(each, environ[each.variable])
            for each in table
            if environ.get(each.variable)
        }
        given |= {each.name: _value(each, texts[each.name]) for each in table if each.name in texts}
    except _NotUnderstoodError:
        return None
    config = texts.get(CONFIG_OPTION, [environ.get(CONFIG_VARIABLE, "")])[-1]
    path = Path(config) if config else None
    sources = Sources(table, given, path, check=check_together, removed=REMOVED)
    return Followed(sources, sources.read())


def _flags(words: Sequence[str], table: Sequence[Setting]) -> dict[str, list[str]]:
    """Return the texts that were given for each setting, and for the file."""
    names = {flag: each for each in table for flag in (each.option, *each.also)}
    off = {f"--no-{flag.removeprefix('--')}": each for flag, each in names.items()}
    texts: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        flag, has_value, value = word.partition("=")
        setting = names.get(flag) or off.get(flag)
        if setting is not None and setting.form == "switch":
            if has_value:
                raise _NotUnderstoodError
            texts.setdefault(setting.name, []).append("false" if flag in off else "true")
            continue
        if flag not in names and flag != CONFIG_OPTION:
            raise _NotUnderstoodError
        if not has_value:
            value = next(rest, "-")
            if value.startswith("-"):  # it may be an option, whose value was forgotten
                raise _NotUnderstoodError
        texts.setdefault(setting.name if setting else CONFIG_OPTION, []).append(value)
    return texts


def _from_variable(setting: Setting, text: str) -> Any:
    return text.split() if setting.form == "repeated" else _value(setting, [text])


def _value(setting: Setting, texts: list[str]) -> Any:
    """Return what a flag says; of one that is not for several values, the last is used."""
    if setting.form == "repeated":
        return texts
    if setting.form == "choice" and texts[-1] not in setting.choices:
        raise _NotUnderstoodError
    try:
        return READERS[setting.form](texts[-1])
    except (KeyError, ValueError):
        raise _NotUnderstoodError from None
