"""The clock and the dice, as values that are handed in: tests bring their own."""

import asyncio
import random
import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """What the framework knows of time."""

    def now(self) -> datetime:
        """The time of day, with its zone."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment, never going back."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Return after a while."""
        ...

    def jitter(self) -> float:
        """A random number from 0 up to 1."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The time of day in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """The kernel's monotonic clock."""
        return time.monotonic()

    async def sleep(self, delay_s: float) -> None:
        """Sleep in the event loop."""
        await asyncio.sleep(delay_s)

    def jitter(self) -> float:
        """Spread for back-off; nothing depends on its being unguessable."""
        return random.random()  # noqa: S311
