"""The netlink codec: bytes that are right, bytes that are wrong, and any bytes at all."""

import contextlib
import errno
import os
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.errors import HostError
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import (
    Exchange,
    KernelError,
    MalformedMessageError,
    Message,
    Request,
    attribute,
    attributes,
    messages,
    nested,
    number,
    text,
    text_of,
    u8,
    u16,
    u32,
)
from netclaim.kernel.requests.links import bridge, create_link, veth, vlan
from netclaim.kernel.state.addresses import read_address
from netclaim.kernel.state.changes.monitor import read_events
from netclaim.kernel.state.links import read_link
from netclaim.kernel.state.routes import read_routes

HEADER = struct.Struct("=IHHII")
NLM_F_MULTI = 0x2  # the codec does not ask for it: a dump ends with NLMSG_DONE
PLAIN = Request(uapi.RTM_NEWLINK, b"abc", "do it")
DUMP = Request(uapi.RTM_GETLINK, b"", "list it", dump=True)
KINDS = st.sampled_from(
    [
        uapi.NLMSG_ERROR,
        uapi.NLMSG_DONE,
        uapi.RTM_NEWLINK,
        uapi.RTM_DELLINK,
        uapi.RTM_NEWADDR,
        uapi.RTM_DELADDR,
        uapi.RTM_NEWROUTE,
    ]
)
ATTRIBUTES = st.lists(st.tuples(st.integers(0, 0x3FFF), st.binary(max_size=40)), max_size=6)


def encoded(kind: int, sequence: int, payload: bytes = b"", flags: int = 0) -> bytes:
    """Build a message as the kernel would."""
    padded = payload + bytes(-len(payload) % 4)
    return HEADER.pack(HEADER.size + len(payload), kind, flags, sequence, 0) + padded


def finished(exchange: Exchange) -> bool:
    """Ask anew, where the type checker would remember the answer."""
    return exchange.done


def verdict(sequence: int, code: int, detail: str = "", *, repeat: bytes | None = None) -> bytes:
    """Build an ack or an error; `repeat` is the payload of the request, if it is sent back."""
    flags = uapi.NLM_F_CAPPED if repeat is None else 0
    returned = repeat or b""
    payload = struct.pack("=i", code)
    payload += HEADER.pack(HEADER.size + len(returned), 0, 0, sequence, 0)
    payload += returned + bytes(-len(returned) % 4)
    if detail:
        flags |= uapi.NLM_F_ACK_TLVS
        payload += u32(2, 36) + text(uapi.NLMSGERR_ATTR_MSG, detail)
    return encoded(uapi.NLMSG_ERROR, sequence, payload, flags)


@settings(deadline=None)
@given(ATTRIBUTES)
def test_attributes_come_back_as_they_were(written: list[tuple[int, bytes]]) -> None:
    """Encoded attributes are decoded in order, the repeated ones too."""
    assert attributes(b"".join(attribute(*item) for item in written)) == written


def test_nesting_is_marked_and_the_mark_is_not_part_of_the_kind() -> None:
    """A nested attribute carries the flag on the wire and its plain kind when read."""
    whole = nested(18, text(1, "veth"), u8(2, 3), u16(4, 5))
    assert struct.unpack_from("=H", whole, 2) == (18 | 0x8000,)
    ((kind, inner),) = attributes(whole)
    assert kind == 18
    assert attributes(inner) == [(1, b"veth\0"), (2, b"\3"), (4, struct.pack("=H", 5))]


def test_numbers_have_the_width_they_are_sent_with() -> None:
    """A number is read whatever width the kernel chose; nothing is zero."""
    assert number(struct.pack("=B", 200)) == 200
    assert number(struct.pack("=I", 70_000)) == 70_000
    assert number(b"") == 0


@pytest.mark.parametrize(
    ("value", "read"),
    [(b"eth0\0", "eth0"), (b"eth0", "eth0"), (b"", ""), (b"a\0junk", "a"), (b"\xff\0", "\\xff")],
)
def test_strings_end_at_their_nul(value: bytes, read: str) -> None:
    """A string ends at its NUL or with the attribute; what is not UTF-8 is escaped."""
    assert text_of(value) == read


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(struct.pack("=HH", 3, 1), id="shorter than its header"),
        pytest.param(struct.pack("=HHI", 9, 1, 0), id="longer than what is left"),
        pytest.param(u32(1, 1) + struct.pack("=HH", 0, 0), id="zero length: would never end"),
    ],
)
def test_an_attribute_of_wrong_length_is_malformed(payload: bytes) -> None:
    """A length that cannot be is an error, not a guess."""
    with pytest.raises(MalformedMessageError):
        attributes(payload)


