"""The sysctls of one link, all of them: read, and set again where they have changed.

Promise: what cannot be read is left out, and what cannot be set is reported, not raised.
Limit: the namespace of the calling thread, which must be the one that has the link.
"""

import os
from typing import Final

from netclaim.kernel.host.sysctl import ROOT, SysctlError, read_sysctl, write_sysctl

PLACES: Final = ("net/ipv4/conf", "net/ipv6/conf", "net/ipv4/neigh", "net/ipv6/neigh")
# The first decides whether there is IPv6 to be set at all, the second resets others.
FIRST: Final = ("disable_ipv6", "forwarding")
# Of the kernel's own, by the link's MTU or in other units beside the one in milliseconds.
NOT_SET: Final = frozenset({"mtu", "base_reachable_time", "retrans_time"})
BYTES_MAX: Final = 256  # the longest is an IPv6 address as a secret


def read_link_sysctls(name: str) -> dict[str, str]:
    """Read what a link is set to, by the names below /proc/sys with the link's left out."""
    found = {}
    for place in PLACES:
        try:
            settings = sorted(os.listdir(f"{ROOT}/{place}/{name}"))  # noqa: PTH208 -- 40 names
        except OSError:  # no IPv6, or no such link any more
            continue
        for setting in settings:
            if setting not in NOT_SET:
                try:
                    value = read_sysctl(f"{place}/{name}/{setting}")
                except SysctlError:  # a secret that was never set
                    continue
                if len(value) <= BYTES_MAX:
                    found[f"{place}/{setting}"] = value
    return found


def write_link_sysctls(name: str, before: dict[str, str]) -> list[str]:
    """Set what has changed; returns what could not be set, in words."""
    failed = []
    for key in sorted(before, key=lambda key: _rank(key.rpartition("/")[2])):
        place, _, setting = key.rpartition("/")
        path = f"{place}/{name}/{setting}"
        try:
            if read_sysctl(path) != before[key]:
                write_sysctl(path, before[key])
        except SysctlError as error:
            failed.append(str(error))
    return failed


def _rank(setting: str) -> tuple[int, str]:
    return (FIRST.index(setting) if setting in FIRST else len(FIRST), setting)
