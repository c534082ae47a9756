"""What an event could not say is said at a later look."""

from typing import Any

import pytest

from netclaim.controller.annotated.told import Told
from netclaim.controller.cluster.events import Events
from netclaim.controller.pacing.budget import Budget
from netclaim.controller.services.complaints import Complaints
from netclaim.errors import PeerError
from netclaim.model.claims.claim import JsonObject

META = {"name": "camera", "namespace": "team-a", "uid": "uid-1"}
EVERY_S = 5.0


class Api:
    """The API server, as far as events go."""

    def __init__(self) -> None:
        self.events: list[JsonObject] = []
        self.away = False

    async def create(self, _: object, event: JsonObject) -> None:
        """Noted."""
        if self.away:
            raise PeerError("no answer")
        self.events.append(event)


class Scene:
    """Events of which each namespace gets one every few seconds."""

    def __init__(self) -> None:
        self.api = Api()
        self.now_s = 0.0
        client: Any = self.api
        self.events = Events(client, budget=Budget(1, EVERY_S, lambda: self.now_s))
        self._told = Told(self.events)
        self._complaints = Complaints(self.events)

    async def look(self, sayer: str) -> None:
        """Say what is wrong with an object, unless it was said."""
        found = {"apiVersion": "v1", "kind": "Pod", "metadata": META}
        if sayer == "complaints":
            await self._complaints.say(found, {"NoNetwork": "it has no network"})
        elif self._told.is_new("uid-1", "it has no network"):
            await self._told.tell("uid-1", found, "Claim", "NoNetwork", "it has no network")


@pytest.mark.parametrize("sayer", ["told", "complaints"])
async def test_what_was_withheld_is_said_later(sayer: str) -> None:
    """Once, as soon as the namespace may have an event again."""
    scene = Scene()
    about: JsonObject = {"metadata": {**META, "name": "other"}}
    assert await scene.events.leave(about, kind="Pod", action="a", reason="R", note="n")
    await scene.look(sayer)
    assert len(scene.api.events) == 1
    scene.now_s = EVERY_S
    for _ in range(3):
        await scene.look(sayer)
        scene.now_s += EVERY_S
    assert [each["regarding"]["name"] for each in scene.api.events] == ["other", "camera"]


@pytest.mark.parametrize("sayer", ["told", "complaints"])
async def test_what_the_api_server_did_not_take_is_said_later(sayer: str) -> None:
    """At the next look."""
    scene = Scene()
    scene.api.away = True
    await scene.look(sayer)
    scene.api.away = False
    scene.now_s = EVERY_S
    await scene.look(sayer)
    assert len(scene.api.events) == 1
