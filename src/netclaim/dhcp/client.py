"""The states of a lease, from the first question to its end (RFC 2131, 4.4).

    selecting ──▶ requesting ──▶ bound ──▶ renewing ──▶ rebinding ──▶ selecting
        ▲  ▲          │            ▲          │             │
        │  └── NAK ───┴── rebooting ──────────┴──── NAK ────┘

`start` asks for any address, or first for one that the client had. Then the code that drives the
client calls `poll` whenever `due_s` has come and `feed` with each datagram, and sends what they
return.

Promise: answers to other questions, from other clients' exchanges and with what makes no sense
change nothing. An answer that `refusal` says something against is not taken; what it said is in
`refused`. Limit: the first server whose offer can be taken gets the request.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Final, TypeAlias

from netclaim.dhcp.granted import FOREVER, Granted, read_granted
from netclaim.dhcp.message import (
    MESSAGE_MAX,
    NOBODY,
    REPLY,
    REQUEST,
    Kind,
    MalformedError,
    Message,
    Option,
    decode,
    encode,
)

# Between two questions, doubled each time. RFC 2131 has it begin with four seconds, for links of
# its day; a pod waits, and a bridge's port or a switch's may lose the first question.
RESEND_S, RESEND_MAX_S = 1.0, 16.0
JITTER_PART: Final = 0.25  # either way, so that pods that start together do not ask together
REQUESTS_MAX: Final = 3  # unanswered, before the client asks all servers anew
REBOOTS_MAX: Final = 2  # the same for an address that it had
REFUSED_S: Final = 10.0  # after an address was declined (RFC 2131, 3.1)
RETRY_MIN_S: Final = 60.0  # between two attempts at renewing (RFC 2131, 4.4.5)
SECS_MAX: Final = 0xFFFF
ENDED: Final = "its DHCP lease has ended, and no server has renewed it"
REFUSALS_MAX: Final = 4  # that are kept; their texts are for people


class State(enum.Enum):
    """Where a client is."""

    STOPPED = "stopped"
    SELECTING = "selecting"
    REQUESTING = "requesting"
    REBOOTING = "rebooting"
    BOUND = "bound"
    RENEWING = "renewing"
    REBINDING = "rebinding"


@dataclass(frozen=True, slots=True)
class Send:
    """Bytes for a server; `to` is None where all servers are asked."""

    content: bytes
    source: IPv4Address = NOBODY
    to: IPv4Address | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """The client has an address, from now on or for longer."""

    granted: Granted


@dataclass(frozen=True, slots=True)
class Lost:
    """The client may no longer use its address; it asks for another one."""

    why: str


Event: TypeAlias = Send | Bound | Lost


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks, and what it says of itself in each message."""

    mac: bytes
    client_id: bytes
    broadcast: bool = False  # whether answers have to go to everybody to reach it
    wanted: tuple[int, ...] = ()  # the options that it asks for
    provided: Mapping[int, bytes] = field(default_factory=dict)


def _no_refusal(_granted: Granted) -> str:
    return ""


