"""Copies of addresses that end by themselves."""

import socket
import time

from netclaim.kernel.netlink.codec import attributes
from netclaim.kernel.requests.ip import IFADDRMSG
from netclaim.kernel.state.copies.address_copies import (
    CACHEINFO,
    FOREVER,
    IFA_CACHEINFO,
    TakenAddress,
    give_back,
    still_there,
)

PARTS = ((1, bytes([192, 0, 2, 7])),)


def ending(preferred_s: float, valid_s: float) -> TakenAddress:
    """An address that ends in so many seconds."""
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    return TakenAddress(socket.AF_INET, 24, 0, PARTS, (now + preferred_s, now + valid_s))


def test_what_has_ended_is_not_given_back() -> None:
    """Nor what would end in the next moment; what lasts is."""
    lasting = TakenAddress(socket.AF_INET, 24, 0, PARTS)
    leased, ended = ending(-5, 3600), ending(-5, -1)
    assert still_there([lasting, ended, leased, ending(0, 0.5)]) == [lasting, leased]


def test_what_is_left_of_a_life_is_given_back() -> None:
    """One that is no longer preferred stays so, and nothing is more than for ever."""
    for address, left in ((ending(-5, 3600), (0, 3600)), (ending(1e9, 1e12), (10**9, FOREVER))):
        parts = dict(attributes(give_back(7, address).payload, IFADDRMSG.size))
        preferred, valid, *_ = CACHEINFO.unpack(parts[IFA_CACHEINFO])
        assert left[0] - 60 <= preferred <= left[0]
        assert left[1] - 60 <= valid <= left[1]
    lasting = give_back(7, TakenAddress(socket.AF_INET, 24, 0, PARTS))
    assert IFA_CACHEINFO not in dict(attributes(lasting.payload, IFADDRMSG.size))
