"""The files of the archive so far: each is cleaned on its way in, and a failure is a line.

Promise: nothing gets into the archive but by `put_object` and `put_text`, which clean; what could
not be read is listed with the reason and does not keep the rest from being gathered.
"""

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from netclaim.doctor.support.clean import clean, clean_text
from netclaim.errors import NetclaimError


@dataclass(slots=True)
class Gathered:
    """The files so far, with a line about each, and what could not be read."""

    files: dict[str, bytes] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def put_object(self, name: str, about: str, value: Any, *, parameters: bool = False) -> None:
        """Add an object, as JSON; with `parameters`, all its keys are somebody else's."""
        cleaned = clean(value, parameters=parameters)
        self._put(name, about, json.dumps(cleaned, indent=2, default=str) + "\n")

    def put_text(self, name: str, about: str, text: str) -> None:
        """Add a text."""
        self._put(name, about, clean_text(text))

    async def read_object(
        self,
        name: str,
        about: str,
        read: Callable[[], Awaitable[Any]],
        *,
        parameters: bool = False,
    ) -> None:
        """Add what `read` returns, or list it as missing."""
        with self.attempt(name):
            self.put_object(name, about, await read(), parameters=parameters)

    @contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """List something as missing if it does not exist, or may not be read by us."""
        try:
            yield
        except (NetclaimError, OSError, TimeoutError, ValueError, LookupError) as fault:
            said = " ".join(str(fault).split()) or type(fault).__name__
            self.missing.append(clean_text(f"{name}: {said}"))

    def _put(self, name: str, about: str, text: str) -> None:
        self.files[name] = text.encode(errors="replace")
        self.about[name] = about
