"""The file of settings is followed: what can change does, and what cannot is said."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from structlog.testing import capture_logs

from netclaim.framework import Settings, run_driver
from netclaim.framework.settings.declare import declared_in, setting
from netclaim.framework.settings.reload import Following
from netclaim.framework.settings.sources import Followed, Resolved, Sources
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.framework.tools.clock import SystemClock
from netclaim.model import Device
from netclaim.model.on_node.node import NodeFacts
from tests.support.framework.cluster import api_server, runtime_at, settings_in
from tests.support.framework.parts import ScriptedDriver

NODE = "/api/v1/nodes/node-1"


@dataclass(frozen=True)
class Example:
    """One setting that can change under a running driver, and one that cannot."""

    word: str = setting("w", "A word.", live=True, variable="X_WORD")
    more: str = setting("m", "Another.", live=True, variable="X_MORE")
    place: str = setting("p", "A place.", variable="X_PLACE")


class Scene:
    """A file that is followed, with what was told of its changes."""

    def __init__(self, path: Path, text: str = "", **given: str) -> None:
        self.path = path
        path.write_text(text)
        sources = Sources(declared_in(Example), given, path)
        self.told: list[dict[str, Any]] = []
        clock = FakeClock()
        self.metrics = Metrics("d", clock)
        followed = Followed(sources, sources.read(), lambda now: self.told.append({**now.values}))
        self.following = Following(followed, self.metrics, clock)

    async def say(self, text: str) -> list[dict[str, Any]]:
        """Write the file and have it looked at; returns the log."""
        self.path.write_text(text)
        return await self.look()

    async def look(self) -> list[dict[str, Any]]:
        """Have the file looked at; returns the log."""
        with capture_logs() as logs:
            await self.following.look()
        return [dict(entry) for entry in logs]

    def lose(self) -> None:
        """Remove the file."""
        self.path.unlink()

    def gauges(self) -> tuple[float, float]:
        """Whether the file is valid, and how many settings wait for a restart."""
        lines = self.metrics.exposition().decode().splitlines()
        values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        names = ("netclaim_settings_valid", "netclaim_settings_restart_needed")
        valid, waiting = (float(values[f'{name}{{driver="d"}}']) for name in names)
        return valid, waiting


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is."""
    return tmp_path / "config.yaml"


async def test_what_is_live_changes(path: Path) -> None:
    """The user of a setting is told once, with all values."""
    scene = Scene(path, "word: a\n")
    assert await scene.look() == []
    logs = await scene.say("word: b\n")
    assert scene.told == [{"word": "b", "more": "m", "place": "p"}]
    assert [(entry["event"], entry["settings"]) for entry in logs] == [
        ("settings.changed", ["word"])
    ]
    assert await scene.look() == []
    assert len(scene.told) == 1
    assert scene.gauges() == (1, 0)


async def test_what_needs_a_restart_is_said_once(path: Path) -> None:
    """It is named, counted, and not passed on; taking it back makes the count zero."""
    scene = Scene(path)
    logs = await scene.say("place: q\nword: b\n")
    assert [(entry["event"], entry["settings"]) for entry in logs] == [
        ("settings.restart_needed", ["place"]),
        ("settings.changed", ["word"]),
    ]
    assert scene.told == [{"word": "b", "more": "m", "place": "p"}]
    assert scene.gauges() == (1, 1)
    logs = await scene.say("place: q\nword: c\n")
    assert [entry["event"] for entry in logs] == ["settings.changed"]
    await scene.say("word: c\n")
    assert scene.gauges() == (1, 0)


async def test_a_wrong_file_changes_nothing(path: Path) -> None:
    """Not even what is right in it; its line is logged once, and counted until it is right."""
    scene = Scene(path, "word: a\n")
    logs = await scene.say("word: b\nplcae: q\n")
    assert [entry["event"] for entry in logs] == ["settings.invalid"]
    assert logs[0]["error"] == f'{path}:2: unknown key "plcae"; did you mean "place"?'
    assert await scene.look() == []
    assert (scene.told, scene.gauges()) == ([], (0, 0))
    await scene.say("word: b\n")
    assert [told["word"] for told in scene.told] == ["b"]
    assert scene.gauges() == (1, 0)


