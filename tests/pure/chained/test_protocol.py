"""What netclaim-attach says to the driver, and what it is answered."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.chained import (
    AGAIN,
    OK,
    Answer,
    Command,
    Listing,
    MalformedAnswerError,
    MalformedRequestError,
    Refusal,
    Request,
    RequestDecoder,
    decode_answer,
    encode_answer,
    encode_collect,
)
from netclaim.chained.protocol import BODY_MAX, HEAD_MAX, LISTING_MAX, MESSAGE_MAX

ARGS = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_UID=old;K8S_POD_UID=u1;odd"
ADD = (
    b"netclaim/1 ADD\ncontainer=c1\nnetns=/run/netns/a\nifname=eth0\nargs=%s\nlength=2\n\n{}"
    % ARGS.encode()
)


def test_a_whole_request() -> None:
    """Every field arrives; of two arguments with one key the last counts."""
    request = RequestDecoder().feed(ADD)
    assert request == Request(
        command=Command.ADD,
        container_id="c1",
        netns="/run/netns/a",
        ifname="eth0",
        args={"IgnoreUnknown": "1", "K8S_POD_NAMESPACE": "shop", "K8S_POD_UID": "u1"},
        stdin=b"{}",
    )
    assert (request.pod_uid, request.pod_namespace) == ("u1", "shop")


def test_a_container_that_waits_names_its_pod() -> None:
    """WAIT has no CNI arguments; its pod is a field of its own."""
    request = RequestDecoder().feed(b"netclaim/1 WAIT\ncontainer=c1\nuid=u1\nlength=0\n\n")
    assert request is not None
    assert (request.command, request.container_id, request.pod_uid) == (Command.WAIT, "c1", "u1")


@given(st.lists(st.integers(1, len(ADD) - 1), max_size=6))
def test_however_it_is_cut(cuts: list[int]) -> None:
    """The same request comes out whole, and only with its last byte."""
    decoder = RequestDecoder()
    edges = [0, *sorted(set(cuts)), len(ADD)]
    pieces = [ADD[a:b] for a, b in pairwise(edges)]
    assert [decoder.feed(piece) for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
    assert decoder.feed(pieces[-1]) == RequestDecoder().feed(ADD)


def test_a_later_programs_key_is_passed_over() -> None:
    """A key that this driver does not know makes no difference."""
    known = RequestDecoder().feed(ADD)
    assert RequestDecoder().feed(ADD.replace(b"ifname", b"colour=blue\nifname")) == known


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\n\n",
        b"netclaim/2 ADD\nlength=0\n\n",
        b"netclaim/1 EAT\nlength=0\n\n",
        b"netclaim/1 ADD\n\n",
        b"netclaim/1 ADD\nlength=-1\n\n",
        b"netclaim/1 ADD\nlength=\xd9\xa3\n\n",
        b"netclaim/1 ADD\nlength=%d\n\n" % (BODY_MAX + 1),
        b"netclaim/1 ADD\ncontainer\nlength=0\n\n",
        b"netclaim/1 ADD\nargs=a\nargs=b\nlength=0\n\n",
        b"netclaim/1 ADD\nargs=\xff\nlength=0\n\n",
        b"netclaim/1 ADD\nlength=1\n\nab",
        b"a" * HEAD_MAX,
    ],
)
def test_what_is_no_request(data: bytes) -> None:
    """Anything else is refused with the one error there is."""
    with pytest.raises(MalformedRequestError):
        RequestDecoder().feed(data)


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    """No bytes bring anything but a request, nothing yet, or that error."""
    with suppress(MalformedRequestError):
        assert isinstance(RequestDecoder().feed(b"netclaim/1 ADD\n" + data), Request | None)


def test_answers() -> None:
    """An answer is a line, and for a refusal its message, cut where it is too long."""
    assert encode_answer(OK) == b"ok\n"
    assert encode_answer(AGAIN) == b"again\n"
    assert encode_answer(Refusal("no link eth1", code=11)) == b"error 11\nno link eth1"
    assert encode_answer(Refusal("half a pair \ud800")) == b"error 999\nhalf a pair \\ud800"
    assert len(encode_answer(Refusal("a" * 2 * MESSAGE_MAX))) == len(b"error 999\n") + MESSAGE_MAX


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_request_for_collection(dry_run: bool) -> None:
    """COLLECT says whether it is only to list."""
    request = RequestDecoder().feed(encode_collect(dry_run=dry_run))
    assert request == Request(Command.COLLECT, dry_run=dry_run)


@pytest.mark.parametrize(
    "answer",
    [OK, AGAIN, Refusal("no link eth1", code=11), Listing(("removed a", "removed b"))],
)
def test_an_answer_is_read_as_it_was_written(answer: Answer) -> None:
    """What the driver answers arrives."""
    assert decode_answer(encode_answer(answer)) == answer


def test_listings() -> None:
    """Each thing is one line, whatever it is called; of too many, whole lines arrive."""
    assert encode_answer(Listing(("a\nb", "c"))) == b"ok\na b\nc\n"
    long = encode_answer(Listing(("x" * 99,) * (LISTING_MAX // 50)))
    assert len(long) <= len(b"ok\n") + LISTING_MAX + len(b"...\n")
    *lines, last = long.decode().splitlines()[1:]
    assert set(lines) == {"x" * 99}
    assert last == "..."


@given(st.binary(max_size=100))
def test_any_bytes_as_an_answer(data: bytes) -> None:
    """No bytes bring anything but an answer or that error."""
    with suppress(MalformedAnswerError):
        decode_answer(data)
    with pytest.raises(MalformedAnswerError):
        decode_answer(b"?" + data)
