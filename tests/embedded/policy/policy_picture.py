"""Pictures of a namespace and of files: whatever an attacker must leave as it is.

Promise: two pictures are equal if nothing changed that somebody set; what changes by itself
(counters, timers, ages) is not in them. A difference says which entry came or went.
Limit: of the neighbours only those that were put there for good.
"""

import os
import socket
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final

from netclaim.kernel import Netns, Request, Rtnl
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import attributes, number, text_of
from netclaim.kernel.requests.ip import IFADDRMSG, RTMSG
from netclaim.kernel.requests.links import IFINFOMSG, dump_links
from netclaim.kernel.requests.rules import HEADER as RULE

__all__ = [
    "SETTINGS",
    "FilePicture",
    "Picture",
    "Witness",
    "again",
    "all_settings",
    "changes",
    "identity_of",
    "picture_files",
    "picture_settings",
    "witness_of",
]

NDMSG: Final = struct.Struct("=B3xiHBB")  # family, link index, state, flags, type
TCMSG: Final = struct.Struct("=B3xiIII")  # family, link index, handle, parent, info
RTM_GETNEIGH: Final = 30
NUD_PERMANENT: Final = 0x80
RTA_OIF: Final = 4

# What changes by itself, of each kind of message (linux/if_link.h, if_addr.h, rtnetlink.h).
LINK_COUNTERS: Final = {7, 23}  # IFLA_STATS, IFLA_STATS64
INET6_COUNTERS: Final = {3, 5, 6}  # IFLA_INET6_STATS, _CACHEINFO, _ICMP6STATS
BRIDGE_TIMERS: Final = {16, 17, 18, 19}  # IFLA_BR_HELLO_TIMER to IFLA_BR_GC_TIMER
PORT_TIMERS: Final = {21, 22, 23}  # IFLA_BRPORT_MESSAGE_AGE_TIMER to IFLA_BRPORT_HOLD_TIMER
PARTS: Final[Mapping[str, tuple[struct.Struct, Collection[int]]]] = {  # the fixed part, and these
    "address": (IFADDRMSG, {6}),  # IFA_CACHEINFO
    "route": (RTMSG, {12}),  # RTA_CACHEINFO
    "rule": (RULE, ()),
    "neighbour": (NDMSG, {3, 4}),  # NDA_CACHEINFO, NDA_PROBES
    "queue": (TCMSG, {3, 4, 7}),  # TCA_STATS, TCA_XSTATS, TCA_STATS2
}

# IFLA_ADDRESS, _MTU, _MASTER, _TXQLEN, _IFALIAS, _PROMISCUITY, _ALLMULTI
IDENTITY: Final = {"up", "1", "4", "10", "13", "20", "30", "61"}
INFO_SLAVE_DATA: Final = 5
KEPT: Final = 4096  # messages; the same ones come with every picture

# Settings of the node that claims have tried to reach, or that plugins for the node change.
SETTINGS: Final = (
    "net/core/somaxconn",
    *(
        f"net/ipv4/{name}"
        for name in (
            "ip_forward", "ip_local_port_range", "ip_unprivileged_port_start", "tcp_rmem",
            "tcp_wmem", "tcp_syncookies", "tcp_fin_timeout", "ping_group_range", "tcp_mem",
            "conf/all/rp_filter", "conf/all/proxy_arp", "conf/all/arp_ignore",
            "conf/default/rp_filter", "conf/default/forwarding", "conf/default/arp_ignore",
        )
    ),
    *(
        f"net/ipv6/conf/{name}"
        for name in (
            "all/forwarding", "all/disable_ipv6", "default/forwarding", "default/accept_dad",
            "default/disable_ipv6",
        )
    ),
)  # fmt: skip

Entry = tuple[str, int, str]  # kind, link index or 0, all of it in words
Picture = frozenset[Entry]
FilePicture = Mapping[str, tuple[int, ...]]


def _request(kind: int, payload: bytes) -> Request:
    return Request(kind, payload, "take a picture", dump=True)


# Everything of a namespace that has a list; tables and families that are not given mean all.
DUMPS: Final[tuple[tuple[str, Request], ...]] = (
    ("link", dump_links()),
    ("address", _request(uapi.RTM_GETADDR, IFADDRMSG.pack(0, 0, 0, 0, 0))),
    *(
        ("route", _request(uapi.RTM_GETROUTE, RTMSG.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)))
        for family in (socket.AF_INET, socket.AF_INET6)
    ),
    *(
        ("rule", _request(uapi.RTM_GETRULE, RULE.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)))
        for family in (socket.AF_INET, socket.AF_INET6)
    ),
    ("neighbour", _request(RTM_GETNEIGH, NDMSG.pack(0, 0, 0, 0, 0))),
    ("queue", _request(uapi.RTM_GETQDISC, TCMSG.pack(0, 0, 0, 0, 0))),
)


class Witness:
    """Takes pictures of one namespace, over one socket."""

    def __init__(self, rtnl: Rtnl) -> None:
        self._rtnl = rtnl

    async def picture(self) -> Picture:
        """Look at everything now."""
        found: set[Entry] = set()
        for kind, request in DUMPS:
            for message in await self._rtnl.dump(request):
                found.update(_entries(kind, message.payload))
        return frozenset(found)


