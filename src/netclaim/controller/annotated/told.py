"""Events about what somebody has to change, each once.

Promise: the same is not said twice about an object, until it was forgotten. An event that cannot be
left stops nothing; the log says so.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog

from netclaim.controller.events import event_about
from netclaim.errors import NetclaimError
from netclaim.kube import EVENTS, Client
from netclaim.model.claim import JsonObject
from netclaim.plain_text import sentence

log = structlog.get_logger(__name__)

KNOWN_MAX: Final = 10_000  # objects whose last event is remembered


class Told:
    """Remembers what was said, by object."""

    def __init__(
        self,
        client: Client,
        identity: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._identity = identity
        self._now = now
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

    async def tell(self, found: JsonObject, action: str, reason: str, note: str) -> None:
        """Leave an event at an object."""
        meta = found["metadata"]
        event = event_about(
            found,
            api_version=found["apiVersion"],
            kind=found["kind"],
            action=action,
            reason=reason,
            note=sentence(note),
            now=self._now(),
            identity=self._identity,
        )
        try:
            await self._client.create(EVENTS, event)
        except NetclaimError as error:
            log.warning(
                "annotated.event_failed",
                namespace=meta["namespace"],
                about=meta["name"],
                error=str(error),
            )
