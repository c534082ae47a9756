"""Read a file of settings: YAML, with a key for each setting that may be in it.

    apiVersion: driver.netclaim.dev/v1alpha1
    kind: DriverConfiguration
    attachments: ["32", "eth1=10"]
    attachTimeout: 30

Promise: every mistake is one line with the file, the line and the key, and all of them are found in
one go. A key whose value is null is as good as left out. Limit: the first two keys may be left out,
and nothing is known of what a driver adds to the table but the table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from netclaim.errors import RequestError
from netclaim.framework.setting import Form, Removed, Setting
from netclaim.manifests.documents import Document, ManifestError, decode, read_document
from netclaim.manifests.files import raise_faults
from netclaim.manifests.near import near

__all__ = ["API_VERSION", "HEAD", "KIND", "InFile", "read_settings_file", "settings_in"]

API_VERSION: Final = "driver.netclaim.dev/v1alpha1"
KIND: Final = "DriverConfiguration"
HEAD: Final = {"apiVersion": API_VERSION, "kind": KIND}


@dataclass(frozen=True, slots=True)
class InFile:
    """What a file says of one setting."""

    setting: Setting
    value: Any  # the field's
    source: str
    line: int

    def fault(self, message: str) -> RequestError:
        """An error about it, at its line."""
        return ManifestError(self.source, self.line, f"{self.setting.key}: {message}")


def read_settings_file(path: Path) -> bytes:
    """The content of a file, which must be there."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise RequestError(f"{path}: cannot be read: {error.strerror}") from error


def settings_in(
    content: bytes, source: str, table: Sequence[Setting], removed: Sequence[Removed] = ()
) -> Mapping[str, InFile]:
    """What a file says, by the name of the field."""
    decode(content, source)
    document = read_document(content, source)
    data = document.data() if not document.is_empty else {}
    if not isinstance(data, dict):
        raise document.fault_at((), "not a map of settings; for example `policy: restricted`")
    known = {each.key: each for each in table}
    gone = {each.key: each for each in removed}
    faults: list[RequestError] = []
    found: dict[str, InFile] = {}
    for key, value in data.items():
        try:
            if key in HEAD:
                _check_head(document, key, value)
                continue
            if key in gone:
                raise document.fault_at((key,), f"{key}: {gone[key].message}")
            setting = _setting(document, key, known)
            if value is not None:
                there = InFile(setting, None, source, document.line_of((key,)))
                found[setting.name] = _read(there, value)
        except RequestError as fault:
            faults.append(fault)
    raise_faults(faults)
    return found


def _check_head(document: Document, key: str, value: Any) -> None:
    if value != HEAD[key]:
        raise document.fault_at((key,), f"{key}: must be {HEAD[key]}, not {value!r}")


def _setting(document: Document, key: Any, known: Mapping[str, Setting]) -> Setting:
    setting = known.get(key)
    if setting is None:
        guess = near(str(key), (key for key, each in known.items() if not each.never_in_file))
        hint = f'did you mean "{guess}"?' if guess else "docs/driver.md lists the settings"
        raise document.fault_at((key,), f'unknown key "{key}"; {hint}')
    if setting.never_in_file:
        raise document.fault_at(
            (key,),
            f"{key}: cannot be set in a file, since {setting.never_in_file}; "
            f"use {setting.option} or ${setting.variable}",
        )
    return setting


def _read(there: InFile, value: Any) -> InFile:
    setting = there.setting
    if wrong := "; ".join(_mistakes(setting, value)):
        raise there.fault(wrong)
    try:
        return InFile(setting, setting.read(value), there.source, there.line)
    except RequestError as error:
        raise there.fault(str(error)) from error


def _mistakes(setting: Setting, value: Any) -> Iterator[str]:
    """What is wrong with the type of a value."""
    fits, wanted = TYPES[setting.form]
    if not fits(value):
        yield f"must be {wanted}{_for_example(setting, value)}"


def _for_example(setting: Setting, value: Any) -> str:
    if setting.form in ("text", "path") and isinstance(value, int | float):
        return f'; write "{value}"'
    if setting.form in ("repeated", "commas") and isinstance(value, str):
        return f"; write [{value}]"
    return f"; for example {setting.example}" if setting.example else ""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


TEXT: Final = (_is_text, "a string")
LIST: Final = (_is_list, "a list of strings")
TYPES: Final[Mapping[Form, tuple[Callable[[Any], bool], str]]] = {
    "text": TEXT,
    "path": TEXT,
    "choice": TEXT,
    "seconds": (_is_number, "a number of seconds"),
    "switch": (_is_truth, "true or false"),
    "repeated": LIST,
    "commas": LIST,
}