@pytest.mark.parametrize(
    "datagram",
    [b"123", HEADER.pack(15, 1, 0, 0, 0), HEADER.pack(17, 1, 0, 0, 0), HEADER.pack(0, 1, 0, 0, 0)],
)
def test_a_message_of_wrong_length_is_malformed(datagram: bytes) -> None:
    """A datagram that is not whole messages is an error."""
    with pytest.raises(MalformedMessageError):
        list(messages(datagram))


def test_the_last_message_may_come_without_padding() -> None:
    """The kernel pads between messages, not necessarily after the last."""
    first, last = encoded(20, 1, b"abcde"), encoded(21, 2, b"xyz")[:-1]
    assert [(m.kind, m.payload) for m in messages(first + last)] == [(20, b"abcde"), (21, b"xyz")]


def test_requests_are_numbered_padded_and_flagged() -> None:
    """Requests of a batch follow each other at multiples of four, each asking for an ack."""
    exchange = Exchange([PLAIN, PLAIN, DUMP], 7)
    sent = list(messages(exchange.outgoing))
    assert len(exchange.outgoing) % 4 == 0
    assert [message.sequence for message in sent] == [7, 8, 9]
    acked = uapi.NLM_F_REQUEST | uapi.NLM_F_ACK
    assert [message.flags for message in sent] == [acked, acked, 1 | uapi.NLM_F_DUMP]


def test_sequence_numbers_wrap_around() -> None:
    """After 2^32 requests the numbers begin anew, also within a batch."""
    exchange = Exchange([PLAIN, PLAIN], 0xFFFF_FFFF)
    assert [message.sequence for message in messages(exchange.outgoing)] == [0xFFFF_FFFF, 0]
    exchange.feed(verdict(0xFFFF_FFFF, 0) + verdict(0, 0))
    assert finished(exchange)
    later = Exchange([PLAIN], 1 << 40)
    later.feed(verdict(0, 0))
    assert finished(later)


def test_an_exchange_is_done_with_its_last_verdict() -> None:
    """Answers may come in one datagram or many; those before the ack are the replies."""
    exchange = Exchange([PLAIN, PLAIN], 1)
    exchange.feed(encoded(uapi.RTM_NEWLINK, 1, b"data") + verdict(1, 0))
    assert not finished(exchange)
    exchange.feed(verdict(2, 0))
    assert finished(exchange)
    assert [reply.payload for reply in exchange.replies] == [b"data"]
    assert exchange.errors == []


def test_a_dump_ends_with_done_not_with_its_first_datagram() -> None:
    """A multi-part answer is gathered over datagrams until NLMSG_DONE."""
    exchange = Exchange([DUMP], 1)
    for part in (b"one1", b"two2"):
        exchange.feed(encoded(uapi.RTM_NEWLINK, 1, part, NLM_F_MULTI))
        assert not finished(exchange)
    exchange.feed(encoded(uapi.NLMSG_DONE, 1, struct.pack("=i", 0), NLM_F_MULTI))
    assert finished(exchange)
    assert [reply.payload for reply in exchange.replies] == [b"one1", b"two2"]
    assert not exchange.interrupted


def test_a_dump_that_changed_underway_is_marked() -> None:
    """The kernel's hint that a list is inconsistent is kept, wherever it comes."""
    exchange = Exchange([DUMP], 1)
    exchange.feed(encoded(uapi.NLMSG_DONE, 1, struct.pack("=i", 0), uapi.NLM_F_DUMP_INTR))
    assert finished(exchange)
    assert exchange.interrupted


def test_a_dump_may_fail_at_its_end() -> None:
    """NLMSG_DONE can carry an error and the kernel's words for it."""
    payload = struct.pack("=i", -errno.ENOENT) + text(uapi.NLMSGERR_ATTR_MSG, "no such table")
    exchange = Exchange([DUMP], 1)
    exchange.feed(encoded(uapi.NLMSG_DONE, 1, payload, uapi.NLM_F_ACK_TLVS))
    assert [(error.errno, error.detail) for error in exchange.errors] == [
        (errno.ENOENT, "no such table")
    ]


