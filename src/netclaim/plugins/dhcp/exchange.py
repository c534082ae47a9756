"""A client at an interface of a container, until it has an answer.

Promise: what the client wants to send is sent when it wants to; the caller sets the limit of time.
"""

import asyncio
import random
import time
from dataclasses import dataclass
from typing import Final

from netclaim.dhcp.client import Bound, Client, Event, Lost, Send
from netclaim.plugins.dhcp.wire import Received, Wire

# Of an exchange's number, which answers have to have: a machine that does not see it cannot answer.
CHANCE: Final = random.SystemRandom().random


def boot_clock_s() -> float:
    """Seconds since the machine was booted, also those that it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an exchange ended, and which machine's answer ended it."""

    event: Bound | Lost
    mac: str


async def run_exchange(client: Client, wire: Wire, server_mac: str = "") -> Outcome:
    """Send and receive for the client until it has an address, or has lost the one it had."""
    while True:
        now_s = boot_clock_s()
        if outcome := _sent(client.poll(now_s), wire, server_mac):
            return outcome
        received = await _within(wire, client.due_s - now_s)
        if received is not None:
            events = client.feed(received.content, boot_clock_s())
            if outcome := _sent(events, wire, received.mac):
                return outcome


def _sent(events: list[Event], wire: Wire, mac: str) -> Outcome | None:
    """Send what is to be sent; returns the outcome if there is one."""
    for event in events:
        if isinstance(event, Send):
            wire.send(event.content, event.source, event.to, mac)
        else:
            return Outcome(event, mac)
    return None


async def _within(wire: Wire, limit_s: float) -> Received | None:
    """Return what comes next; None if nothing has come in time."""
    try:
        async with asyncio.timeout(max(limit_s, 0)):
            return await wire.receive()
    except TimeoutError:
        return None
