"""The sysctls of one link, all of them: read, and set again where they have changed.

Promise: what cannot be read is left out, and what cannot be set is reported, not raised.
Limit: the namespace of the calling thread, which must be the one that has the link.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from netclaim.kernel.host.sysctls.sysctl import ROOT, SysctlError, read_sysctl, write_sysctl

PLACES: Final = ("net/ipv4/conf", "net/ipv6/conf", "net/ipv4/neigh", "net/ipv6/neigh")
# The first decides whether there is IPv6 to be set at all, the second resets others.
FIRST: Final = ("disable_ipv6", "forwarding")
# Of the kernel's own, by the link's MTU or in other units beside the one in milliseconds.
NOT_SET: Final = frozenset({"mtu", "base_reachable_time", "retrans_time"})
BYTES_MAX: Final = 256  # the longest is an IPv6 address as a secret


def read_link_sysctls(name: str, only: Collection[str] = ()) -> dict[str, str]:
    """Read what a link is set to, by the names below /proc/sys with the link's left out.

    `only` these settings, if some are named.
    """
    found = {}
    for place in PLACES:
        try:
            directory = os.open(f"{ROOT}/{place}/{name}", os.O_RDONLY | os.O_DIRECTORY)
        except OSError:  # no IPv6, or no such link any more
            continue
        try:
            for setting in only or sorted(os.listdir(directory)):  # noqa: PTH208 -- 40 names
                if setting not in NOT_SET:
                    try:
                        value = read_sysctl(setting, directory=directory)
                    except SysctlError:  # a secret that was never set, or one of IPv6 alone
                        continue
                    if len(value) <= BYTES_MAX:
                        found[f"{place}/{setting}"] = value
        finally:
            os.close(directory)
    return found


def write_link_sysctls(name: str, before: dict[str, str]) -> list[str]:
    """Set what has changed; returns what could not be set, in words."""
    first = [key for setting in FIRST for key in before if key.rpartition("/")[2] == setting]
    failed = []
    for keys, only in ((first, FIRST), (sorted(before.keys() - set(first)), ())):
        now = read_link_sysctls(name, only)
        failed += _write_changed(name, before, now, keys)
    return failed


def _write_changed(
    name: str, before: Mapping[str, str], now: Mapping[str, str], keys: Iterable[str]
) -> list[str]:
    failed = []
    for key in keys:
        if now.get(key) != before[key]:
            place, _, setting = key.rpartition("/")
            try:
                write_sysctl(f"{place}/{name}/{setting}", before[key])
            except SysctlError as error:
                failed.append(str(error))
    return failed
