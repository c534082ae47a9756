"""Both directions of a connection, without a socket."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.nri.errors import MessageTooBigError, ProtocolError
from netclaim.nri.wire import mux, ttrpc
from netclaim.nri.wire.endpoint import PLUGIN_SIDE, RUNTIME_SIDE, Endpoint
from tests.support.nri.parts import cut, places

frames = st.builds(
    lambda conn_id, message: mux.encode(conn_id, message.encode()),
    st.integers(0, 3),
    st.builds(
        ttrpc.Message,
        stream_id=st.integers(0, 9),
        type=st.integers(0, 4),
        body=st.binary(max_size=20),
    ),
)
actions = st.lists(st.tuples(st.sampled_from(["call", "answer"]), st.binary(max_size=9000)))


def request(stream_id: int) -> bytes:
    """A request to a plugin."""
    return mux.encode(mux.PLUGIN_CONN, ttrpc.Request(stream_id, "s", "m", b"").encode())


@settings(deadline=None)
@given(st.binary(max_size=300) | st.lists(frames).map(b"".join), places)
def test_any_bytes(data: bytes, where: list[int]) -> None:
    """Whatever the bytes, noise or nearly right, nothing but a ProtocolError is raised."""
    endpoint = Endpoint(PLUGIN_SIDE)
    with contextlib.suppress(ProtocolError):
        for chunk in cut(data, where):
            list(endpoint.receive(chunk))


@settings(deadline=None)
@given(actions, places)
def test_interleaved(script: list[tuple[str, bytes]], where: list[int]) -> None:
    """Calls of one direction and answers of the other share the bytes and do not mix."""
    plugin, runtime = Endpoint(PLUGIN_SIDE), Endpoint(RUNTIME_SIDE)
    sent: list[ttrpc.Request | ttrpc.Response] = []
    data = b""
    for number, (action, payload) in enumerate(script):
        if action == "call":
            stream_id, message = runtime.request("Method", payload, 2.0)
            sent.append(
                ttrpc.Request(stream_id, RUNTIME_SIDE.calls.name, "Method", payload, timeout_s=2.0)
            )
            data += message
        else:
            response = ttrpc.Response(2 * number + 1, payload)
            sent.append(response)
            data += runtime.respond(response)
    assert [event for chunk in cut(data, where) for event in plugin.receive(chunk)] == sent


def test_sides_mirror() -> None:
    """What one side calls, the other serves."""
    assert (PLUGIN_SIDE.serves, PLUGIN_SIDE.calls) == (RUNTIME_SIDE.calls, RUNTIME_SIDE.serves)
    assert (PLUGIN_SIDE.serves.conn_id, RUNTIME_SIDE.serves.conn_id) == (1, 2)


def test_ids() -> None:
    """Calls are numbered 1, 3, 5; one that is too big to send uses up no number."""
    endpoint = Endpoint(PLUGIN_SIDE)
    assert endpoint.request("m", b"", 1.0)[0] == 1
    with pytest.raises(MessageTooBigError):
        endpoint.request("m", bytes(ttrpc.BODY_MAX), 1.0)
    assert [endpoint.request("m", b"", 1.0)[0] for _ in range(2)] == [3, 5]


@pytest.mark.parametrize("ids", [(2,), (1, 1), (5, 3), (0,)])
def test_bad_ids(ids: tuple[int, ...]) -> None:
    """A request whose id is even, used, or lower than the last is a fault."""
    with pytest.raises(ProtocolError, match="ids are odd and only grow"):
        list(Endpoint(PLUGIN_SIDE).receive(b"".join(map(request, ids))))


@pytest.mark.parametrize(
    ("conn_id", "kind", "name"),
    [
        (mux.PLUGIN_CONN, ttrpc.MessageType.RESPONSE, "response"),
        (mux.PLUGIN_CONN, ttrpc.MessageType.DATA, "data"),
        (mux.RUNTIME_CONN, ttrpc.MessageType.REQUEST, "request"),
        (mux.RUNTIME_CONN, ttrpc.MessageType.DATA, "data"),
    ],
)
def test_wrong_place(conn_id: int, kind: int, name: str) -> None:
    """A message of a kind that has no place on its conn is a fault that says which."""
    data = mux.encode(conn_id, ttrpc.Message(1, kind, b"").encode())
    with pytest.raises(ProtocolError, match=f"a {name} message on stream 1"):
        list(Endpoint(PLUGIN_SIDE).receive(data))


def test_ignored() -> None:
    """Kinds of message and conns that we do not know are passed over."""
    strange = mux.encode(mux.PLUGIN_CONN, ttrpc.Message(1, 4, b"?").encode())
    elsewhere = mux.encode(9, b"anything")
    received = Endpoint(PLUGIN_SIDE).receive(strange + elsewhere + request(1))
    assert list(received) == [ttrpc.Request(1, "s", "m", b"")]


def test_answer_too_big() -> None:
    """An answer over the limit becomes a refusal that says so, and the caller is not left alone."""
    data = Endpoint(PLUGIN_SIDE).respond(ttrpc.Response(1, bytes(ttrpc.BODY_MAX)))
    (answer,) = Endpoint(RUNTIME_SIDE).receive(data)
    assert isinstance(answer, ttrpc.Response)
    assert (answer.code, answer.stream_id) == (ttrpc.Code.UNKNOWN, 1)
    assert "over the limit" in answer.text
