"""Time and chance, handed in as a value so that tests can bring their own."""

import asyncio
import random
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the framework knows of time."""

    def now(self) -> datetime:
        """The time of day, with its zone."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment, never going back."""
        ...

    async def sleep(self, delay_s: float) -> None: ...

    def jitter(self) -> float:
        """A random number from 0 up to 1."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)

    def jitter(self) -> float:
        """Nothing depends on its being hard to guess."""
        return random.random()  # noqa: S311
