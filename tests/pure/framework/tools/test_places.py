"""Places are given in turn, and none is lost."""

import asyncio

from netclaim.framework.tools.fair_slots import Places


class Visitors:
    """Tasks that hold a place until they are told to leave."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.inside: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.leave: dict[str, asyncio.Event] = {}

    async def come(self, *names: str) -> None:
        """Visitors such as `a1`, whose key is the first letter, ask for a place in this order."""
        for name in names:
            self.leave[name] = asyncio.Event()
            self.tasks[name] = asyncio.ensure_future(self._visit(name))
        await settle()

    async def go(self, name: str) -> None:
        """One leaves."""
        self.leave[name].set()
        await self.tasks[name]
        await settle()

    async def give_up(self, name: str) -> None:
        """One is cancelled, wherever it is."""
        self.tasks[name].cancel()
        await asyncio.gather(self.tasks[name], return_exceptions=True)
        await settle()

    async def _visit(self, name: str) -> None:
        async with self.places.hold(name[0]):
            self.inside.append(name)
            try:
                await self.leave[name].wait()
            finally:
                self.inside.remove(name)


async def settle() -> None:
    """Let everybody go as far as they can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_bounds() -> None:
    """So many of one key, so many in all; a key that has none gets one all the same."""
    visitors = Visitors(Places(total=3, each=2))
    await visitors.come("a1", "a2", "a3", "b1", "b2", "c1")
    assert visitors.inside == ["a1", "a2", "b1", "c1"]
    await visitors.go("a1")
    assert visitors.inside == ["a2", "b1", "c1"]
    await visitors.go("c1")
    assert visitors.inside in (["a2", "b1", "a3"], ["a2", "b1", "b2"])
    for name in ("a2", "a3", "b1", "b2"):
        await visitors.go(name)
    assert visitors.inside == []


async def test_turns() -> None:
    """A place that is free goes to the key whose turn it is, not to who asked first."""
    visitors = Visitors(Places(total=2, each=2))
    await visitors.come("a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3")
    assert visitors.inside == ["a1", "a2", "b1"]
    await visitors.go("a1")
    await visitors.go("a2")
    assert visitors.inside == ["b1", "a3"]
    await visitors.go("b1")
    assert visitors.inside == ["a3", "b2"]
    await visitors.go("a3")
    assert visitors.inside == ["b2", "a4"]
    for name in ("b2", "a4", "b3", "a5"):
        await visitors.go(name)


async def test_giving_up() -> None:
    """One that stops waiting, or is stopped inside, or at the very moment, keeps no place."""
    visitors = Visitors(Places(total=1, each=1))
    await visitors.come("a1", "a2", "a3", "a4")
    await visitors.give_up("a2")
    visitors.leave["a1"].set()
    await visitors.tasks["a1"]  # the place has just been given to the next one
    visitors.tasks["a3"].cancel()
    await settle()
    assert visitors.inside == ["a4"]
    await visitors.give_up("a4")
    await visitors.come("a5")
    assert visitors.inside == ["a5"]
    await visitors.go("a5")
