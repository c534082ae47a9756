"""What the controller hears of the cluster."""

import asyncio

from netclaim.controller.cluster.objects import Objects
from netclaim.controller.cluster.watches import Watches
from netclaim.controller.settings import ControllerSettings
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import NAMESPACE
from netclaim.tasks import TaskScope
from tests.support.controller_parts import DRIVER, World
from tests.support.local.parts import new_verbs, serving


async def test_what_is_not_kept_changes_nothing() -> None:
    """A namespace that somebody annotates is the same to the controller; its labels are not."""
    heard: list[tuple[str, JsonObject | None, JsonObject | None]] = []
    some = asyncio.Event()

    def changed(kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        heard.append((kind, before, now))
        some.set()

    world = World(new_verbs())
    async with serving(world.verbs) as client, TaskScope() as tasks:
        objects = await Objects.negotiated(client)
        watches = Watches(objects, ControllerSettings(DRIVER), changed)
        tasks.start(watches.run())
        await watches.wait_synced()
        heard.clear()
        some.clear()
        live = world.verbs.get(NAMESPACE, "default")
        meta = {**live["metadata"], "annotations": {"seen": "now"}}
        world.verbs.update(NAMESPACE, {**live, "metadata": meta}, manager="test")
        world.label("default", team="media")
        async with asyncio.timeout(60):
            await some.wait()
        ((kind, before, now),) = heard
        assert (kind, before is not None) == ("Namespace", True)
        assert now is not None
        assert now["metadata"]["labels"]["team"] == "media"