@pytest.mark.parametrize("repeat", [None, b"", b"abcde"])
def test_an_error_is_explained_in_the_kernels_words(repeat: bytes | None) -> None:
    """The explanation is found whether or not the request is repeated before it."""
    exchange = Exchange([PLAIN], 5)
    exchange.feed(verdict(5, -errno.EINVAL, "mtu less than device minimum", repeat=repeat))
    (error,) = exchange.errors
    assert isinstance(error, HostError)
    assert (error.errno, error.about) == (errno.EINVAL, "do it")
    assert str(error) == "do it: mtu less than device minimum (EINVAL)"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("", "this kernel has no vlan links (module 8021q)"),
        ("Unknown device type", "this kernel has no vlan links (module 8021q)"),
        ("VLANs not supported on device", "VLANs not supported on device"),
    ],
)
def test_a_kind_of_link_that_the_kernel_lacks(words: str, shown: str) -> None:
    """A kind without its module is named with it; other refusals keep the kernel's words."""
    exchange = Exchange([create_link("net1", vlan(5), parent_index=2)], 5)
    exchange.feed(verdict(5, -errno.EOPNOTSUPP, words))
    (error,) = exchange.errors
    number = errno.errorcode[errno.EOPNOTSUPP]
    assert str(error) == f"create vlan link net1: {shown} ({number})"


def test_an_error_without_explanation_is_told_by_its_number() -> None:
    """Without the kernel's words the errno's own stand in; an unknown number is shown."""
    assert str(KernelError("do it", errno.ENODEV)) == f"do it: {os.strerror(errno.ENODEV)} (ENODEV)"
    assert str(KernelError("do it", 2**31)) == "do it: unknown error (2147483648)"


def test_answers_to_others_are_passed_over() -> None:
    """A late answer to an earlier request neither ends nor fails this one."""
    exchange = Exchange([PLAIN], 9)
    exchange.feed(verdict(8, -errno.EPERM) + encoded(uapi.RTM_NEWLINK, 8, b"late"))
    assert not finished(exchange)
    assert exchange.replies == []
    exchange.feed(verdict(9, 0))
    assert finished(exchange)
    assert exchange.errors == []


@pytest.mark.parametrize(
    "datagram",
    [
        encoded(uapi.NLMSG_ERROR, 1, b"\0"),
        encoded(uapi.NLMSG_ERROR, 1, struct.pack("=i", -1), uapi.NLM_F_ACK_TLVS),
    ],
)
def test_a_verdict_cut_short_is_malformed(datagram: bytes) -> None:
    """An error message without its code, or without its request, is an error of its own."""
    with pytest.raises(MalformedMessageError):
        Exchange([PLAIN], 1).feed(datagram)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (uapi.RTM_NEWLINK, b"short"),
        (uapi.RTM_NEWADDR, b"short"),
        (uapi.RTM_NEWROUTE, b"short"),
        (uapi.RTM_NEWADDR, bytes([2, 24, 0, 0, 1, 0, 0, 0]) + attribute(uapi.IFA_LOCAL, bytes(5))),
        (uapi.RTM_NEWADDR, bytes([10, 64, 0, 0, 1, 0, 0, 0]) + attribute(uapi.IFA_LOCAL, bytes(4))),
        (uapi.RTM_NEWROUTE, bytes([2] + 11 * [0]) + attribute(uapi.RTA_GATEWAY, bytes(16))),
        (uapi.RTM_NEWROUTE, bytes([2] + 11 * [0]) + attribute(uapi.RTA_VIA, b"")),
        (uapi.RTM_NEWROUTE, bytes([2] + 11 * [0]) + attribute(uapi.RTA_MULTIPATH, bytes(8))),
    ],
)
def test_a_part_of_wrong_size_is_malformed(kind: int, payload: bytes) -> None:
    """A fixed part cut short, or an address of another family's length, is an error."""
    with pytest.raises(MalformedMessageError):
        read_everything(Message(kind, 0, 0, payload))


