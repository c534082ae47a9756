"""Keep the kernel's lock for all network requests busy, and measure what that does.

The kernel takes a whole namespace down in one go with the lock held, and waits some 17 ms for each
bridge in it. A witness in a thread of its own asks the kernel for a link again and again meanwhile,
and says how long its longest request took: whatever it waited, the lock was held for.
"""

import asyncio
import secrets
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from netclaim.kernel.netlink.client import discard, open_rtnetlink
from netclaim.kernel.netlink.codec import Exchange
from netclaim.kernel.requests.links import get_link

BRIDGES = 200  # 3.5 s with Linux 6.18
STUCK_S = 0.2  # a request takes a few microseconds; one that takes so long waits for the lock
TICK_S = 0.005


class Witness:
    """How long a request has taken, at most, and the one that is under way."""

    def __init__(self) -> None:
        self.waited_s = 0.0
        self._asked_s = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    async def wait_stuck(self) -> None:
        """Return once a request waits for the lock."""
        while time.monotonic() - self._asked_s < STUCK_S:  # noqa: ASYNC110 (nobody can tell us)
            await asyncio.sleep(TICK_S)

    def _ask(self) -> None:
        request = Exchange([get_link("lo")], 1).outgoing
        with open_rtnetlink(None) as sock:
            while not self._over.wait(TICK_S):
                self._asked_s = time.monotonic()
                sock.send(request)
                self.waited_s = max(self.waited_s, time.monotonic() - self._asked_s)
                discard(sock)


class LagMeter:
    """By how much the event loop was late, at most, while the block ran."""

    def __init__(self) -> None:
        self.lag_s = 0.0

    async def __aenter__(self) -> Self:
        self._measuring = asyncio.ensure_future(self._measure())
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(TICK_S)  # what is late now is to be seen
        self._measuring.cancel()
        await asyncio.wait({self._measuring})

    async def _measure(self) -> None:
        while True:
            started_s = time.monotonic()
            await asyncio.sleep(TICK_S)
            self.lag_s = max(self.lag_s, time.monotonic() - started_s - TICK_S)


@contextmanager
def doomed_netns() -> Iterator[str]:
    """A namespace that takes long to end; `end_netns` begins that, and returns at once."""
    name = f"nct-{secrets.token_hex(4)}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        batch = "".join(f"link add b{number} up type bridge\n" for number in range(BRIDGES))
        command = ["ip", "-n", name, "-batch", "-"]
        subprocess.run(command, input=batch.encode(), check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def end_netns(name: str) -> None:
    """Have the kernel take the namespace down."""
    subprocess.run(["ip", "netns", "delete", name], check=True)
