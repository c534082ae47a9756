"""The kernel settings that a tuning configuration asks for, and which of them an owner allows.

Promise: nothing outside /proc/sys/net is ever named. A key is taken as it is written, since links'
names hold capitals too; the configuration's own keys are found as Go finds them. Where a setting
could have two values, because something is written twice, the configuration is refused.
Limit: the owner's patterns are Python's regular expressions; one that is none refuses everything.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from netclaim.cni.frozen_json import repeated
from netclaim.cni.key_case import fold
from netclaim.plugins.engine.errors import ConfError, PluginError
from netclaim.plugins.engine.plugin import Invocation

ALLOWLIST: Final = Path("/etc/cni/tuning/allowlist.conf")  # where the reference plugin has it
OWN: Final = "IFNAME"  # in a key: the container's link


def read_sysctls(invocation: Invocation) -> dict[str, str]:
    """Return settings by key; those in `args.cni` over the plugin's own."""
    raw = invocation.call.config
    return _settings(_at(raw, "sysctl")) | _settings(_at(raw, "args", "cni", "sysctl"))


def sysctls_by_path(sysctls: Mapping[str, str], ifname: str) -> dict[str, str]:
    """Return settings by file, below /proc/sys."""
    found: dict[str, str] = {}  # keys, by file
    for key in sysctls:
        path = sysctl_path(key, ifname)
        if path in found:
            raise ConfError(f"the sysctl keys {found[path]!a} and {key!a} are the same setting")
        found[path] = key
    return {path: sysctls[key] for path, key in found.items()}


def sysctl_path(key: str, ifname: str) -> str:
    """Return the file of a setting, below /proc/sys."""
    written = key.replace(".", "/").replace(OWN, ifname, 1)
    parts = [part for part in written.split("/") if part]
    sound = written.isprintable() and not {".", ".."} & set(parts)
    if not sound or len(parts) == 1 or parts[:1] != ["net"]:
        raise ConfError(f"invalid net sysctl key: {key!r}")
    return "/".join(parts)


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


def _at(raw: Any, *path: str) -> Any:
    """Return what stands at a path of keys, in whatever case they are written."""
    for key in path:
        if not isinstance(raw, dict):
            return None
        found = [name for name in (*raw, *repeated(raw)) if fold(name) == key]
        if len(found) > 1:
            names = " and ".join(ascii(name) for name in found[:2])
            raise ConfError(f"the keys {names} are the same one; remove one of them")
        raw = raw[found[0]] if found else None
    return raw


def _settings(raw: Any) -> dict[str, str]:
    if raw is None:
        return {}
    if repeated(raw):
        raise ConfError("duplicated sysctl keys are not allowed")
    try:
        settings = msgspec.convert(raw, dict[str, str | None])
    except msgspec.ValidationError as error:
        raise ConfError(f"sysctl: {error}") from error
    return {key: value for key, value in settings.items() if value is not None}
