"""Watch by ARP which MAC addresses answer for the addresses of a pool.

The questions are those by which hosts look for conflicts (RFC 5227): sent by the bridge that the
nodes' links end at, in the name of no address, so that they change nobody's neighbours. Every pod
on the network hears them. Promise: of all answers to one question, two MAC addresses are a fault;
so is one that is heard of again after another one had its address. What pods announce by themselves
counts likewise. Limit: an address is asked for once in a round, and a round takes some seconds.
"""

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

from lab.cluster import Lab
from lab.nodes.processes import CLOSET
from netclaim.kernel import open_netns, socket_in

ETH_P_ARP = 0x0806
REQUEST, REPLY = 1, 2
FRAME = struct.Struct("!6s6sHHHBBH6s4s6s4s")
EVERYBODY, NOBODY = b"\xff" * 6, bytes(6)
GAP_S = 0.01  # between two questions: each is a frame for every pod
ROUND_S = 1.0  # at least


class ArpWitness:
    """Asks for addresses until it is ended, and notes who answers."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.faults: list[str] = []
        self.questions = 0
        self.answers = 0
        self._addresses = addresses
        self._heard: dict[str, list[str]] = {}  # MAC addresses, in the order of their first frames
        self._asked: dict[str, int] = {}  # how often, by address
        self._answered: dict[str, tuple[int, str]] = {}  # the last answer: to which question
        self._ending = Event()

    def having(self) -> frozenset[str]:
        """The addresses that somebody has answered for, when asked the last time or before that."""
        answered = list(self._answered.items())
        return frozenset(
            address for address, (question, _) in answered if question >= self._asked[address] - 1
        )

    @contextmanager
    def watching(self, lab: Lab, network: str) -> Iterator[None]:
        """Ask on one of the lab's networks while the block runs."""
        closet = lab.state.load().inits[CLOSET]
        with (
            open_netns(f"/proc/{closet.pid}/ns/net") as netns,
            socket_in(netns, socket.AF_PACKET, socket.SOCK_RAW, 0) as arp,
        ):
            arp.bind((f"br-{network}", ETH_P_ARP))
            thread = Thread(target=self._run, args=(arp,), name="arp")
            thread.start()
            try:
                yield
                if not thread.is_alive():
                    self.faults.append("nobody asks for addresses any more")
            finally:
                self._ending.set()
                thread.join()

    def _run(self, arp: socket.socket) -> None:
        gap_s = max(GAP_S, ROUND_S / len(self._addresses))
        while True:
            for address in self._addresses:
                if self._ending.is_set():
                    return
                self._ask(arp, address)
                self._listen(arp, time.monotonic() + gap_s)

    def _ask(self, arp: socket.socket, address: str) -> None:
        mac = arp.getsockname()[4]  # the bridge's, which is that of one of its ports now
        wanted = socket.inet_aton(address)
        arp.send(
            FRAME.pack(
                *(EVERYBODY, mac, ETH_P_ARP, 1, 0x0800, 6, 4, REQUEST),
                *(mac, bytes(4), NOBODY, wanted),
            )
        )
        self._asked[address] = self._asked.get(address, 0) + 1
        self.questions += 1

    def _listen(self, arp: socket.socket, until_s: float) -> None:
        while (left_s := until_s - time.monotonic()) > 0:
            arp.settimeout(left_s)
            try:
                frame = arp.recv(2048)
            except TimeoutError:
                return
            self._note(frame)

    def _note(self, frame: bytes) -> None:
        if len(frame) < FRAME.size:
            return
        *_, kind, sender, address, _, _ = FRAME.unpack(frame[: FRAME.size])
        text, mac = socket.inet_ntoa(address), sender.hex(":")
        if text not in self._asked:
            return
        heard = self._heard.setdefault(text, [])
        if mac not in heard:
            heard.append(mac)
        elif mac != heard[-1]:
            self.faults.append(f"{mac} has {text} again, which {heard[-1]} had meanwhile")
        if kind != REPLY:
            return
        self.answers += 1
        question = self._asked[text]
        before, whose = self._answered.get(text, (0, mac))
        if before == question and whose != mac:
            self.faults.append(f"{whose} and {mac} both have {text}")
        self._answered[text] = question, mac
