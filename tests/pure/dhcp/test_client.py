"""The states of a DHCP lease, with a clock of the test's own."""

from ipaddress import IPv4Address

import pytest

from netclaim.dhcp.client import ENDED, Bound, Client, Event, Identity, Lost, Send, State
from netclaim.dhcp.granted import Granted
from netclaim.dhcp.message import Kind, Option, encode
from tests.support.dhcp_messages import ADDRESS, MAC, SERVER, WANTED, WHO, answer, asked, said

HALF = 0.5  # of chance: no jitter


def client_of(identity: Identity = WHO, refusal: str = "") -> Client:
    """A client of this identity, by which everything that is given may be refused."""
    return Client(identity, lambda: HALF, lambda _: refusal)


def sent(events: list[Event]) -> Send:
    """The one message that was sent."""
    (event,) = events
    assert isinstance(event, Send)
    return event


def bound(client: Client, now_s: float = 0.0, **options: bytes | None) -> Granted:
    """Have a client get an address at this time."""
    client.start(now_s)
    offered = answer(client, sent(client.poll(now_s)), Kind.OFFER, now_s, **options)
    (event,) = answer(client, sent(offered), Kind.ACK, now_s, **options)
    assert isinstance(event, Bound)
    granted: Granted = event.granted
    return granted


def test_four_messages() -> None:
    """DISCOVER, OFFER, REQUEST, ACK: the request names the server and what it offered."""
    client = client_of()
    client.start(100.0)
    discover = sent(client.poll(100.0))
    assert (asked(discover).kind, discover.to) == (Kind.DISCOVER, None)
    assert asked(discover).options[Option.CLIENT_ID] == WHO.client_id
    assert asked(discover).options[Option.REQUESTS] == bytes(WANTED)
    request = sent(answer(client, discover, Kind.OFFER, 100.2))
    options = asked(request).options
    assert (asked(request).kind, request.to, asked(request).xid) == (
        Kind.REQUEST, None, asked(discover).xid,
    )  # fmt: skip
    assert options[Option.SERVER] == SERVER.packed
    assert options[Option.REQUESTED_ADDRESS] == ADDRESS.packed
    (event,) = answer(client, request, Kind.ACK, 100.9)
    assert isinstance(event, Bound)
    assert event.granted.address == "10.9.0.7/24"
    assert client.state is State.BOUND
    assert client.bound_s == 100.2  # when it was asked for
    assert client.due_s == 100.2 + 1800


def test_unanswered_questions_are_asked_again() -> None:
    """After one, two, four, eight and sixteen seconds, and then every sixteen."""
    client = client_of()
    client.start(0.0)
    times = []
    for _ in range(7):
        times.append(client.due_s)
        assert client.poll(client.due_s - 0.001) == []
        assert asked(sent(client.poll(client.due_s))).kind == Kind.DISCOVER
    assert times == [0, 1, 3, 7, 15, 31, 47]


@pytest.mark.parametrize("chance", [0.0, 0.999])
def test_waits_differ_by_a_quarter(chance: float) -> None:
    """Pods that start together do not all ask again at the same moment."""
    client = Client(WHO, lambda: chance)
    client.start(0.0)
    client.poll(0.0)
    assert client.due_s == pytest.approx(0.75 if chance == 0 else 1.25, abs=0.01)


def test_a_server_that_offers_and_goes() -> None:
    """After three requests in vain all servers are asked anew."""
    client = client_of()
    client.start(0.0)
    answer(client, sent(client.poll(0.0)), Kind.OFFER, 0.0)
    for _ in range(2):
        assert asked(sent(client.poll(client.due_s))).kind == Kind.REQUEST
    assert asked(sent(client.poll(client.due_s))).kind == Kind.DISCOVER