@contextmanager
def witness_of(netns: Netns) -> Iterator[Witness]:
    """A witness of a namespace for as long as the block lasts."""
    with Rtnl.open(netns) as rtnl:
        yield Witness(rtnl)


def changes(before: Picture, after: Picture, *, but_for: Collection[str] = ()) -> list[str]:
    """Say what is different, apart from all that is about some links, by their names."""
    indices = {
        index
        for kind, index, words in before | after
        if kind == "link" and words.partition(" ")[0] in but_for
    }
    gone = sorted(entry for entry in before - after if entry[1] not in indices)
    come = sorted(entry for entry in after - before if entry[1] not in indices)
    return [f"- {kind} {words}" for kind, _, words in gone] + [
        f"+ {kind} {words}" for kind, _, words in come
    ]


def identity_of(picture: Picture, link: str) -> set[str]:
    """What a link has when it is back from a pod; nothing where there is no such link.

    Its carrier is not in it: the kernel sees to that in its own time, up to a second.
    """
    found = next(
        ((index, words) for kind, index, words in picture if kind == "link" and _is(link, words)),
        None,
    )
    if found is None:
        return set()
    own = {words for kind, index, words in picture if kind == "address" and index == found[0]}
    return own | {word for word in found[1].split() if word.partition("=")[0] in IDENTITY}


def _is(link: str, words: str) -> bool:
    return words.partition(" ")[0] == link


@lru_cache(maxsize=KEPT)
def _entries(kind: str, payload: bytes) -> tuple[Entry, ...]:
    if kind == "link":
        return (_link(payload),)
    header, without = PARTS[kind]
    fixed = header.unpack_from(payload)
    index = 0
    if kind == "address":
        index = fixed[-1]
    elif kind == "route":
        index = number(dict(attributes(payload, header.size)).get(RTA_OIF, b""))
    elif kind in {"neighbour", "queue"}:
        index = fixed[1]
    if kind == "neighbour" and not fixed[2] & NUD_PERMANENT:
        return ()
    found = attributes(payload, header.size)
    words = " ".join(f"{kind}={value.hex()}" for kind, value in found if kind not in without)
    return ((kind, index, f"[{','.join(map(str, fixed))}] {words}"),)


def _link(payload: bytes) -> Entry:
    _, arphrd, index, flags, _ = IFINFOMSG.unpack_from(payload)
    words = [f"type={arphrd} flags={flags:#x} up={flags & uapi.IFF_UP}"]
    name = ""
    for kind, value in attributes(payload, IFINFOMSG.size):
        if kind == uapi.IFLA_IFNAME:
            name = text_of(value)
        elif kind == uapi.IFLA_AF_SPEC:
            words += _settings(value)
        elif kind == uapi.IFLA_LINKINFO:
            words += _kind_settings(value)
        elif kind not in LINK_COUNTERS:
            words.append(f"{kind}={value.hex()}")
    return ("link", index, f"{name} index={index} {' '.join(words)}")


def _settings(value: bytes) -> Iterator[str]:
    """Tell the settings that a link has under /proc/sys/net/ipv4/conf and ipv6/conf."""
    for family, inner in attributes(value):
        if family == socket.AF_INET6:
            for kind, setting in attributes(inner):
                if kind not in INET6_COUNTERS:
                    yield f"inet6.{kind}={setting.hex()}"
        else:
            yield f"family{family}={inner.hex()}"


def _kind_settings(value: bytes) -> Iterator[str]:
    for kind, inner in attributes(value):
        if kind in {uapi.IFLA_INFO_DATA, INFO_SLAVE_DATA}:
            timers = BRIDGE_TIMERS if kind == uapi.IFLA_INFO_DATA else PORT_TIMERS
            for key, setting in attributes(inner):
                if key not in timers:
                    yield f"info{kind}.{key}={setting.hex()}"
        else:
            yield f"info{kind}={text_of(inner)}"


def picture_files(paths: Iterable[str]) -> FilePicture:
    """Everything at or below some paths; a directory shows what was made or removed in it."""
    found: dict[str, tuple[int, ...]] = {}
    for top in paths:
        found |= {path: _status(path) for path in (top, *_below(top))}
    return found


def again(picture: FilePicture) -> FilePicture:
    """Look at the same files again: new ones show in their directory's time of change."""
    return {path: _status(path) for path in picture}


def _below(top: str) -> Iterator[str]:
    for directory, names, files in os.walk(top):
        yield from (f"{directory}/{name}" for name in (*names, *files))


def _status(path: str) -> tuple[int, ...]:
    try:
        status = os.lstat(path)
    except OSError as error:
        return (-(error.errno or 1),)
    return (
        status.st_mode,
        status.st_ino,
        status.st_nlink,
        status.st_size,
        status.st_uid,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def picture_settings(names: Iterable[str]) -> dict[str, str]:
    """The kernel's settings below /proc/sys, as they are in this thread's namespace."""
    return {name: _setting(f"/proc/sys/{name}") for name in names}


def all_settings() -> list[str]:
    """Name every setting of the network that can be read."""
    top = Path("/proc/sys")
    return sorted(str(path.relative_to(top)) for path in (top / "net").rglob("*") if path.is_file())


def _setting(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return f"errno {error.errno}"
    try:
        return os.read(fd, 4096).decode(errors="replace").strip()
    except OSError as error:
        return f"errno {error.errno}"
    finally:
        os.close(fd)