def read_everything(message: Message) -> None:
    """Hand a message to every reader."""
    read_link(message)
    read_address(message)
    read_routes(message)


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_datagram_is_read_or_malformed(datagram: bytes) -> None:
    """Bytes of no meaning give events or MalformedMessageError, never anything else."""
    with contextlib.suppress(MalformedMessageError):
        read_events(datagram)
    with contextlib.suppress(MalformedMessageError):
        Exchange([PLAIN, DUMP], 0).feed(datagram)


@settings(deadline=None)
@given(KINDS, st.binary(max_size=200), st.integers(0, 0xFFFF))
def test_any_payload_is_read_or_malformed(kind: int, payload: bytes, flags: int) -> None:
    """A message of a known kind with any content is read or is MalformedMessageError."""
    with contextlib.suppress(MalformedMessageError):
        read_everything(Message(kind, flags, 0, payload))
    with contextlib.suppress(MalformedMessageError):
        Exchange([PLAIN, DUMP], 0).feed(encoded(kind, 0, payload, flags))


@settings(deadline=None)
@given(KINDS, st.binary(min_size=16, max_size=16), st.data())
def test_any_known_attributes_are_read_or_malformed(
    kind: int, fixed: bytes, data: st.DataObject
) -> None:
    """Known attributes of any content, behind any fixed part, are read or malformed."""
    size = 8 if kind in {uapi.RTM_NEWADDR, uapi.RTM_DELADDR} else 16
    if kind == uapi.RTM_NEWROUTE:
        size = 12
    if data.draw(st.booleans()):  # else the family is mostly one that nobody reads
        fixed = data.draw(st.sampled_from([b"\0", b"\2", b"\x0a"])) + fixed[1:]
    content = st.binary(max_size=20) | ATTRIBUTES.map(
        lambda items: b"".join(attribute(*item) for item in items)
    )
    known = st.lists(st.tuples(st.integers(0, 60), content), max_size=8)
    payload = fixed[:size] + b"".join(attribute(*item) for item in data.draw(known))
    with contextlib.suppress(MalformedMessageError):
        read_everything(Message(kind, 0, 0, payload))


@settings(deadline=None)
@given(st.integers(0), st.integers(0, 255))
def test_one_damaged_byte_is_read_or_malformed(place: int, value: int) -> None:
    """A well-formed link message with one byte changed is read or malformed."""
    request = create_link("net1", veth("peer"), mac="02:00:00:00:00:01", mtu=1500, parent_index=3)
    payload = bytearray(request.payload)
    payload[place % len(payload)] = value
    with contextlib.suppress(MalformedMessageError):
        read_link(Message(uapi.RTM_NEWLINK, 0, 0, bytes(payload)))


def test_a_link_is_read_from_its_attributes() -> None:
    """What the kernel leaves out is empty; what it says is there."""
    link = read_link(Message(uapi.RTM_NEWLINK, 0, 0, create_link("br0", bridge()).payload))
    assert link is not None
    assert (link.name, link.kind, link.mac, link.mtu) == ("br0", "bridge", "", 0)
    assert (link.oper_state, link.parent_nsid, link.altnames) == ("unknown", None, ())
    assert (link.port_name, link.is_representor) == ("", False)
    port = create_link("eth0", bridge()).payload + attribute(uapi.IFLA_PHYS_PORT_NAME, b"pf0vf1\0")
    link = read_link(Message(uapi.RTM_NEWLINK, 0, 0, port))
    assert link is not None
    assert (link.port_name, link.is_representor) == ("pf0vf1", True)


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(struct.pack("=BxHiII", 7, 1, 5, 0, 0), id="a bridge port (AF_BRIDGE)"),
        pytest.param(
            struct.pack("=BxHiII", 0, 1, 5, 0, 0) + attribute(uapi.IFLA_WIRELESS, b"radio"),
            id="a radio",
        ),
    ],
)
def test_messages_about_something_else_are_no_links(payload: bytes) -> None:
    """Bridges and wireless drivers use the link message for news of their own."""
    assert read_link(Message(uapi.RTM_DELLINK, 0, 0, payload)) is None


def test_a_number_has_64_bits_at_most() -> None:
    """A wider one, which could not even be printed when it is very wide, is no number."""
    assert number(b"\xff" * 8) == 2**64 - 1
    with pytest.raises(MalformedMessageError, match="2000 bytes"):
        number(b"\xff" * 2000)
