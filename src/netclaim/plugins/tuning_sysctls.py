"""The kernel settings that a tuning configuration asks for, and which of them an owner allows.

Promise: nothing outside /proc/sys/net is ever named. A key is taken as it is written, since links'
names hold capitals too; the configuration's own keys are found as Go finds them. Where a setting
could have two values, because something is written twice, the configuration is refused.
Limit: the owner's patterns are Python's regular expressions; one that is none refuses everything.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from netclaim.cni.folding import fold
from netclaim.plugins.errors import ConfError, PluginError
from netclaim.plugins.plugin import Invocation

__all__ = ["ALLOWLIST", "check_allowed", "read_sysctls", "sysctl_path", "sysctls_by_path"]

ALLOWLIST: Final = Path("/etc/cni/tuning/allowlist.conf")  # where the reference plugin has it
OWN: Final = "IFNAME"  # in a key: the container's link


def read_sysctls(invocation: Invocation) -> dict[str, str]:
    """Return settings by key; those in `args.cni` over the plugin's own."""
    raw = _decode(invocation.call.config)
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


def _decode(config: bytes) -> Any:
    """Decode a configuration with all that stands in it twice: an object is a tuple of pairs."""
    try:
        return json.loads(config, object_pairs_hook=tuple)
    except (ValueError, RecursionError) as error:
        raise ConfError(f"the configuration cannot be read: {error}") from error


def _at(raw: Any, *path: str) -> Any:
    """Return what stands at a path of keys, in whatever case they are written."""
    for key in path:
        if not isinstance(raw, tuple):
            return None
        found = [(name, value) for name, value in raw if fold(name) == key]
        if len(found) > 1:
            names = " and ".join(ascii(name) for name, _ in found[:2])
            raise ConfError(f"the keys {names} are the same one; remove one of them")
        raw = found[0][1] if found else None
    return raw


def _settings(raw: Any) -> dict[str, str]:
    if raw is None:
        return {}
    written = dict(raw) if isinstance(raw, tuple) else raw
    if isinstance(raw, tuple) and len(written) < len(raw):
        raise ConfError("duplicated sysctl keys are not allowed")
    try:
        settings = msgspec.convert(written, dict[str, str | None])
    except msgspec.ValidationError as error:
        raise ConfError(f"sysctl: {error}") from error
    return {key: value for key, value in settings.items() if value is not None}
