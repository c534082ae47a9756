"""What is left out of an archive for maintainers: everything that may be a secret. No I/O.

Promise: values are removed by the names of their keys and by what they look like, in objects and in
text; too much rather than too little. Limit: a secret under a harmless name that looks like nothing
in particular stays; so kinds that hold secrets (Secret, ConfigMap) are not read at all.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from netclaim.json_text import read_json
from netclaim.model.api.base import FREE
from netclaim.model.claims.unreadable import bounded

REMOVED: Final = "(removed)"
SENSITIVE: Final = (
    r"pass(?:word|wd|phrase|code)?\b|pwd|secret|token|credential|api[_-]?key|private[_-]?key"
    r"|access[_-]?key|auth(?:s|orization|data|config)?\b|cookie|psk\b|bearer|kubeconfig|certificate"
)
SENSITIVE_KEY: Final = re.compile(SENSITIVE, re.IGNORECASE)
# Of parameters, whose keys are the plugins' own: `key` and what ends with it.
PARAMETER_KEY: Final = re.compile(rf"{SENSITIVE}|key$", re.IGNORECASE)
PARAMETERS: Final = ("parameters", "config", "configuration")  # within these, keys are plugins'
OTHERS: Final = FREE.union(PARAMETERS)
PUBLIC_ANNOTATIONS: Final = re.compile(r"^(?:[\w.-]+\.)?(?:kubernetes|k8s)\.io/")
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
# From where a word begins, and not far: a line may be a megabyte of one word.
NAME: Final = rf"[\w.-]{{0,64}}?(?:{SENSITIVE})[\w.-]{{0,64}}"
# By what they look like, wherever they are.
SHAPES: Final = (
    (re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL), REMOVED),
    (re.compile(r"eyJ[\w-]{6,}\.[\w-]+(?:\.[\w-]*)?"), REMOVED),  # a JSON web token
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{4,}", re.IGNORECASE), rf"\1 {REMOVED}"),
    (re.compile(r"://[^/\s@\"']+@"), f"://{REMOVED}@"),  # the user of a URL
    (
        re.compile(
            rf"(\b{NAME}\\?[\"']?\s*[:=]\s*|(?<!\S)--{NAME}\s+)"
            r"(\\?\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s,;}\"']+)",
            re.IGNORECASE,
        ),
        rf"\1{REMOVED}",
    ),
)


def clean_text(text: str) -> str:
    """Return a text without what looks like a secret."""
    for shape, instead in SHAPES:
        text = shape.sub(instead, text)
    return text


def clean(value: Any, *, parameters: bool = False) -> Any:
    """Return an object without secrets; within `parameters` all keys are somebody else's."""
    if isinstance(value, Mapping):
        return {
            key: _clean_field(str(key), below, value, parameters=parameters)
            for key, below in value.items()
            if key != "managedFields"
        }
    if isinstance(value, str):
        return _clean_json(value) if parameters and value.startswith("{") else clean_text(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return _clean_list(value, parameters=parameters)
    return REMOVED if isinstance(value, bytes) else value


def _clean_field(key: str, value: Any, among: Mapping[str, Any], *, parameters: bool) -> Any:
    if value is None or isinstance(value, bool):
        return value
    sensitive = (PARAMETER_KEY if parameters else SENSITIVE_KEY).search(key)
    if sensitive:
        return REMOVED
    if key == "annotations" and isinstance(value, Mapping):
        return {name: _annotation(name, text) for name, text in value.items()}
    if key == "env" and isinstance(value, Sequence):
        return [{"name": each.get("name"), "value": REMOVED} for each in value]
    if key == "value" and SENSITIVE_KEY.search(str(among.get("name", ""))):
        return REMOVED
    if not parameters and key in OTHERS:
        value = bounded(value)  # anybody may write a thousand levels there
    return clean(value, parameters=parameters or key in PARAMETERS)


def _clean_json(text: str) -> str:
    """Return an object that was written as a string, as a network may be; not if that fails."""
    try:
        return json.dumps(clean(read_json(text), parameters=True))
    except ValueError:
        return REMOVED


def _annotation(name: str, text: Any) -> Any:
    known = PUBLIC_ANNOTATIONS.match(name) and name != LAST_APPLIED
    return clean_text(text) if known and not SENSITIVE_KEY.search(name) else REMOVED


def _clean_list(values: Sequence[Any], *, parameters: bool) -> list[Any]:
    """Return a list; of a command line, also without what follows a flag such as `--token`."""
    cleaned = []
    hidden = False
    for value in values:
        cleaned.append(REMOVED if hidden else clean(value, parameters=parameters))
        flag = isinstance(value, str) and value.startswith("-") and "=" not in value
        hidden = flag and bool(SENSITIVE_KEY.search(value))
    return cleaned
