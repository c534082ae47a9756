"""How a setting is declared: once, as the field of a dataclass, for every place that knows it.

The field has the name, the type and the default; `about(...)`, its metadata, has the environment
variable, the help text, and what else differs. `declared_in` reads them. The options of commands,
the flags of an author's driver, the keys of the file, its JSON schema and docs/driver.md are made
from that. Promise: nothing about a setting is said anywhere else; however a value was said, it goes
through the same `read`. Limit: No I/O.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args, get_origin

from netclaim.errors import RequestError

__all__ = ["Form", "Removed", "Setting", "about", "comma_separated", "declared_in", "fill"]

# How values are said: a text, a directory or file, seconds, on or off, one of some words, several
# texts by repeating the option, or several in one that commas separate. A file has lists for both.
Form: TypeAlias = Literal["text", "path", "seconds", "switch", "choice", "repeated", "commas"]

FORMS: Final[Mapping[Any, Form]] = {
    str: "text",
    Path: "path",
    float: "seconds",
    bool: "switch",
}
UNIT: Final = "_s"  # at the end of a field's name; options and keys leave it out


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as it is declared."""

    name: str  # of the field
    form: Form
    default: Any  # as it would be said; of a setting that has none: nothing, and `required`
    required: bool
    variable: str  # of the environment
    text: str
    option: str  # its flag, without the unit
    also: tuple[str, ...]  # further names of the option
    metavar: str
    choices: tuple[str, ...]
    example: str  # of a value, for messages about lists
    key: str  # in the file
    never_in_file: str  # why, in words; nothing if it may be
    live: bool  # whether a change of the file is taken over while the driver runs
    read: Callable[[Any], Any]  # from what was said to the field's value; RequestError


@dataclass(frozen=True, slots=True)
class Removed:
    """A setting that there was: whoever still says it is told what to write instead."""

    option: str
    variable: str
    instead: str  # the end of a sentence

    @property
    def key(self) -> str:
        """What it was called in the file."""
        return _camel(self.option)

    @property
    def message(self) -> str:
        """What to say of it, behind its name."""
        return f"there is no such setting any more; {self.instead}"


def about(
    variable: str,
    text: str,
    *,
    also: tuple[str, ...] = (),
    option: str = "",
    metavar: str = "",
    form: Form | None = None,
    choices: tuple[str, ...] = (),
    example: str = "",
    never_in_file: str = "",
    live: bool = False,
    read: Callable[[Any], Any] | None = None,
    said: Callable[[Any], Any] | None = None,
) -> Mapping[str, Any]:
    """What a field says beyond its name, type and default.

    `also` are further flags of `netclaim driver`; `option` is its flag, if not named after the
    field. `read` turns what was said (text, number, truth, list of texts) into the field's value,
    or raises RequestError; `said` is its reverse, for the default.
    """
    return {
        "variable": variable,
        "text": text,
        "also": also,
        "option": option,
        "metavar": metavar,
        "form": form,
        "choices": choices,
        "example": example,
        "never_in_file": never_in_file,
        "live": live,
        "read": read,
        "said": said,
    }


def declared_in(owner: type) -> tuple[Setting, ...]:
    """All settings of a dataclass, in the order in which they are explained."""
    return tuple(_setting(each) for each in fields(owner) if each.metadata)


def fill(owner: type, values: Mapping[str, Any], **others: Any) -> Any:
    """Make a dataclass of the settings that it declares; `others` are its other fields."""
    return owner(**{each.name: values[each.name] for each in declared_in(owner)}, **others)


def comma_separated(value: str) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in value.split(",") if name.strip()]


def _setting(each: Field[Any]) -> Setting:
    said = each.metadata["said"] or _as_it_is
    option = each.metadata["option"] or f"--{each.name.removesuffix(UNIT).replace('_', '-')}"
    choices = each.metadata["choices"]
    form = each.metadata["form"] or FORMS.get(each.type)
    if get_origin(each.type) is Literal:
        form, choices = "choice", get_args(each.type)
    assert form is not None, f"say the form of {each.name}"
    return Setting(
        name=each.name,
        form=form,
        default="" if each.default is MISSING else said(each.default),
        required=each.default is MISSING,
        variable=each.metadata["variable"],
        text=each.metadata["text"],
        option=option,
        also=each.metadata["also"],
        metavar=each.metadata["metavar"],
        choices=choices,
        example=each.metadata["example"],
        key=_camel(option),
        never_in_file=each.metadata["never_in_file"],
        live=each.metadata["live"],
        read=_reader(form, choices, each.metadata["read"]),
    )


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


def _as_it_is(value: Any) -> Any:
    return value
