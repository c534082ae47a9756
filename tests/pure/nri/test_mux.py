"""The multiplexer: frames in, frames out."""

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.nri.errors import ProtocolError
from netclaim.nri.wire import mux
from tests.support.nri.parts import cut, places

streams = st.lists(st.tuples(st.integers(0, 2**32 - 1), st.binary(min_size=1, max_size=400)))


@settings(deadline=None)
@given(streams, places)
def test_chunks(messages: list[tuple[int, bytes]], where: list[int]) -> None:
    """Messages of several conns arrive whole and in order, however their bytes are cut."""
    data = b"".join(mux.encode(conn_id, message) for conn_id, message in messages)
    decoder = mux.Decoder()
    frames = [frame for chunk in cut(data, where) for frame in decoder.feed(chunk)]
    assert frames == [mux.Frame(conn_id, message) for conn_id, message in messages]


@settings(deadline=None)
@given(st.binary(max_size=300), places)
def test_any_bytes(data: bytes, where: list[int]) -> None:
    """Whatever the bytes, the decoder gives frames or a ProtocolError."""
    decoder = mux.Decoder()
    with contextlib.suppress(ProtocolError):
        for chunk in cut(data, where):
            assert all(frame.payload in data for frame in decoder.feed(chunk))


@pytest.mark.parametrize("length", [1, 4095, 4096, 4097, 8192, 300_000])
def test_split(length: int) -> None:
    """A message is sent as at most two frames, the first of at most 4096 bytes."""
    message = bytes(range(256)) * (length // 256) + b"x" * (length % 256)
    frames = list(mux.Decoder().feed(mux.encode(1, message)))
    assert b"".join(frame.payload for frame in frames) == message
    assert [len(frame.payload) for frame in frames] == [
        size for size in (min(length, 4096), length - 4096) if size > 0
    ]


def test_one_message_a_frame() -> None:
    """Two short messages are two frames, although they would fit in one."""
    data = mux.encode(1, b"one") + mux.encode(1, b"two")
    assert [frame.payload for frame in mux.Decoder().feed(data)] == [b"one", b"two"]


def test_wire() -> None:
    """A frame is the conn id and the length, 4 bytes big-endian each, and the payload."""
    assert mux.encode(mux.RUNTIME_CONN, b"hi") == b"\0\0\0\2\0\0\0\2hi"


def test_large_frame_received() -> None:
    """A frame with the largest ttrpc message is taken, though we never send one so large."""
    payload = bytes(mux.PAYLOAD_MAX)
    data = struct.pack(">II", 1, len(payload)) + payload
    assert list(mux.Decoder().feed(data)) == [mux.Frame(1, payload)]


def test_empty_frame() -> None:
    """A frame without payload is a frame."""
    assert list(mux.Decoder().feed(b"\0\0\0\1\0\0\0\0")) == [mux.Frame(1, b"")]


def test_too_big() -> None:
    """A frame over the limit is a fault named with its conn and length, after the frames before."""
    decoder = mux.Decoder()
    frames = decoder.feed(mux.encode(1, b"good") + struct.pack(">II", 7, mux.PAYLOAD_MAX + 1))
    assert next(frames) == mux.Frame(1, b"good")
    with pytest.raises(ProtocolError, match=r"4194315 bytes on conn 7 is over the limit"):
        next(frames)
    with pytest.raises(ProtocolError):
        list(decoder.feed(mux.encode(1, b"again")))