def test_answers_to_others_change_nothing() -> None:
    """Those to another exchange, another MAC or another client id, and those that are none."""
    client = client_of()
    client.start(0.0)
    xid = asked(sent(client.poll(0.0))).xid
    other_mac = encode(said(Kind.OFFER, xid)).replace(MAC, bytes(6))
    for content in (
        b"",
        encode(said(Kind.OFFER, xid + 1)),
        other_mac,
        encode(said(Kind.OFFER, xid, CLIENT_ID=b"\xffsomebody else")),
        encode(said(Kind.ACK, xid)),
        encode(said(Kind.OFFER, xid, LEASE_S=bytes(4))),
    ):
        assert client.feed(content, 0.1) == []
    assert client.state is State.SELECTING
    ours = encode(said(Kind.OFFER, xid, CLIENT_ID=WHO.client_id))
    assert asked(sent(client.feed(ours, 0.2))).kind == Kind.REQUEST


def test_a_refused_offer_is_not_taken() -> None:
    """What was offered is remembered for who asks why there is no address."""
    client = client_of(refusal="it is the node's own")
    client.start(0.0)
    discover = sent(client.poll(0.0))
    assert answer(client, discover, Kind.OFFER, 0.1) == []
    assert answer(client, discover, Kind.OFFER, 0.2) == []
    assert client.refused == ["the server 10.9.0.1 gave 10.9.0.7/24: it is the node's own"]


def test_another_address_than_was_offered_is_declined() -> None:
    """An acknowledgement is judged as well; after a refused one a server is left alone a while."""
    client = Client(WHO, lambda: HALF, lambda given: "no" if "10.9.0.8" in given.address else "")
    client.start(0.0)
    request = sent(answer(client, sent(client.poll(0.0)), Kind.OFFER, 0.1))
    wrong = said(Kind.ACK, asked(request).xid, address=IPv4Address("10.9.0.8"))
    decline = asked(sent(client.feed(encode(wrong), 0.2)))
    assert decline.kind == Kind.DECLINE
    assert decline.options[Option.REQUESTED_ADDRESS] == IPv4Address("10.9.0.8").packed
    assert client.poll(10.1) == []
    assert asked(sent(client.poll(10.2))).kind == Kind.DISCOVER


def test_an_address_that_it_had_is_asked_for_first() -> None:
    """A server that knows it confirms it in one exchange."""
    client = client_of()
    client.start(0.0, had=ADDRESS)
    request = sent(client.poll(0.0))
    assert asked(request).kind == Kind.REQUEST
    assert Option.SERVER not in asked(request).options
    (event,) = answer(client, request, Kind.ACK, 0.1)
    assert isinstance(event, Bound)


def test_an_address_that_it_had_and_nobody_knows() -> None:
    """After a no, or after silence, it is no more than a wish."""
    client = client_of()
    client.start(0.0, had=ADDRESS)
    assert answer(client, sent(client.poll(0.0)), Kind.NAK, 0.1) == []
    discover = asked(sent(client.poll(1.1)))
    assert discover.kind == Kind.DISCOVER
    assert discover.options[Option.REQUESTED_ADDRESS] == ADDRESS.packed
    silent = client_of()
    silent.start(0.0, had=ADDRESS)
    kinds = [asked(sent(silent.poll(silent.due_s))).kind for _ in range(3)]
    assert kinds == [Kind.REQUEST, Kind.REQUEST, Kind.DISCOVER]


def test_the_refusal_of_another_server() -> None:
    """A no counts from the server that was asked."""
    client = client_of()
    client.start(0.0)
    request = sent(answer(client, sent(client.poll(0.0)), Kind.OFFER, 0.1))
    answer(client, request, Kind.NAK, 0.2, SERVER=IPv4Address("10.9.0.2").packed)
    assert asked(sent(client.poll(5.0))).kind == Kind.REQUEST
    answer(client, request, Kind.NAK, 5.0)
    assert asked(sent(client.poll(10.0))).kind == Kind.DISCOVER


def test_renewing() -> None:
    """The server itself is asked, from the address; its answer counts from the question."""
    client = client_of()
    bound(client)
    request = sent(client.poll(1800.0))
    assert (request.to, request.source, asked(request).client) == (SERVER, ADDRESS, ADDRESS)
    assert not {Option.SERVER, Option.REQUESTED_ADDRESS} & asked(request).options.keys()
    (event,) = answer(client, request, Kind.ACK, 1803.0)
    assert isinstance(event, Bound)
    assert (client.due_s, client.ends_s) == (3600.0, 5400.0)


