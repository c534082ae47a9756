"""Read name servers from a file like /etc/resolv.conf. Pure, but for opening it."""

from pathlib import Path

from netclaim.cni import DNS
from netclaim.plugins.errors import PluginError

__all__ = ["read_resolv_conf"]


def read_resolv_conf(path: str) -> DNS:
    """Read what a container's resolver should use."""
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PluginError(f"resolvConf: {error}") from error
    found: dict[str, list[str]] = {"nameserver": [], "domain": [], "search": [], "options": []}
    for line in lines:
        word, *values = line.split() or [""]
        if word in found and values:
            found[word] += values[:1] if word in {"nameserver", "domain"} else values
    return DNS(
        nameservers=tuple(found["nameserver"]),
        domain=found["domain"][-1] if found["domain"] else "",
        search=tuple(found["search"]),
        options=tuple(found["options"]),
    )
