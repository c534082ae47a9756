"""Where the settings of a process come from, and in which order.

A flag goes before the environment variable, that before the file, and that before the default.
Promise: values are checked in one place, and a mistake names the flag, or the line of the file. The
sources can be read again when the file has changed; flags and variables stay what they were. Limit:
flags and variables are parsed elsewhere.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from netclaim.errors import RequestError
from netclaim.framework.settings.declare import Removed, Setting
from netclaim.framework.settings.file import InFile, settings_in
from netclaim.manifests.text.files import raise_faults

CONFIG_OPTION: Final = "--config"
CONFIG_VARIABLE: Final = "NETCLAIM_CONFIG"
CONFIG_HELP: Final = (
    "A YAML file of settings; its keys are the names of the options in camelCase, such as "
    "attachTimeout. An option or an environment variable goes before the file."
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """The value of every setting, and where it comes from."""

    values: Mapping[str, Any]  # by the name of the field
    in_file: Mapping[str, InFile]  # what the file has, even if it is overruled
    given: frozenset[str]  # names of those that a flag or a variable sets
    table: tuple[Setting, ...]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def fault(self, name: str, message: str) -> RequestError:
        """An error about a setting that names its flag, or its line in the file."""
        if name in self.in_file and name not in self.given:
            return self.in_file[name].fault(message)
        setting = next(each for each in self.table if each.name == name)
        return RequestError(message, path=(setting.option,))

    @property
    def overruled(self) -> tuple[str, ...]:
        """Keys of the file that a flag or a variable overrules."""
        return tuple(each.setting.key for name, each in self.in_file.items() if name in self.given)

    def changed(self, before: "Resolved") -> tuple[Setting, ...]:
        return tuple(each for each in self.table if self[each.name] != before[each.name])


def _nothing_more(resolved: Resolved) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The values of flags and variables, and the file that has the rest."""

    table: tuple[Setting, ...]
    given: Mapping[str, Any]  # by the name of the field; not read yet
    path: Path | None = None  # of the file
    check: Callable[[Resolved], None] = _nothing_more  # of settings against each other
    removed: tuple[Removed, ...] = ()  # that an older driver had

    def content(self) -> bytes:
        """The content of the file; empty if there is no file."""
        if self.path is None:
            return b""
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise RequestError(f"{self.path}: cannot be read: {error.strerror}") from error

    def read(self, content: bytes | None = None) -> Resolved:
        """The settings. Raises RequestErrors for all that is wrong."""
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
            raise RequestError(str(error), path=(setting.option,)) from error


@dataclass(frozen=True, slots=True)
class Followed:
    """Settings that can be read again, and what takes over their changes."""

    sources: Sources
    started: Resolved
    change: Callable[[Resolved], None] = _nothing_more  # takes over the live ones; must not fail
