"""Events about what somebody has to change, each once.

Promise: the same is not said twice about an object, until it was forgotten. What could not be said
is forgotten, so that the next look says it.
"""

from typing import Final

from netclaim.controller.cluster.events import Events
from netclaim.model.claims.claim import JsonObject
from netclaim.plain_text import sentence

KNOWN_MAX: Final = 10_000  # objects whose last event is remembered


class Told:
    """Remembers what was said, by object."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._last: dict[str, str] = {}

    def is_new(self, key: str, text: str) -> bool:
        """Note what is said; returns whether it was not said before."""
        if self._last.get(key) == text:
            return False
        if len(self._last) >= KNOWN_MAX:
            self._last.clear()
        self._last[key] = text
        return True

    def forget(self, key: str) -> None:
        """Have the same said again."""
        self._last.pop(key, None)

    async def tell(self, key: str, found: JsonObject, action: str, reason: str, note: str) -> None:
        """Leave an event at an object, about what is new."""
        left = await self._events.leave(
            found,
            api_version=found["apiVersion"],
            kind=found["kind"],
            action=action,
            reason=reason,
            note=sentence(note),
        )
        if not left:
            self.forget(key)
