"""The view as it is now, and who waits for the next one.

Promise: views are put together beside the event loop, one at a time; a slow reader misses views,
and gets all that they changed with the next. Limit: one view is kept, and what readers still hold.
"""

import asyncio
from collections.abc import Iterable

from netclaim.survey.follow import Moment
from netclaim.ui.view import Question, View, view_of


class EndedError(Exception):
    """There will be no further view."""


class Engine:
    def __init__(self, question: Question) -> None:
        self.question = question
        self._ended = False
        self.view: View | None = None
        self._moment: tuple[Moment, tuple[str, ...]] | None = None
        self._has_moment = asyncio.Event()
        self._changed = asyncio.Condition()

    def see(self, moment: Moment, notes: Iterable[str] = ()) -> None:
        """Take everything as it is now; a moment that was not put together yet is dropped."""
        self._moment = (moment, tuple(notes))
        self._has_moment.set()

    async def run(self) -> None:
        """Put views together until cancelled."""
        number = 0
        while True:
            await self._has_moment.wait()
            self._has_moment.clear()
            if self._moment is None:
                continue
            (moment, notes), self._moment = self._moment, None
            number += 1
            view = await asyncio.to_thread(view_of, number, moment, self.question, notes)
            async with self._changed:
                self.view = view
                self._changed.notify_all()

    async def end(self) -> None:
        """Have everybody who waits for a view wait no longer."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def next(self, number: int) -> View:
        """Return a view that is newer than one of this number, as soon as there is one."""
        async with self._changed:
            while self.view is None or self.view.number <= number:
                if self._ended:
                    raise EndedError
                await self._changed.wait()
            return self.view