def test_a_lease_that_nobody_renews() -> None:
    """It is asked for at half of what is left, then of anybody, and ends when it ends."""
    client = client_of()
    bound(client)
    asked_at: list[tuple[float, bool]] = []
    while True:
        now_s = client.due_s
        (event,) = client.poll(now_s)
        if not isinstance(event, Send):
            break
        asked_at.append((now_s, event.to is None))
    assert asked_at == [
        (1800.0, False), (2475.0, False), (2812.5, False), (2981.25, False), (3065.625, False),
        (3125.625, False), (3150.0, True), (3375.0, True), (3487.5, True), (3547.5, True),
    ]  # fmt: skip
    assert event == Lost(ENDED)
    assert now_s == 3600.0
    assert client.granted is None


def test_any_server_may_renew() -> None:
    """Once the client asks all of them."""
    client = client_of()
    bound(client)
    client.poll(1800.0)
    request = sent(client.poll(3150.0))
    other = IPv4Address("10.9.0.2")
    (event,) = answer(client, request, Kind.ACK, 3150.1, SERVER=other.packed)
    assert isinstance(event, Bound)
    assert asked(sent(client.poll(client.due_s))).client == ADDRESS
    assert client.granted is not None
    assert client.granted.server == str(other)


def test_a_server_that_takes_the_address_back() -> None:
    """A no to a renewal ends the lease at once, and another address does as well."""
    client = client_of()
    bound(client)
    assert answer(client, sent(client.poll(1800.0)), Kind.NAK, 1800.1) == [
        Lost("the DHCP server has taken its address back")
    ]
    client = client_of()
    bound(client)
    request = sent(client.poll(1800.0))
    other = said(Kind.ACK, asked(request).xid, address=IPv4Address("10.9.0.8"))
    assert client.feed(encode(other), 1800.1) == [
        Lost("the DHCP server has given 10.9.0.8/24 in its place")
    ]


def test_another_process_goes_on() -> None:
    """By what was granted and since when; also if the lease has ended meanwhile."""
    first = client_of()
    granted = bound(first, 50.0)
    for now_s, expected in ((1849.0, []), (9999.0, [Lost(ENDED)])):
        second = client_of()
        second.resume(granted, first.bound_s)
        assert second.poll(now_s) == expected
    third = client_of()
    third.resume(granted, first.bound_s)
    assert asked(sent(third.poll(1850.0))).kind == Kind.REQUEST


def test_a_lease_for_ever() -> None:
    """It is never due."""
    client = client_of()
    bound(client, LEASE_S=b"\xff\xff\xff\xff")
    assert client.due_s == client.ends_s == float("inf")


def test_release() -> None:
    """It goes to the server, from the address, once."""
    client = client_of()
    bound(client)
    release = sent(client.release())
    message = asked(release)
    assert (message.kind, release.to, message.client) == (Kind.RELEASE, SERVER, ADDRESS)
    assert Option.REQUESTS not in message.options
    assert client.release() == []


def test_a_client_that_shares_its_mac() -> None:
    """It asks for answers to everybody until it has an address, which leads to it."""
    client = client_of(Identity(MAC, b"\xff-who", broadcast=True, wanted=WANTED))
    bound(client)
    assert not asked(sent(client.poll(1800.0))).broadcast
    client.start(1900.0)
    assert asked(sent(client.poll(1900.0))).broadcast


def test_a_client_id_that_was_provided() -> None:
    """It takes the place of its own in every message, the last one included."""
    client = client_of(Identity(MAC, b"\xff-who", wanted=WANTED, provided={61: b"web-0"}))
    client.start(0.0)
    discover = sent(client.poll(0.0))
    request = sent(answer(client, discover, Kind.OFFER, 0.0))
    answer(client, request, Kind.ACK, 0.0)
    every = (discover, request, sent(client.release()))
    assert {asked(each).options[Option.CLIENT_ID] for each in every} == {b"web-0"}
