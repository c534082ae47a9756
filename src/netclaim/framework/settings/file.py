"""Read a file of settings: YAML, with a key for each setting that may be in it.

    apiVersion: driver.netclaim.dev/v1alpha1
    kind: DriverConfiguration
    attachments: ["32", "eth1=10"]
    attachTimeout: 30

Promise: every mistake is one line with the file, the line and the key, and all of them are found in
one go. A key whose value is null counts as left out. Limit: the first two keys may be left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from netclaim.errors import RequestError
from netclaim.framework.settings.declare import Form, Removed, Setting
from netclaim.manifests.near import near
from netclaim.manifests.text.documents import Document, ManifestError, decode, read_document
from netclaim.manifests.text.files import raise_faults

API_VERSION: Final = "driver.netclaim.dev/v1alpha1"
KIND: Final = "DriverConfiguration"
HEAD: Final = {"apiVersion": API_VERSION, "kind": KIND}
TEXT: Final = (str, "a string")
LIST: Final = (list, "a list of strings")
TYPES: Final[Mapping[Form, tuple[type, str]]] = {
    "text": TEXT,
    "path": TEXT,
    "choice": TEXT,
    "seconds": (float, "a number of seconds"),
    "switch": (bool, "true or false"),
    "repeated": LIST,
    "commas": LIST,
}


@dataclass(frozen=True, slots=True)
class InFile:
    """The value of one setting in a file."""

    setting: Setting
    value: Any  # the field's
    source: str
    line: int

    def fault(self, message: str) -> RequestError:
        """An error that names the line."""
        return ManifestError(self.source, self.line, f"{self.setting.key}: {message}")


def settings_in(
    content: bytes, source: str, table: Sequence[Setting], removed: Sequence[Removed] = ()
) -> Mapping[str, InFile]:
    """The settings in a file, by the name of their field."""
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
    kind, wanted = TYPES[setting.form]
    if not _is(value, kind):
        raise there.fault(f"must be {wanted}{_for_example(setting, value)}")
    try:
        return InFile(setting, setting.read(value), there.source, there.line)
    except RequestError as error:
        raise there.fault(str(error)) from error


def _is(value: Any, kind: type) -> bool:
    """Whether a value has a type, as YAML has types: a whole number is a number, too."""
    if kind is list:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    return isinstance(value, kind) or (kind is float and type(value) is int)


def _for_example(setting: Setting, value: Any) -> str:
    if setting.form in ("text", "path") and isinstance(value, int | float):
        return f'; write "{value}"'
    if setting.form in ("repeated", "commas") and isinstance(value, str):
        return f"; write [{value}]"
    return f"; for example {setting.example}" if setting.example else ""