@dataclass(slots=True)
class Client:
    """One interface's client; `chance` is a random number from 0 up to 1."""

    identity: Identity
    chance: Callable[[], float]
    refusal: Callable[[Granted], str] = _no_refusal  # why something may not be taken, or nothing
    state: State = State.STOPPED
    due_s: float = float("inf")  # when `poll` has something to do
    granted: Granted | None = None  # that the client has
    bound_s: float = 0.0  # since when: when it was asked for
    refused: list[str] = field(default_factory=list)
    answered: bool = False  # whether any server has said anything
    _xid: int = 0
    _began_s: float = 0.0
    _asked_s: float = 0.0
    _sent: int = 0  # unanswered so far
    _offer: Granted | None = None
    _hint: IPv4Address | None = None  # what it would like to have

    def start(self, now_s: float, *, had: IPv4Address | None = None) -> None:
        """Begin to ask: for the address that the client had, or for any."""
        self._hint = had
        self._begin(State.REBOOTING if had else State.SELECTING, now_s)

    def resume(self, granted: Granted, bound_s: float) -> None:
        """Go on with an address that the client has since `bound_s`."""
        self.granted, self.bound_s = granted, bound_s
        self._hint = granted.interface.ip
        self.state = State.BOUND
        self.due_s = self._after(granted.renewal_s)

    @property
    def ends_s(self) -> float:
        """When the client has to stop using its address; never, if it was given for ever."""
        return self._after(self.granted.lease_s) if self.granted else float("-inf")

    def poll(self, now_s: float) -> list[Event]:
        """Do what is due by now."""
        if now_s < self.due_s:
            return []
        if self.state in {State.BOUND, State.RENEWING, State.REBINDING}:
            return self._keep(now_s)
        if self.state is State.REQUESTING and self._sent >= REQUESTS_MAX:
            self._begin(State.SELECTING, now_s)
        if self.state is State.REBOOTING and self._sent >= REBOOTS_MAX:
            self._begin(State.SELECTING, now_s)
        return self._ask(now_s)

    def feed(self, content: bytes, now_s: float) -> list[Event]:
        """Take what came for the client's port, from whomever."""
        try:
            message = decode(content)
        except MalformedError:
            return []
        ours = message.op == REPLY and message.xid == self._xid and message.mac == self.identity.mac
        echoed = message.options.get(Option.CLIENT_ID)  # which a server may repeat (RFC 6842)
        if not ours or not self._sent or echoed not in {None, self._client_id}:
            return []
        self.answered = True
        match self.state, message.kind:
            case State.SELECTING, Kind.OFFER:
                return self._take_offer(message, now_s)
            case State.REQUESTING | State.REBOOTING | State.RENEWING | State.REBINDING, Kind.ACK:
                return self._take_ack(message, now_s)
            case State.REQUESTING | State.REBOOTING | State.RENEWING | State.REBINDING, Kind.NAK:
                return self._take_nak(message, now_s)
        return []

    def release(self) -> list[Event]:
        """Give the address back; the client stops."""
        granted, self.granted = self.granted, None
        self.state, self.due_s = State.STOPPED, float("inf")
        if granted is None:
            return []
        server, own = IPv4Address(granted.server), granted.interface.ip
        self._xid = self._random()
        options: dict[int, bytes] = {Option.SERVER: server.packed}
        message = self._message(Kind.RELEASE, options, now_s=self._began_s, client=own)
        return [Send(encode(message), own, server)]

    def _begin(self, state: State, now_s: float) -> None:
        """Begin another exchange, whose answers are told from those of the last one."""
        self.state = state
        self.due_s = self._began_s = now_s
        self._sent, self._offer = 0, None
        self._xid = self._random()

    def _ask(self, now_s: float) -> list[Event]:
        """Send the question of the state, for the first time or again."""
        options: dict[int, bytes] = {}
        kind = Kind.DISCOVER if self.state is State.SELECTING else Kind.REQUEST
        if self._offer is not None:
            options[Option.REQUESTED_ADDRESS] = self._offer.interface.ip.packed
            options[Option.SERVER] = IPv4Address(self._offer.server).packed
        elif self._hint is not None:
            options[Option.REQUESTED_ADDRESS] = self._hint.packed
        self._note_sent(now_s)
        wait_s = min(RESEND_S * 2 ** (self._sent - 1), RESEND_MAX_S)
        self.due_s = now_s + wait_s * (1 + JITTER_PART * (2 * self.chance() - 1))
        return [Send(encode(self._message(kind, options, now_s=now_s)))]

    def _keep(self, now_s: float) -> list[Event]:
        """Ask for more time, first the server itself and then anybody; or give up at the end."""
        granted = self.granted
        assert granted is not None, "a client that keeps an address has one"
        if now_s >= self.ends_s:
            return self._lose(ENDED, now_s)
        rebinding_s = self._after(granted.rebinding_s)
        state = State.REBINDING if now_s >= rebinding_s else State.RENEWING
        if self.state is not state:
            self._begin(state, now_s)
        self._note_sent(now_s)
        until_s = self.ends_s if state is State.REBINDING else rebinding_s
        self.due_s = min(now_s + max((until_s - now_s) / 2, RETRY_MIN_S), until_s)
        own = granted.interface.ip
        message = self._message(Kind.REQUEST, {}, now_s=now_s, client=own)
        to = None if state is State.REBINDING else IPv4Address(granted.server)
        return [Send(encode(message), own, to)]

    def _take_offer(self, message: Message, now_s: float) -> list[Event]:
        offer = self._read(message)
        if offer is None:
            return []
        if refusal := self.refusal(offer):
            self._note_refused(offer, refusal)
            return []
        self.state, self._offer, self._sent = State.REQUESTING, offer, 0
        return self._ask(now_s)

    def _take_ack(self, message: Message, now_s: float) -> list[Event]:
        granted = self._read(message)
        if granted is None or Option.LEASE_S not in message.options:
            return []
        if self.state in {State.RENEWING, State.REBINDING}:
            had = self.granted.interface.ip if self.granted else None
            if granted.interface.ip != had:
                given = granted.address
                return self._lose(f"the DHCP server has given {given} in its place", now_s)
        elif refusal := self.refusal(granted):
            self._note_refused(granted, refusal)
            return self._decline(granted, now_s)
        self.resume(granted, self._asked_s)
        return [Bound(granted)]

    def _take_nak(self, message: Message, now_s: float) -> list[Event]:
        if self._offer and message.options.get(Option.SERVER) != _packed(self._offer.server):
            return []  # of a server that was not asked
        if self.granted is not None:
            return self._lose("the DHCP server has taken its address back", now_s)
        self._begin(State.SELECTING, now_s)  # it may still offer what it did not confirm
        self.due_s = now_s + RESEND_S  # a server that always says no is not asked all the time
        return []

    def _decline(self, granted: Granted, now_s: float) -> list[Event]:
        """Tell a server that what it gave is not used, and ask again after a while."""
        options: dict[int, bytes] = {
            Option.REQUESTED_ADDRESS: granted.interface.ip.packed,
            Option.SERVER: _packed(granted.server),
        }
        declined = Send(encode(self._message(Kind.DECLINE, options, now_s=now_s)))
        self._hint = None
        self._begin(State.SELECTING, now_s)
        self.due_s = now_s + REFUSED_S
        return [declined]

    def _lose(self, why: str, now_s: float) -> list[Event]:
        self.granted = None
        self._begin(State.SELECTING, now_s)
        return [Lost(why)]

    def _read(self, message: Message) -> Granted | None:
        try:
            return read_granted(message, self.identity.wanted)
        except MalformedError as error:
            self._note(str(error))
            return None

    def _note_refused(self, granted: Granted, refusal: str) -> None:
        self._note(f"the server {granted.server} gave {granted.address}: {refusal}")

    def _note(self, refusal: str) -> None:
        if refusal not in self.refused:
            self.refused = [*self.refused, refusal][-REFUSALS_MAX:]

    def _note_sent(self, now_s: float) -> None:
        self._sent += 1
        if self._sent == 1 or self.state in {State.RENEWING, State.REBINDING}:
            self._asked_s = now_s  # a lease counts from the question, so it never ends too late

    @property
    def _client_id(self) -> bytes:
        return self.identity.provided.get(Option.CLIENT_ID, self.identity.client_id)

    def _message(
        self,
        kind: Kind,
        options: Mapping[int, bytes],
        *,
        now_s: float,
        client: IPv4Address = NOBODY,
    ) -> Message:
        said: dict[int, bytes] = {Option.KIND: bytes((kind,)), **options}
        if kind in {Kind.DISCOVER, Kind.REQUEST}:
            said[Option.SIZE_MAX] = MESSAGE_MAX.to_bytes(2, "big")
            said[Option.REQUESTS] = bytes(self.identity.wanted)
            said |= self.identity.provided
        said[Option.CLIENT_ID] = self._client_id
        return Message(
            op=REQUEST,
            xid=self._xid,
            mac=self.identity.mac,
            options={code: value for code, value in said.items() if value},
            secs=min(int(now_s - self._began_s), SECS_MAX),
            broadcast=self.identity.broadcast and client == NOBODY,
            client=client,
        )

    def _random(self) -> int:
        return int(self.chance() * (FOREVER + 1)) & FOREVER

    def _after(self, seconds: int) -> float:
        """When so much of the lease is over."""
        granted = self.granted
        if granted is None or granted.lease_s == FOREVER:
            return float("inf")
        return self.bound_s + seconds


def _packed(address: str) -> bytes:
    return IPv4Address(address).packed
