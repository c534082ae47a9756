"""The kernel settings that a tuning configuration asks for, and which of them an owner allows.

Promise: nothing outside /proc/sys/net is ever named. A key is taken as it is written, since links'
names hold capitals too.
Limit: the owner's patterns are Python's regular expressions; one that is none refuses everything.
"""

import json
import os.path
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from netclaim.plugins.errors import PluginError
from netclaim.plugins.plugin import Invocation

__all__ = ["ALLOWLIST", "check_allowed", "read_sysctls", "sysctl_path"]

ALLOWLIST: Final = Path("/etc/cni/tuning/allowlist.conf")  # where the reference plugin has it
ROOT: Final = "/proc/sys/"
OWN: Final = "IFNAME"  # in a key: the container's link


def read_sysctls(invocation: Invocation) -> dict[str, str]:
    """Return settings by key; those in `args.cni` over the plugin's own."""
    _refuse_duplicates(invocation.call.config)
    raw = invocation.raw
    return _settings(_at(raw, "sysctl")) | _settings(_at(raw, "args", "cni", "sysctl"))


def sysctl_path(key: str, ifname: str) -> str:
    """Return the file of a setting, below /proc/sys."""
    written = key.replace(".", "/").replace(OWN, ifname, 1)
    path = os.path.normpath(ROOT + written)
    if not path.startswith(f"{ROOT}net/") or "\0" in path:
        raise PluginError(f"invalid net sysctl key: {key!r}")
    return path.removeprefix(ROOT)


def check_allowed(keys: Iterable[str], allowlist: Path) -> None:
    """Refuse keys that match no line of the owner's list, where there is one."""
    try:
        lines = (line.strip() for line in allowlist.read_text().splitlines())
        patterns = [re.compile(line) for line in lines if line]
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError, re.error) as error:
        raise PluginError(f"{allowlist}: {error}") from error
    for key in keys:
        if not any(pattern.search(key) for pattern in patterns):
            raise PluginError(f"sysctl {key} is not allowed by {allowlist}")


def _settings(raw: object) -> dict[str, str]:
    if raw is None:
        return {}
    try:
        settings = msgspec.convert(raw, dict[str, str | None])
    except msgspec.ValidationError as error:
        raise PluginError(f"sysctl: {error}") from error
    return {key: value for key, value in settings.items() if value is not None}


def _at(raw: Any, *keys: str) -> Any:
    """Return what stands at a path of keys, in whatever case they are written."""
    for key in keys:
        if not isinstance(raw, dict):
            return None
        raw = next((value for name, value in raw.items() if name.lower() == key), None)
    return raw


def _refuse_duplicates(config: bytes) -> None:
    """Refuse a key that is there twice: decoded, only one of them would be left."""
    pairs: list[tuple[str, Any]] = json.loads(config, object_pairs_hook=list)
    for name, settings in pairs:
        if name.lower() == "sysctl" and isinstance(settings, list):
            keys = [key for key, _ in settings]
            if len(keys) != len(set(keys)):
                raise PluginError("duplicated sysctl keys are not allowed")