async def test_a_file_that_is_gone_changes_nothing(path: Path) -> None:
    """It is logged once; when it is back as it was, nothing has changed, and all is well."""
    scene = Scene(path, "word: a\n")
    await scene.look()
    scene.lose()
    assert [entry["event"] for entry in await scene.look()] == ["settings.invalid"]
    assert await scene.look() == []
    assert scene.gauges() == (0, 0)
    assert await scene.say("word: a\n") == []
    assert (scene.told, scene.gauges()) == ([], (1, 0))


async def test_what_a_flag_says_stays(path: Path) -> None:
    """The file does not count where a flag or a variable speaks."""
    scene = Scene(path, "", word="flag")
    assert await scene.say("word: file\n") == []
    assert scene.told == []


async def test_a_configmap_that_kubelet_swaps(tmp_path: Path) -> None:
    """The file is a link to a link to a directory, which kubelet replaces by another."""
    for number, word in enumerate("ab"):
        (tmp_path / f"..{number}").mkdir()
        (tmp_path / f"..{number}" / "config.yaml").write_text(f"word: {word}\n")
    (tmp_path / "..data").symlink_to("..0")
    file = tmp_path / "config.yaml"
    file.symlink_to("..data/config.yaml")
    scene = Scene(file, "word: a\n")
    await scene.look()
    (tmp_path / "..data_tmp").symlink_to("..1")
    (tmp_path / "..data_tmp").rename(tmp_path / "..data")
    await scene.look()
    assert [told["word"] for told in scene.told] == ["b"]


class QuickClock(SystemClock):
    """A clock whose long waits are short."""

    async def sleep(self, delay_s: float) -> None:
        """Sleep a moment."""
        await asyncio.sleep(min(delay_s, 0.02))


class LabelDriver(ScriptedDriver):
    """A driver that follows its node's labels, or does not yet."""

    def __init__(self) -> None:
        super().__init__()
        self.learned: asyncio.Queue[NodeFacts] = asyncio.Queue()
        self.devices.put_nowait((Device(name="eth1"),))

    def learn_node(self, node: NodeFacts) -> None:
        """Remember."""
        self.learned.put_nowait(node)


@pytest.fixture
def root() -> Iterator[Path]:
    """A directory whose path is short enough for sockets in it."""
    with TemporaryDirectory(prefix="nc") as directory:
        yield Path(directory)


def labelled(labels: dict[str, str]) -> dict[str, Any]:
    """The node."""
    return {"metadata": {"name": "node-1", "uid": "node-uid", "labels": labels}}


async def test_labels_of_the_node_are_followed_for_who_asks(root: Path) -> None:
    """A driver that wants to know hears of a change."""
    driver = LabelDriver()
    driver.node_age_s = 60.0
    async with api_server() as api, asyncio.TaskGroup() as group:
        api.put(NODE, labelled({"zone": "a"}))
        settings = settings_in(root, api)
        async with runtime_at(settings):
            running = group.create_task(run_driver(driver, settings, clock=QuickClock()))
            assert (await driver.learned.get()).labels == {"zone": "a"}
            api.put(NODE, labelled({"zone": "b"}))
            assert (await driver.learned.get()).labels == {"zone": "b"}
            running.cancel()


async def test_a_served_driver_takes_over_what_its_file_says(root: Path) -> None:
    """The driver gets the new settings, and the node is read anew: its labels may count now."""
    driver = LabelDriver()
    path = root / "config.yaml"
    path.write_text("")
    told: asyncio.Queue[Resolved] = asyncio.Queue()
    async with api_server() as api, asyncio.TaskGroup() as group:
        settings = settings_in(root, api)
        given = {each.name: getattr(settings, each.name) for each in declared_in(Settings)}
        del given["log_level"], given["log_format"]
        sources = Sources(declared_in(Settings), given, path)
        followed = Followed(sources, sources.read(), told.put_nowait)
        async with runtime_at(settings):
            running = group.create_task(
                run_driver(driver, settings, followed=followed, clock=QuickClock())
            )
            assert (await driver.learned.get()).labels == {}
            api.put(NODE, labelled({"zone": "a"}))
            path.write_text("logLevel: error\n")
            assert (await told.get())["log_level"] == "error"
            assert (await driver.learned.get()).labels == {"zone": "a"}
            running.cancel()
