"""ttrpc messages: bytes in, messages out."""

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.nri.errors import MessageTooBigError, ProtocolError
from netclaim.nri.proto import ttrpc_pb2 as pb
from netclaim.nri.wire import ttrpc
from tests.support.nri.parts import cut, places

messages = st.builds(
    ttrpc.Message,
    stream_id=st.integers(0, 2**32 - 1),
    type=st.integers(0, 255),
    body=st.binary(max_size=400),
)
requests = st.builds(
    ttrpc.Request,
    stream_id=st.integers(0, 2**32 - 1),
    service=st.text(),
    method=st.text(),
    payload=st.binary(),
    timeout_s=st.none() | st.integers(1, 100).map(float),
)
responses = st.builds(
    ttrpc.Response, stream_id=st.integers(0, 2**32 - 1), payload=st.binary()
) | st.builds(
    ttrpc.Response, stream_id=st.integers(0, 2**32 - 1), code=st.integers(1, 16), text=st.text()
)


def decode(data: bytes) -> ttrpc.Message:
    """The one message in the data."""
    (message,) = ttrpc.Decoder().feed(data)
    return message


@settings(deadline=None)
@given(st.lists(messages), places)
def test_chunks(sent: list[ttrpc.Message], where: list[int]) -> None:
    """Messages arrive whole and in order, however their bytes are cut."""
    data = b"".join(message.encode() for message in sent)
    decoder = ttrpc.Decoder()
    assert [message for chunk in cut(data, where) for message in decoder.feed(chunk)] == sent


@settings(deadline=None)
@given(st.binary(max_size=300), places)
def test_any_bytes(data: bytes, where: list[int]) -> None:
    """Whatever the bytes, the decoder gives messages or a ProtocolError."""
    decoder = ttrpc.Decoder()
    with contextlib.suppress(ProtocolError):
        for chunk in cut(data, where):
            assert all(message.body in data for message in decoder.feed(chunk))


@settings(deadline=None)
@given(requests)
def test_request(request: ttrpc.Request) -> None:
    """A request is read as it was sent."""
    assert ttrpc.parse_request(decode(request.encode())) == request


@settings(deadline=None)
@given(responses)
def test_response(response: ttrpc.Response) -> None:
    """A response is read as it was sent."""
    assert ttrpc.parse_response(decode(response.encode())) == response


@settings(deadline=None)
@given(st.binary(max_size=100))
def test_any_body(body: bytes) -> None:
    """A body of any bytes is a request or response, or a ProtocolError."""
    with contextlib.suppress(ProtocolError):
        ttrpc.parse_request(ttrpc.Message(1, ttrpc.MessageType.REQUEST, body))
    with contextlib.suppress(ProtocolError):
        ttrpc.parse_response(ttrpc.Message(1, ttrpc.MessageType.RESPONSE, body))


def test_wire() -> None:
    """The header is length, stream id, type and flags; the body is protobuf in field order."""
    request = ttrpc.Request(3, "s", "m", b"p", timeout_s=1e-9)
    assert request.encode() == b"\0\0\0\x0b\0\0\0\3\1\0" + b"\x0a\1s\x12\1m\x1a\1p\x20\1"
    assert ttrpc.Response(3, b"p").encode() == b"\0\0\0\3\0\0\0\3\2\0" + b"\x12\1p"
    refusal = ttrpc.failure(3, ttrpc.Code.UNIMPLEMENTED, "no")
    assert refusal.encode() == b"\0\0\0\x08\0\0\0\3\2\0" + b"\x0a\6\x08\x0c\x12\2no"


def test_limit_received() -> None:
    """A message over 4 MiB is a fault named with its stream and length, after those before it."""
    good = ttrpc.Message(1, 2, b"good")
    decoder = ttrpc.Decoder()
    found = decoder.feed(good.encode() + struct.pack(">IIBB", ttrpc.BODY_MAX + 1, 5, 1, 0))
    assert next(found) == good
    with pytest.raises(ProtocolError, match="4194305 bytes on stream 5 is over the limit"):
        next(found)
    with pytest.raises(ProtocolError):
        list(decoder.feed(b""))


def test_limit_sent() -> None:
    """A message of 4 MiB can be sent, one byte more cannot."""
    assert len(ttrpc.Message(1, 2, bytes(ttrpc.BODY_MAX)).encode()) == ttrpc.BODY_MAX + 10
    with pytest.raises(MessageTooBigError) as caught:
        ttrpc.Message(1, 2, bytes(ttrpc.BODY_MAX + 1)).encode()
    assert (caught.value.length, caught.value.limit) == (ttrpc.BODY_MAX + 1, ttrpc.BODY_MAX)


@pytest.mark.parametrize("parse", [ttrpc.parse_request, ttrpc.parse_response])
def test_unreadable(parse: type) -> None:
    """A body that is not protobuf is a fault named with its stream."""
    with pytest.raises(ProtocolError, match="9 has no readable body"):
        parse(ttrpc.Message(9, 1, b"\xff"))


def test_success_has_no_status() -> None:
    """A status with code 0, as Go sends it, is success; we leave it out."""
    body = pb.Response(status=pb.Status(code=0), payload=b"p").SerializeToString()
    assert ttrpc.parse_response(ttrpc.Message(1, 2, body)) == ttrpc.Response(1, b"p")


def test_expired_timeout() -> None:
    """A timeout that is already over stays one; only its absence means no limit."""
    sent = [ttrpc.Request(1, "s", "m", b"", timeout_s=left_s) for left_s in (-2.0, 1e-12, None)]
    received = [ttrpc.parse_request(decode(request.encode())).timeout_s for request in sent]
    assert received == [-2.0, 1e-9, None]


def test_refusal_can_always_be_sent() -> None:
    """The text of a refusal is cut to fit in one frame, and cleaned of what UTF-8 cannot say."""
    response = ttrpc.failure(1, ttrpc.Code.UNKNOWN, "caf\udce9 " + "ä" * 100_000)
    data = response.encode()
    assert len(data) <= 4096
    assert ttrpc.parse_response(decode(data)).text.startswith("caf? äää")
