"""The line splitter: bytes in, whole lines out."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.kube import MalformedReplyError
from netclaim.kube.lines import LINE_MAX, LineSplitter

LINES = st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line))


@given(LINES, st.lists(st.integers(min_value=0, max_value=400)))
def test_any_chunks_give_the_same_lines(lines: list[bytes], cuts: list[int]) -> None:
    """Lines come out whole and in order wherever the stream is cut into chunks."""
    stream = b"".join(line + b"\n" for line in lines)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut <= len(stream))})
    chunks = [stream[start:stop] for start, stop in itertools.pairwise(places)]
    splitter = LineSplitter()
    assert [line for chunk in chunks for line in splitter.feed(chunk)] == lines


def test_a_line_without_end_waits() -> None:
    """A line is not handed out before its newline has come."""
    splitter = LineSplitter()
    assert splitter.feed(b'{"type":') == []
    assert splitter.feed(b'"ADDED"}\n{') == [b'{"type":"ADDED"}']


def test_a_large_line_is_whole() -> None:
    """A line of a megabyte in small chunks comes out as one."""
    splitter = LineSplitter()
    for _ in range(1024):
        assert splitter.feed(b"x" * 1024) == []
    assert splitter.feed(b"\n") == [b"x" * (1 << 20)]


def test_an_endless_line_is_refused() -> None:
    """A stream that never ends a line is an error before it fills the memory."""
    splitter = LineSplitter()
    with pytest.raises(MalformedReplyError):
        splitter.feed(b"x" * (LINE_MAX + 1))
