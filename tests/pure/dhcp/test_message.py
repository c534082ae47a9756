"""DHCP messages and packets as bytes."""

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.dhcp.granted import read_granted
from netclaim.dhcp.message import (
    COOKIE,
    HEADER,
    MESSAGE_MAX,
    Kind,
    MalformedError,
    Message,
    Option,
    decode,
    encode,
)
from netclaim.dhcp.packet import EVERYBODY, unwrap, wrap
from tests.support.dhcp_messages import MAC, SERVER, WANTED, said
from tests.support.fuzzing import try_all

OWN = IPv4Address("10.9.0.7")
OPTIONS = st.dictionaries(
    st.integers(1, 254).filter(lambda code: code != Option.OVERLOAD),
    st.binary(min_size=1, max_size=300),
    max_size=3,
)


@given(OPTIONS, st.integers(0, 0xFFFFFFFF), st.booleans())
def test_what_is_written_is_read(options: dict[int, bytes], xid: int, broadcast: bool) -> None:
    """Also options that are too long for one, which come in parts."""
    message = Message(1, xid, MAC, options, broadcast=broadcast, client=OWN)
    assert decode(encode(message)) == message


def test_options_in_other_fields() -> None:
    """Where a server says so, the fields of names have options, and parts of one are joined."""
    message = bytearray(encode(said(Kind.ACK, OVERLOAD=b"\3", DOMAIN=b"example")))
    message[44:50] = bytes((Option.DOMAIN, 4)) + b"XYZT"
    message[50] = Option.END
    message[108:114] = bytes((Option.DOMAIN, 4)) + b".net"
    message[114] = Option.END
    assert decode(bytes(message)).options[Option.DOMAIN] == b"example.netXYZT"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(HEADER.size + len(COOKIE) - 1),
        bytes(HEADER.size + len(COOKIE)),
        encode(said(Kind.ACK)) + bytes(MESSAGE_MAX),
        encode(said(Kind.ACK))[: HEADER.size + len(COOKIE) + 2],
        encode(said(Kind.ACK))[:1] + b"\6" + encode(said(Kind.ACK))[2:],
    ],
    ids=["nothing", "short", "no-cookie", "long", "cut", "no-ethernet"],
)
def test_what_is_no_message(content: bytes) -> None:
    """It is refused as a whole."""
    with pytest.raises(MalformedError):
        decode(content)


def _read(content: bytes) -> None:
    read_granted(decode(content), WANTED)


def test_any_bytes() -> None:
    """Whatever a server sends is read, or refused."""
    full = said(
        Kind.ACK,
        CLASSLESS_ROUTES=b"\x18\x0a\x01\x02\x0a\x09\x00\x01\x00\x00\x00\x00\x00",
        SEARCH=b"\x03eng\x05apple\x03com\x00\x09marketing\xc0\x04",
        STATIC_ROUTES=IPv4Address("10.0.0.0").packed + SERVER.packed,
        NAME_SERVERS=SERVER.packed,
        DOMAIN=b"example.net\0",
        OVERLOAD=b"\3",
    )
    try_all(_read, [encode(full), encode(said(Kind.OFFER))], raises=MalformedError)


def test_a_packet() -> None:
    """A server's answer is unwrapped whole; a broken one is not."""
    packet = bytearray(wrap(b"to the server", OWN, EVERYBODY))
    assert unwrap(bytes(packet)) is None  # it is for a server's port
    packet[20:24] = b"\0\x43\0\x44"  # from the server's port to the client's: the same sum
    found = unwrap(bytes(packet))
    assert found is not None
    assert (found.content, found.source) == (b"to the server", OWN)
    assert unwrap(bytes(packet) + b"the frame's padding") == found
    broken = bytes(packet[:-1]) + b"?"
    assert unwrap(broken) is None
    assert unwrap(broken, checked=False) is not None
    for size in range(len(packet)):
        assert unwrap(bytes(packet[:size])) is None
    fragment = bytes(packet[:6]) + b"\x20" + bytes(packet[7:])
    assert unwrap(fragment) is None


def test_any_packet() -> None:
    """Whatever comes by the wire is a datagram or nothing."""
    packet = bytearray(wrap(b"x" * 40, OWN, EVERYBODY))
    packet[20:24] = b"\0\x43\0\x44"

    def take(content: bytes) -> None:
        if unwrap(content) is None:
            raise MalformedError("no datagram")

    try_all(take, [bytes(packet)], raises=MalformedError)
