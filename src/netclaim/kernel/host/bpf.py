"""BPF programs that see a link's packets: found and detached by the system call.

For those that rtnetlink does not know, or cannot remove: TCX programs, and any that a BPF link
holds. Promise: works on the namespace of the calling thread. Limit: only x86-64 and arm64 have the
call's number here; a kernel without TCX (before 6.6) has no such programs.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

NUMBERS: Final = {"x86_64": 321, "aarch64": 280}  # of the system call
# linux/bpf.h
PROG_DETACH, PROG_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD, PROG_QUERY = 9, 13, 15, 16
LINK_GET_FD_BY_ID, LINK_GET_NEXT_ID, LINK_DETACH = 30, 31, 34
TCX: Final = (46, 47)  # attach types: what comes in, and what goes out
LINK_XDP: Final = 6  # the kind of a BPF link
QUERY: Final = struct.Struct(
    "=IIIIQIIQQQQ"
)  # index, type, flags, flags, ids, count, ..., links, ..
DETACH: Final = struct.Struct("=IIIIIIQ")  # index, program, type, flags, ...
BY_ID: Final = struct.Struct("=III")
INFO: Final = struct.Struct("=IIQ")  # descriptor, length, address
LINK_INFO: Final = struct.Struct("=IIII8x")  # kind, id, program's id, (padding), of the kind
PROGRAMS_MAX: Final = 64  # the kernel's, for one place of a link
NO_TCX: Final = frozenset({errno.EINVAL, errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV})

_libc: Final = ctypes.CDLL(None, use_errno=True)


def detach_tcx(index: int) -> int:
    """Detach all TCX programs of a link, and return how many there were; OSError if one stays."""
    return sum(_detach_at(index, place) for place in TCX)


def detach_xdp_links(programs: Collection[int]) -> None:
    """Detach the BPF links that hold one of these XDP programs to a link."""
    for link_id in list(_link_ids()):
        with _opened(LINK_GET_FD_BY_ID, link_id) as fd:
            info = ctypes.create_string_buffer(LINK_INFO.size)
            _bpf(OBJ_GET_INFO_BY_FD, INFO.pack(fd, LINK_INFO.size, ctypes.addressof(info)))
            kind, _, program, _ = LINK_INFO.unpack(info.raw)
            if kind == LINK_XDP and program in programs:
                _bpf(LINK_DETACH, struct.pack("=I", fd))


def _detach_at(index: int, place: int) -> int:
    ids = (ctypes.c_uint32 * PROGRAMS_MAX)()
    links = (ctypes.c_uint32 * PROGRAMS_MAX)()
    where = ctypes.addressof(ids), ctypes.addressof(links)
    question = QUERY.pack(index, place, 0, 0, where[0], PROGRAMS_MAX, 0, 0, where[1], 0, 0)
    try:
        count: int = QUERY.unpack(_bpf(PROG_QUERY, question))[5]
    except OSError as error:
        if error.errno in NO_TCX:
            return 0
        raise
    for program, link in list(zip(ids, links, strict=True))[:count]:
        if link:
            with _opened(LINK_GET_FD_BY_ID, link) as fd:
                _bpf(LINK_DETACH, struct.pack("=I", fd))
        else:
            with _opened(PROG_GET_FD_BY_ID, program) as fd:
                _bpf(PROG_DETACH, DETACH.pack(index, fd, place, 0, 0, 0, 0))
    return count


def _link_ids() -> Iterator[int]:
    last = 0
    while True:
        try:
            last = BY_ID.unpack(_bpf(LINK_GET_NEXT_ID, BY_ID.pack(last, 0, 0)))[1]
        except OSError as error:
            if error.errno == errno.ENOENT:
                return
            raise
        yield last


@contextmanager
def _opened(command: int, number: int) -> Iterator[int]:
    """Have a descriptor of a program or a BPF link for what the block does."""
    fd = _call(command, ctypes.create_string_buffer(BY_ID.pack(number, 0, 0)), BY_ID.size)
    try:
        yield fd
    finally:
        os.close(fd)


def _bpf(command: int, question: bytes) -> bytes:
    """Ask, and return the question as the kernel leaves it."""
    buffer = ctypes.create_string_buffer(question, len(question))
    _call(command, buffer, len(question))
    return buffer.raw


def _call(command: int, buffer: "ctypes.Array[ctypes.c_char]", size: int) -> int:
    number = NUMBERS.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, f"no BPF on {platform.machine()}")
    result: int = _libc.syscall(number, command, buffer, size)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"BPF: {os.strerror(code)}")
    return result
