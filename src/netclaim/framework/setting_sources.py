"""Where the settings of a process come from, and in which order.

A flag goes before the environment variable, that before the file, and that before the default.
Promise: what was said is checked in one place, and a mistake names the flag, or the line of the
file. The sources can be read again when the file has changed: flags and variables stay what they
were. Limit: how flags and variables become values is for whoever parses them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from netclaim.errors import RequestError
from netclaim.framework.setting import Removed, Setting
from netclaim.framework.settings_file import InFile, read_settings_file, settings_in
from netclaim.manifests.files import raise_faults

__all__ = ["CONFIG_HELP", "CONFIG_OPTION", "CONFIG_VARIABLE", "Followed", "Resolved", "Sources"]

CONFIG_OPTION: Final = "--config"
CONFIG_VARIABLE: Final = "NETCLAIM_CONFIG"
CONFIG_HELP: Final = (
    "A YAML file of settings; its keys are the names of the options in camelCase, such as "
    "attachTimeout. An option or an environment variable goes before the file."
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """The value of every setting, and who said it."""

    values: Mapping[str, Any]  # by the name of the field
    in_file: Mapping[str, InFile]  # what the file says, be it overruled
    given: frozenset[str]  # names of those that a flag or a variable says
    table: tuple[Setting, ...]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def fault(self, name: str, message: str) -> RequestError:
        """An error about a setting that names where it was said."""
        if name in self.in_file and name not in self.given:
            return self.in_file[name].fault(message)
        setting = next(each for each in self.table if each.name == name)
        return RequestError(message, path=(setting.option,))

    @property
    def overruled(self) -> tuple[str, ...]:
        """Keys of the file that do not count, because a flag or a variable says otherwise."""
        return tuple(each.setting.key for name, each in self.in_file.items() if name in self.given)

    def changed(self, before: "Resolved") -> tuple[Setting, ...]:
        """The settings that have another value than before."""
        return tuple(each for each in self.table if self[each.name] != before[each.name])


def _nothing_more(resolved: Resolved) -> None:
    """No further checks."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What flags and variables say, and the file that says the rest."""

    table: tuple[Setting, ...]
    given: Mapping[str, Any]  # by the name of the field; as said, not read yet
    path: Path | None = None  # of the file
    flag_of: Callable[[Setting], str] = field(default=lambda setting: setting.option)
    check: Callable[[Resolved], None] = _nothing_more  # of settings against each other
    removed: tuple[Removed, ...] = ()  # that an older driver had

    def content(self) -> bytes:
        """What the file has in it now; nothing if there is no file."""
        return read_settings_file(self.path) if self.path is not None else b""

    def read(self, content: bytes | None = None) -> Resolved:
        """The settings; RequestErrors say what is wrong with them."""
        if content is None:
            content = self.content()
        in_file: Mapping[str, InFile] = {}
        if self.path is not None:
            in_file = settings_in(content, str(self.path), self.table, self.removed)
        values: dict[str, Any] = {}
        faults: list[RequestError] = []
        for each in self.table:
            try:
                values[each.name] = self._value(each, in_file)
            except RequestError as fault:
                faults.append(fault)
        raise_faults(faults)
        resolved = Resolved(values, in_file, frozenset(self.given), self.table)
        self.check(resolved)
        return resolved

    def _value(self, setting: Setting, in_file: Mapping[str, InFile]) -> Any:
        if setting.name not in self.given and setting.name in in_file:
            return in_file[setting.name].value
        try:
            return setting.read(self.given.get(setting.name, setting.default))
        except RequestError as error:
            raise RequestError(str(error), path=(self.flag_of(setting),)) from error


@dataclass(frozen=True, slots=True)
class Followed:
    """Settings that can be read again: what was read at the start, and whom to tell of changes."""

    sources: Sources
    started: Resolved
    change: Callable[[Resolved], None] = _nothing_more  # takes over the live ones; must not fail
