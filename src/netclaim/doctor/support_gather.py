"""Gathering files for the archive: each is cleaned on its way in, and a failure is a line.

Promise: nothing gets into the archive but by `put_object` and `put_text`, which clean; what could
not be had is listed with the reason and does not keep the rest from being gathered.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from netclaim.doctor.support_clean import clean, clean_text
from netclaim.errors import NetclaimError

__all__ = ["Gathered"]


@dataclass(slots=True)
class Gathered:
    """The files so far, with a line about each, and what could not be had."""

    files: dict[str, bytes] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def put_object(self, name: str, about: str, value: Any, *, parameters: bool = False) -> None:
        """Add an object, as JSON."""
        cleaned = clean(value, parameters=parameters)
        self._put(name, about, json.dumps(cleaned, indent=2, default=str) + "\n")

    def put_text(self, name: str, about: str, text: str) -> None:
        """Add a text."""
        self._put(name, about, clean_text(text))

    async def attempt(self, name: str, gather: Callable[[], Awaitable[None]]) -> None:
        """Gather something that may not be there, or not for us."""
        try:
            await gather()
        except (NetclaimError, OSError, TimeoutError, ValueError, LookupError) as fault:
            said = " ".join(str(fault).split()) or type(fault).__name__
            self.missing.append(clean_text(f"{name}: {said}"))

    def _put(self, name: str, about: str, text: str) -> None:
        self.files[name] = text.encode(errors="replace")
        self.about[name] = about
