"""Switches of a card by their names: offload features, and flags that only its driver knows.

`ethtool -k` shows the features under these names, and its group names (`tcp-segmentation-offload`)
are known too. Promise: a name that the link does not have, or a feature that it cannot change, is
an error with the name, and nothing was switched then.
Limit: of a group, what the link can change is switched; the rest of it stays.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from netclaim.errors import HostError
from netclaim.kernel.state.card.card_settings import (
    BLOCK_WORDS,
    FEATURES_SET,
    GET_FEATURES,
    GET_SET_INFO,
    SET_FEATURES,
    SET_INFO,
    WORDS,
    ethtool,
)
from netclaim.kernel.state.link_identity import Socket

GET_STRINGS: Final = 0x1B  # linux/ethtool.h, like the next two
GET_FLAGS, SET_FLAGS = 0x27, 0x28
FLAGS_SET: Final = 2
STRING: Final = 32  # bytes of a name
STRINGS: Final = struct.Struct("=III")  # command, set, count
BITS: Final = 32

# What `ethtool` calls several features, or calls otherwise than the kernel.
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "rx-checksumming": ("rx-checksum",),
    "tx-checksumming": (
        "tx-checksum-ipv4",
        "tx-checksum-ip-generic",
        "tx-checksum-ipv6",
        "tx-checksum-fcoe-crc",
        "tx-checksum-sctp",
    ),
    "scatter-gather": ("tx-scatter-gather", "tx-scatter-gather-fraglist"),
    "tcp-segmentation-offload": (
        "tx-tcp-segmentation",
        "tx-tcp-ecn-segmentation",
        "tx-tcp-mangleid-segmentation",
        "tx-tcp6-segmentation",
    ),
    "generic-segmentation-offload": ("tx-generic-segmentation",),
    "generic-receive-offload": ("rx-gro",),
    "large-receive-offload": ("rx-lro",),
    "rx-vlan-offload": ("rx-vlan-hw-parse",),
    "tx-vlan-offload": ("tx-vlan-hw-insert",),
    "ntuple-filters": ("rx-ntuple-filter",),
    "receive-hashing": ("rx-hashing",),
}


def switch_features(sock: Socket, name: str, wanted: Mapping[str, bool]) -> None:
    """Switch features on and off; HostError names one that cannot be."""
    names = _names(sock, name, FEATURES_SET)
    blocks = _feature_blocks(sock, name, len(names))
    valid, on = [0] * len(blocks), [0] * len(blocks)
    for feature, state in wanted.items():
        for bit in _bits(feature, state, names, blocks):
            valid[bit // BITS] |= 1 << bit % BITS
            on[bit // BITS] |= state << bit % BITS
    data = WORDS.pack(SET_FEATURES, len(blocks))
    data += b"".join(WORDS.pack(*each) for each in zip(valid, on, strict=True))
    if any(valid):
        _ask(sock, name, data, f"the features {', '.join(wanted)}")


def switch_flags(sock: Socket, name: str, wanted: Mapping[str, bool]) -> None:
    """Switch flags of the card's driver; HostError names one that it does not have."""
    names = _names(sock, name, FLAGS_SET)
    names = [each.lower() for each in names]  # as configurations have their keys
    for flag in wanted:
        if flag not in names:
            there = ", ".join(sorted(names)) or "none"
            raise HostError(f"the link has no private flag {flag!r}; it has {there}")
    _, flags = WORDS.unpack(_ask(sock, name, WORDS.pack(GET_FLAGS, 0), "its private flags"))
    for flag, state in wanted.items():
        bit = 1 << names.index(flag)
        flags = flags | bit if state else flags & ~bit
    _ask(sock, name, WORDS.pack(SET_FLAGS, flags), f"the private flags {', '.join(wanted)}")


def _bits(
    feature: str, state: bool, names: Sequence[str], blocks: Sequence[tuple[int, ...]]
) -> list[int]:
    """Say which bits a name means; those that are so already need not be changeable."""
    bits = [names.index(each) for each in GROUPS.get(feature, (feature,)) if each in names]
    if not bits:
        raise HostError(f"the link has no feature {feature!r}; `ethtool -k` lists those it has")
    changeable = [bit for bit in bits if blocks[bit // BITS][0] >> bit % BITS & 1]
    fixed = [bit for bit in bits if bit not in changeable]
    if not changeable and any(
        bool(blocks[bit // BITS][2] >> bit % BITS & 1) is not state for bit in fixed
    ):
        raise HostError(f"the link cannot switch the feature {feature} {'on' if state else 'off'}")
    return changeable


def _feature_blocks(sock: Socket, name: str, count: int) -> list[tuple[int, ...]]:
    """Read 32 features at a time: available, requested, active, never changed."""
    size = (count + BITS - 1) // BITS
    data = WORDS.pack(GET_FEATURES, size) + bytes(4 * BLOCK_WORDS * size)
    answer = _ask(sock, name, data, "its features")
    words = struct.unpack_from(f"={BLOCK_WORDS * size}I", answer, WORDS.size)
    return [words[at : at + BLOCK_WORDS] for at in range(0, len(words), BLOCK_WORDS)]


def _names(sock: Socket, name: str, which: int) -> list[str]:
    """Read the names of a set, in the order of their bits."""
    question = SET_INFO.pack(GET_SET_INFO, 0, 1 << which, 0)
    _, _, there, count = SET_INFO.unpack(_ask(sock, name, question, "what it can switch"))
    if not there or not count:
        return []
    data = STRINGS.pack(GET_STRINGS, which, count) + bytes(STRING * count)
    answer = _ask(sock, name, data, "the names of what it can switch")
    texts = (answer[STRINGS.size + STRING * n :][:STRING] for n in range(count))
    return [text.partition(b"\0")[0].decode(errors="replace") for text in texts]


def _ask(sock: Socket, name: str, data: bytes, what: str) -> bytes:
    try:
        return ethtool(sock, name, bytearray(data))
    except OSError as error:
        raise HostError(f"the link does not take or tell {what}: {error.strerror}") from error
