"""A container's name servers: those of its network, of the address management, or of a file.

Promise: chosen as the reference plugins choose. What is read from a file like /etc/resolv.conf is
name servers, domains and options, whatever the file is; errors do not quote it. Only a regular file
is read, or one that a symbolic link leads to, as /etc/resolv.conf often is one. Nothing waits for
the other end of a FIFO, or for a device.
Limit: lines that no resolver would use are passed over, and so are entries beyond its limits.
Reading a file is not for the event loop.
"""

import ipaddress
import os
import re
import stat
from typing import Final

from netclaim.cni import DNS
from netclaim.cni.plain_files import read_all
from netclaim.plugins.engine.conf import Conf, NetConf
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.plugin import Invocation

# O_NONBLOCK also for files of /proc and of tracing that are regular, and wait for what comes next.
OPEN: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
BYTES_MAX: Final = 1 << 16  # the longest that is of use has 2 KiB of domains, and comments

NAME_SERVERS_MAX: Final = 3  # glibc's MAXNS, and musl's; Kubernetes allows a pod as many
SEARCHES_MAX: Final = 32  # what Kubernetes allows a pod; others allow fewer
OPTIONS_MAX: Final = 20  # resolv.conf(5) knows 18

ZONE: Final = re.compile(r"[\w.-]{1,15}", re.ASCII)  # after a %: the name of a link, or its number
LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
DOMAIN: Final = re.compile(rf"\.|{LABEL}(?:\.{LABEL})*\.?")  # a dot alone: the root
DOMAIN_MAX: Final = 254  # characters of a name in DNS, with the last dot
OPTION: Final = re.compile(r"[a-z][a-z0-9-]{0,31}(?::[0-9]{1,5})?")  # ndots:5, edns0, trust-ad


class DnsKeys(Conf, frozen=True):
    """What stands under `dns`; an empty list is said too, and means that there are none."""

    nameservers: tuple[str, ...] | None = None
    domain: str = ""
    search: tuple[str, ...] | None = None
    options: tuple[str, ...] | None = None


class DnsConf(Conf, frozen=True):
    """The part of a configuration that is about name servers."""

    dns: DnsKeys = DnsKeys()


def chosen_dns(invocation: Invocation, leased: DNS) -> DNS:
    """Return what the configuration says, or `leased` where it says nothing."""
    says_nothing = invocation.conf(DnsConf).dns == DnsKeys()
    return leased if says_nothing else invocation.conf(NetConf).dns


def read_resolv_conf(path: str) -> DNS:
    """Read what a container's resolver should use."""
    servers: list[str] = []
    searches: list[str] = []
    options: list[str] = []
    domain = ""
    for line in _lines(path):
        word, *values = line.split() or [""]
        match word:
            case "nameserver":
                servers += filter(_is_address, values[:1])
            case "domain":
                domain = next(filter(_is_domain, values[:1]), domain)
            case "search":
                searches += filter(_is_domain, values)
            case "options":
                options += filter(OPTION.fullmatch, values)
    return DNS(
        nameservers=tuple(servers[:NAME_SERVERS_MAX]),
        domain=domain,
        search=tuple(searches[:SEARCHES_MAX]),
        options=tuple(options[:OPTIONS_MAX]),
    )


def _lines(path: str) -> list[str]:
    try:
        _require_file(os.stat(path), path)  # noqa: PTH116 -- to open some devices does something
        fd = os.open(path, OPEN)
        try:
            _require_file(os.fstat(fd), path)
            content = read_all(fd, path, BYTES_MAX)
        finally:
            os.close(fd)
    except OSError as error:
        raise PluginError(f"resolvConf: {path!r}: {error.strerror}") from error
    except ValueError:
        raise PluginError(f"resolvConf: {path!r} is not a path") from None
    try:
        return content.decode().splitlines()
    except UnicodeDecodeError:
        # Not `from` it: it has all of the content.
        raise PluginError(f"resolvConf: {path!r} is not a text") from None


def _require_file(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise PluginError(f"resolvConf: {path!r} is not a regular file")


def _is_address(written: str) -> bool:
    address, percent, zone = written.partition("%")
    if percent and not ZONE.fullmatch(zone):
        return False
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def _is_domain(written: str) -> bool:
    return len(written) <= DOMAIN_MAX and DOMAIN.fullmatch(written) is not None
