"""How a setting is declared: once, as a field of a dataclass.

`name: type = setting(default, text, ...)` is the whole declaration, and `declared_in` reads it. The
options of commands, the flags of an author's driver, the keys of the file, its JSON schema and the
table in docs/driver.md are made from that. Promise: nothing about a setting stands anywhere else,
and a value goes through the same `read` wherever it was given. No I/O.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args, get_origin

from netclaim.errors import RequestError

T = TypeVar("T")

# How values are given: a text, a directory or file, seconds, on or off, one of some words, several
# texts by repeating the option, or several that commas separate. A file has lists for the last two.
Form: TypeAlias = Literal["text", "path", "seconds", "switch", "choice", "repeated", "commas"]

FORMS: Final[Mapping[Any, Form]] = {
    str: "text",
    Path: "path",
    float: "seconds",
    bool: "switch",
}
REQUIRED: Final = MISSING  # in place of a default
DECLARE: Final = "netclaim"  # in a field's metadata: what makes the Setting
UNIT: Final = "_s"  # at the end of a field's name; options and keys leave it out


@dataclass(frozen=True, slots=True)
class Setting:
    name: str  # of the field
    form: Form
    default: Any  # as it would be given; empty if the setting is `required`
    required: bool
    variable: str  # of the environment
    text: str
    option: str  # its flag, without the unit
    also: tuple[str, ...]  # further names of the option
    metavar: str
    choices: tuple[str, ...]
    example: str  # of a value, for messages about lists
    page: str  # of the documentation, with more about it; empty if there is none
    key: str  # in the file
    never_in_file: str  # why not, in words; empty if it may be in the file
    live: bool  # whether a change of the file is taken over while the driver runs
    limits: Mapping[str, Any]  # of a value or of an item, as JSON schema; `read` refuses more
    read: Callable[[Any], Any]  # from what was given to the field's value; raises RequestError


@dataclass(frozen=True, slots=True)
class Removed:
    """A setting of an older driver; its message says what to write instead."""

    option: str
    variable: str
    instead: str  # the end of a sentence

    @property
    def key(self) -> str:
        return _camel(self.option)

    @property
    def message(self) -> str:
        return f"there is no such setting any more; {self.instead}"


def setting(
    default: Any,
    text: str,
    *,
    variable: str = "",
    option: str = "",
    also: tuple[str, ...] = (),
    metavar: str = "",
    form: Form | None = None,
    choices: tuple[str, ...] = (),
    example: str = "",
    page: str = "",
    never_in_file: str = "",
    live: bool = False,
    limits: Mapping[str, Any] | None = None,
    read: Callable[[Any], Any] | None = None,
    said: Callable[[Any], Any] | None = None,
) -> Any:
    """Declare a field of a dataclass as a setting; `default` is its value, or REQUIRED.

    `option` is its flag, if not named after the field, and `also` are further flags of `netclaim
    driver`; `variable` is its environment variable, if not named after the flag. `read` turns what
    was given (text, number, truth, list of texts) into the field's value, or raises RequestError;
    `said` is its reverse, for the default. `limits` is what JSON schema can say of what `read`
    refuses, of the value or of each item of a list.
    """
    required = default is REQUIRED

    def declare(name: str, kind: Any) -> Setting:
        flag = option or f"--{name.removesuffix(UNIT).replace('_', '-')}"
        words = get_args(kind) if get_origin(kind) is Literal else choices
        shape = form or ("choice" if words else FORMS[kind])
        return Setting(
            name=name,
            form=shape,
            default="" if required else said(default) if said else default,
            required=required,
            variable=variable or f"NETCLAIM_{flag[2:].replace('-', '_').upper()}",
            text=text,
            option=flag,
            also=also,
            metavar=metavar,
            choices=words,
            example=example,
            page=page,
            key=_camel(flag),
            never_in_file=never_in_file,
            live=live,
            limits=limits or {},
            read=_reader(shape, words, read),
        )

    return field(default=default, metadata={DECLARE: declare})


def declared_in(owner: type) -> tuple[Setting, ...]:
    """All settings of a dataclass, in the order in which they are documented."""
    return tuple(
        each.metadata[DECLARE](each.name, each.type)
        for each in fields(owner)
        if DECLARE in each.metadata
    )


def fill(owner: type[T], values: Mapping[str, Any], **others: Any) -> T:
    """Make a dataclass from the values of its settings; `others` are its other fields."""
    return owner(**{each.name: values[each.name] for each in declared_in(owner)}, **others)


def comma_separated(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]


def _camel(option: str) -> str:
    first, *rest = option.removeprefix("--").split("-")
    return first + "".join(word.capitalize() for word in rest)


def _reader(
    form: Form, choices: tuple[str, ...], further: Callable[[Any], Any] | None
) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if choices and value not in choices:
            raise RequestError(f"{value!r} is not one of {', '.join(choices)}")
        value = Path(value) if form == "path" else value
        return further(value) if further is not None else value

    return read
